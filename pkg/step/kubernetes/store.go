package kubernetes

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The stores that a step's own files can be in, and those that Harness has
// besides.
func stores() []string { return []string{"Inline", "Git", "Github", "GitLab", "Bitbucket"} }

func otherStores() []string {
	return []string{
		"CustomRemote", "AzureRepo", "HarnessCode", "Http", "S3", "Gcs", "Artifactory", "S3Url", "InheritFromManifest",
		"Harness", "OciHelmChart",
	}
}

// Store is where a step's own files are (entities spec §2.4).
type Store struct {
	node *yamldoc.Node
}

// DecodeStore checks {type, spec}. Its connector is resolved when the step
// starts.
func DecodeStore(r *yamldoc.Report, v yamldoc.Value) Store {
	typ := word(v, "type")
	for e := range r.Mapping(v) {
		switch e.Key {
		case "type":
			storeType(r, e)
		case "spec":
			if typ == "Inline" {
				inline(r, e)
			} else if slices.Contains(stores(), typ) {
				repository(r, e)
			}
		case "metadata": // the console's
		default:
			r.Unknown(e, "type", "spec", "metadata")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "type", "spec")
	}
	return Store{node: v.Node}
}

// word is the text of a mapping's key, wherever it stands.
func word(v yamldoc.Value, key string) string {
	if n := v.Node.Get(key); n != nil && n.Kind == yamldoc.Scalar {
		return n.Value
	}
	return ""
}

func storeType(r *yamldoc.Report, v yamldoc.Value) {
	f := r.String(v)
	r.Takes(v, yamldoc.UseEnum, stores()...)
	r.Takes(v, yamldoc.UseRefused, otherStores()...)
	want := "one of " + strings.Join(stores(), ", ")
	switch {
	case !f.Set || slices.Contains(stores(), f.Value):
	case f.Expr != "":
		r.Errorf(v, "WRONG_VALUE", "found an expression; want %s", want)
	case slices.Contains(otherStores(), f.Value):
		r.Unsupported(v, "store type %s isn't supported yet; want %s", f.Value, want)
	default:
		r.Errorf(v, "WRONG_VALUE", "found %q; want %s%s", f.Value, want, r.Hint(f.Value, stores()))
	}
}

func inline(r *yamldoc.Report, v yamldoc.Value) {
	for e := range r.Mapping(v) {
		if e.Key != "content" {
			r.Unknown(e, "content")
			continue
		}
		r.String(e)
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "content")
	}
}

func repository(r *yamldoc.Report, v yamldoc.Value) {
	fetch := ""
	for e := range r.Mapping(v) {
		switch e.Key {
		case "gitFetchType":
			fetch = r.Enum(e, "Branch", "Commit").Value
		case "connectorRef", "branch", "commitId", "repoName", "folderPath":
			r.String(e)
		case "paths":
			r.Strings(e)
		default:
			r.Unknown(e, "connectorRef", "gitFetchType", "branch", "commitId", "repoName", "paths", "folderPath")
		}
	}
	if !v.Is(yamldoc.Mapping) {
		return
	}
	r.Missing(v, "connectorRef", "gitFetchType")
	switch fetch {
	case "Branch":
		r.Missing(v, "branch")
	case "Commit":
		r.Missing(v, "commitId")
	}
	if v.Node.Get("paths") == nil && v.Node.Get("folderPath") == nil {
		r.Missing(v, "paths")
	}
}

// Resolve finds out how the store is reached. The step has started.
func (s Store) Resolve(in step.In) (task.Store, error) {
	if in.Store == nil {
		return task.Store{}, fault.New(fault.Unsupported, "stores can't be resolved here")
	}
	return in.Store(s.node)
}
