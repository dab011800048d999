// Package appset is sets of applications, as values: which parameters there are,
// and the template that makes an application of each (semantics/gitops §15). The
// names and the shapes are those of Argo CD's ApplicationSet.
//
// What a set comes to is delegate/gitops/generate's.
package appset

import (
	"encoding/json"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// Set is a document of the kind ApplicationSet.
type Set struct {
	Meta gitops.Meta `json:"metadata"`
	Spec Spec        `json:"spec"`
}

// Spec is what is wanted.
type Spec struct {
	GoTemplate        bool         `json:"goTemplate,omitempty"` // Go's templates in place of {{key}}
	GoTemplateOptions []string     `json:"goTemplateOptions,omitempty"`
	Generators        []Generator  `json:"generators"`
	Template          Template     `json:"template"`
	TemplatePatch     *string      `json:"templatePatch,omitempty"`
	SyncPolicy        *SyncPolicy  `json:"syncPolicy,omitempty"`
	Strategy          *Strategy    `json:"strategy,omitempty"`
	Preserved         *Preserved   `json:"preservedFields,omitempty"`
	IgnoreDifferences []IgnoreRule `json:"ignoreApplicationDifferences,omitempty"`
	NestedSelectors   bool         `json:"applyNestedSelectors,omitempty"` // they always apply
}

// Template makes an application of parameters: its texts, and keys of mappings, may
// hold them.
type Template struct {
	Meta gitops.Meta            `json:"metadata,omitzero"`
	Spec gitops.ApplicationSpec `json:"spec,omitzero"`
}

// What a set may do to its applications: make them, and change, delete or do all with
// those that there are.
const (
	CreateOnly   = "create-only"
	CreateUpdate = "create-update"
	CreateDelete = "create-delete"
	SyncAll      = "sync" // as if nothing is said
)

// SyncPolicy is what a set may do to its applications.
type SyncPolicy struct {
	PreserveResourcesOnDeletion bool   `json:"preserveResourcesOnDeletion,omitempty"`
	ApplicationsSync            string `json:"applicationsSync,omitempty"`
}

// Strategy is in which order a set's applications are synced and deleted.
type Strategy struct {
	Type          string       `json:"type,omitempty"` // AllAtOnce, as if empty, or RollingSync
	RollingSync   *RollingSync `json:"rollingSync,omitempty"`
	DeletionOrder string       `json:"deletionOrder,omitempty"` // AllAtOnce, as if empty, or DeleteReverse
}

// DeleteReverse has the applications of a set that goes be deleted step by step, those of
// the last step first.
const DeleteReverse = "Reverse"

// RollingSync syncs a set step by step.
type RollingSync struct {
	Steps []RollingStep `json:"steps,omitempty"`
}

// RollingStep is the applications that fulfil all expressions, at most MaxUpdate of
// them at a time: a number, or a percentage as a text.
type RollingStep struct {
	MatchExpressions []Requirement   `json:"matchExpressions,omitempty"`
	MaxUpdate        json.RawMessage `json:"maxUpdate,omitempty"`
}

// Preserved are annotations and labels that others set on a set's applications.
type Preserved struct {
	Annotations []string `json:"annotations,omitempty"`
	Labels      []string `json:"labels,omitempty"`
}

// IgnoreRule names fields of a set's applications that others may change.
type IgnoreRule struct {
	Name              string   `json:"name,omitempty"`
	JSONPointers      []string `json:"jsonPointers,omitempty"`
	JQPathExpressions []string `json:"jqPathExpressions,omitempty"`
}

// Generator makes sets of parameters. One of its kinds is given; Selector then takes
// those whose parameters, as labels, match.
type Generator struct {
	List         *List         `json:"list,omitempty"`
	Clusters     *Clusters     `json:"clusters,omitempty"`
	Git          *Git          `json:"git,omitempty"`
	SCMProvider  *SCMProvider  `json:"scmProvider,omitempty"`
	Decisions    *Decisions    `json:"clusterDecisionResource,omitempty"`
	PullRequests *PullRequests `json:"pullRequest,omitempty"`
	Plugin       *Plugin       `json:"plugin,omitempty"`
	Matrix       *Matrix       `json:"matrix,omitempty"`
	Merge        *Merge        `json:"merge,omitempty"`
	Selector     *Selector     `json:"selector,omitempty"`
}

// List is parameters as they stand: objects of JSON, and a text of YAML with a list
// of them.
type List struct {
	Elements     []json.RawMessage `json:"elements"`
	ElementsYaml string            `json:"elementsYaml,omitempty"`
	Template     Template          `json:"template,omitzero"`
}

// Clusters is a set of parameters for each cluster that the agent knows.
type Clusters struct {
	Selector Selector          `json:"selector,omitzero"`
	Values   map[string]string `json:"values,omitempty"`
	FlatList bool              `json:"flatList,omitempty"` // one set with all of them
	Template Template          `json:"template,omitzero"`
}

// Git is a set of parameters for each folder, or each file, of a repository.
type Git struct {
	RepoURL             string            `json:"repoURL"`
	Revision            string            `json:"revision,omitempty"`
	Directories         []GitPattern      `json:"directories,omitempty"`
	Files               []GitPattern      `json:"files,omitempty"`
	PathParamPrefix     string            `json:"pathParamPrefix,omitempty"`
	Values              map[string]string `json:"values,omitempty"`
	RequeueAfterSeconds *int64            `json:"requeueAfterSeconds,omitempty"`
	Template            Template          `json:"template,omitzero"`
}

// GitPattern takes paths in, or leaves them out.
type GitPattern struct {
	Path    string `json:"path"`
	Exclude bool   `json:"exclude,omitempty"`
}

// Matrix is each set of its first generator with each of its second, which may use
// the parameters of the first.
type Matrix struct {
	Generators []Generator `json:"generators"`
	Template   Template    `json:"template,omitzero"`
}

// Merge is the sets of its first generator, with what those of the others say that
// are equal in the keys.
type Merge struct {
	Generators []Generator `json:"generators"`
	MergeKeys  []string    `json:"mergeKeys"`
	Template   Template    `json:"template,omitzero"`
}

// Decisions is a set of parameters for each cluster that an object of the cluster
// names in its status.
type Decisions struct {
	ConfigMapRef        string            `json:"configMapRef"`
	Name                string            `json:"name,omitempty"`
	LabelSelector       Selector          `json:"labelSelector,omitzero"`
	RequeueAfterSeconds *int64            `json:"requeueAfterSeconds,omitempty"`
	Values              map[string]string `json:"values,omitempty"`
	Template            Template          `json:"template,omitzero"`
}

// Plugin is what a service answers.
type Plugin struct {
	ConfigMapRef        PluginConfig      `json:"configMapRef"`
	Input               PluginInput       `json:"input,omitzero"`
	RequeueAfterSeconds *int64            `json:"requeueAfterSeconds,omitempty"`
	Values              map[string]string `json:"values,omitempty"`
	Template            Template          `json:"template,omitzero"`
}

// PluginConfig names the ConfigMap with the service's address and token.
type PluginConfig struct {
	Name string `json:"name"`
}

// PluginInput is what the service is sent: any JSON by name.
type PluginInput struct {
	Parameters map[string]json.RawMessage `json:"parameters,omitempty"`
}

// Kind is the kind of a generator, by its key.
func (g *Generator) Kind() string {
	switch {
	case g.List != nil:
		return "list"
	case g.Clusters != nil:
		return "clusters"
	case g.Git != nil:
		return "git"
	case g.SCMProvider != nil:
		return "scmProvider"
	case g.Decisions != nil:
		return "clusterDecisionResource"
	case g.PullRequests != nil:
		return "pullRequest"
	case g.Plugin != nil:
		return "plugin"
	case g.Matrix != nil:
		return "matrix"
	case g.Merge != nil:
		return "merge"
	}
	return ""
}
