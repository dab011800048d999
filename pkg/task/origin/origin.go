// Package origin is where the files come from that a task deploys:
// manifests, charts, kustomizations and values, and the flags of Helm and
// Kustomize that they are made with.
//
// It reads no document (pkg/swimlane/kubernetes does) and fetches nothing
// (delegate/manifest and delegate/helm/chart do).
package origin

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/task"
)

// The kinds of manifests that are deployed themselves (semantics/entities §2.3).
const (
	PlainManifest     = "K8sManifest"
	HelmChart         = "HelmChart"
	Kustomization     = "Kustomize"
	OpenshiftTemplate = "OpenshiftTemplate"
)

// Manifest is a source of manifests with its options (semantics/entities §2.3).
type Manifest struct {
	ID                 string     `json:"id"`
	Type               string     `json:"type"` // its kind
	Store              task.Store `json:"store"`
	ValuesPaths        []string   `json:"valuesPaths,omitempty"`
	SkipVersioning     bool       `json:"skipVersioning,omitempty"`
	Declarative        bool       `json:"declarative,omitempty"`
	OptionalValuesYAML bool       `json:"optionalValuesYAML,omitempty"`
	Chart              *Chart     `json:"chart,omitempty"` // of a HelmChart

	Kustomize *Kustomize `json:"kustomize,omitempty"` // of a Kustomize manifest
	// ParamsPaths are files of parameters in an OpenshiftTemplate's repository.
	ParamsPaths []string `json:"paramsPaths,omitempty"`
}

// Fetched says whether there is a manifest and something of it has to be
// fetched.
func (m *Manifest) Fetched() bool { return m != nil && m.Store.Fetched() }

// Stored are the paths of a manifest in the file store, with those of its
// values, patches and parameters, which are there, too.
func (m *Manifest) Stored() []string {
	if m == nil || m.Store.Files == nil {
		return nil
	}
	named := slices.Concat(m.Store.Stored(), m.ValuesPaths, m.ParamsPaths)
	if m.Kustomize != nil {
		named = append(named, m.Kustomize.PatchesPaths...)
	}
	return named
}

// ValuesFile is one layer of values.
type ValuesFile struct {
	ID       string     `json:"id"`
	Store    task.Store `json:"store"`
	Optional bool       `json:"optional,omitempty"`
}

// CommandFlag is an entry of commandFlags: flags as kubectl, Helm or Kustomize
// has them for a command, e.g. Apply and "--force-conflicts=false".
type CommandFlag struct {
	Command string `json:"command"`
	Flag    string `json:"flag"` // one or several, separated by blanks
}
