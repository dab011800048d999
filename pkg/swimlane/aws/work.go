package aws

import (
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Manifest is a manifest whose files are documents of AWS's API, for a delegate.
type Manifest struct {
	ID    string     `json:"id"`
	Type  string     `json:"type"` // of the manifest, as in YAML
	Store task.Store `json:"store"`
}

// Fetched is what a delegate brings that reads manifests: their files have
// expressions, whichever store they are in.
func Fetched(manifests ...Manifest) swimlane.Fetched {
	var out swimlane.Fetched
	for _, m := range manifests {
		out.Files = out.Files || m.Store.Fetched()
		out.Stored = append(out.Stored, m.Store.Stored()...)
	}
	return out
}
