package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The kinds of manifests that only stages with gitOpsEnabled use: the files that a
// release changes, and the ApplicationSet that makes applications of them
// (semantics/gitops §17). No other stage deploys them.
const (
	ReleaseRepo    = "ReleaseRepo"
	DeploymentRepo = "DeploymentRepo"
)

// Repo is the spec of either.
type Repo struct{ Store *filesource.Store }

// repos are those kinds. In their paths stand names of the cluster that a file is
// about.
func repos() []swimlane.ManifestKind {
	var out []swimlane.ManifestKind
	for _, typ := range []string{ReleaseRepo, DeploymentRepo} {
		out = append(out, swimlane.ManifestKind{
			Type: typ, Later: []string{"cluster.name", "cluster.identifier", "cluster.agent"},
			New: func(d *document.Decoder, v yamldoc.Value) any { return decodeRepo(d, v, typ) },
		})
	}
	return out
}

func decodeRepo(d *document.Decoder, v yamldoc.Value, typ string) *Repo {
	r := &Repo{}
	d.Fields(v, document.Keys{
		"store": func(v yamldoc.Value) {
			r.Store = filesource.Decode(d, v, filesource.Form{Of: typ, Stores: filesource.Git()})
		},
		"metadata": document.Nothing, // the console's
	})
	d.Need(v, "store")
	return r
}
