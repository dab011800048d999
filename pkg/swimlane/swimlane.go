// Package swimlane is the contract of a deployment type: what the services and
// infrastructure definitions of it may hold, which manifests it has, and what
// a stage of it deploys where. A folder below this one holds one, with the
// steps that are its own; pkg/swimlane/builtin lists them.
//
// A lane does no I/O: on save it decodes, and in a run it makes of resolved
// documents what a delegate needs. What is done at the target is the
// delegate's, in the folder of the same name below delegate/.
package swimlane

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Lane is a deployment type.
type Lane struct {
	Type string // as in YAML, e.g. Kubernetes
	// Service decodes the spec of a service's definition, its own keys into what
	// it gives. It is called on save, and again when a stage deploys; then the
	// expressions are still in it, see Reach.Text.
	Service func(d *Decoder, spec yamldoc.Value) any
	// Manifests are the kinds that its services may have.
	Manifests []ManifestKind
	// Infrastructures are the types that its infrastructure definitions may have.
	Infrastructures []Infrastructure
	// Template decodes the spec of a deployment template, which says how stages of
	// the type find what they have deployed; nil: it has none
	// (semantics/pipeline §9.6).
	Template func(d *Decoder, spec yamldoc.Value) any
	// Steps are the names of the step types that may stand in its stages alone.
	Steps []string
	// Kinds are the kinds of task that its steps start. All must be here: of
	// another, whoever does a task of it may not ask for anything.
	Kinds []Kind
	// Finds is the step type that finds the instances over which a stage's loops
	// may run, <+stage.output.hosts> (semantics/pipeline §3.6); empty: none does.
	Finds string
	// Pulled says that stages with gitOpsEnabled are of it, whatever deployment type
	// they name: agents bring what is deployed. No document names it.
	Pulled bool
	// Near are lanes whose steps work in its stages too. They belong into their
	// own, which is told.
	Near []string
}

// Infrastructure is a type of infrastructure definition.
type Infrastructure struct {
	Type string // as in YAML, e.g. KubernetesDirect
	// New decodes a spec. It is called on save, where fields may be expressions,
	// and again when a stage deploys, where they no longer are.
	New func(d *Decoder, spec yamldoc.Value) Place
	// Key are the keys of its spec that say which place it is: with service and
	// environment they make INFRA_KEY (semantics/entities §4). None: the
	// definition's identifier does.
	Key []string
}

// Place is the decoded spec of an infrastructure definition.
type Place interface {
	// Target is what is deployed where, as the payloads of the lane's steps have it.
	Target(r Reach) (Target, error)
}

// Target is what a stage deploys where, for a delegate.
type Target struct {
	Spec      any    // the lane's own
	Image     string // of the primary artifact, or its version; empty: there is none
	Release   string // its name in the place, where it has one
	Namespace string // of the place, where it has such
}

// Clustered is a Place that is a namespace of a Kubernetes cluster.
type Clustered interface {
	Place
	// Cluster is how the cluster is reached, and by which delegates.
	Cluster(r Reach) (task.Cluster, []string, error)
}

// Charted is a Place that may be deployed to by a chart which says something of
// itself (semantics/entities §2.3).
type Charted interface {
	Place
	// Described is the work that reads it.
	Described(r Reach) (Described, error)
}

// Described is the work that reads what a chart says of itself.
type Described struct {
	Kind      task.Kind
	Spec      any      // of its task.Work; nil: there is nothing to read
	Selectors []string // a delegate needs these
}

// ManifestKind is a kind of manifest.
type ManifestKind struct {
	Type string // as in YAML, e.g. K8sManifest
	// New decodes a spec, as Infrastructure.New does.
	New func(d *document.Decoder, spec yamldoc.Value) any
	// Later are names that only somebody later knows, such as a delegate in its files:
	// in the document their expressions stay as they are. One may be a field of
	// another: cluster.name.
	Later []string
	// Main says that it is deployed itself: a service has manifests of one main
	// kind alone.
	Main bool
	// Several says that a service may have several of the kind.
	Several bool
	// Overrides says that an environment, and overrides, may have some too.
	Overrides bool
}

// Manifest is a decoded manifest.
type Manifest struct {
	ID    string
	Layer int // 0 is the service's own; what a higher one has wins
	Kind  ManifestKind
	Spec  any // what the kind's New gives
}

// Decoder decodes what is a lane's in a document.
type Decoder struct {
	*document.Decoder
	// Common are the keys that every lane has there.
	Common document.Keys
	// Variables reads a list of variables, some of which may name connectors.
	Variables document.Rule
	// Template reads which deployment template something is made for.
	Template document.Rule
}

// Resolved makes a decoder of what is resolved for a run. What every lane has
// was read already.
func Resolved(r *yamldoc.Report) *Decoder {
	return &Decoder{Decoder: document.New(r), Variables: document.Nothing, Template: document.Nothing}
}

// Reach is how a Place finds what else its target is made of. Secrets in what
// it gives are placeholders.
type Reach interface {
	// Text resolves the expressions of a field that was decoded with them.
	Text(f yamldoc.Field[string]) (string, error)
	// Selectors resolves delegate selectors.
	Selectors(list []string) ([]string, error)
	// Service is what the lane's Service has decoded.
	Service() any
	// Template is what the lane's Template has decoded.
	Template() (any, error)
	// Manifests are those of the service and of the layers above it whose kinds
	// are wanted, the lowest first, decoded without expressions.
	Manifests(wanted func(ManifestKind) bool) ([]Manifest, error)
	// Store is how the files of a store are reached. charts, if it isn't empty, is
	// the connector of a repository of charts in place of the store's own.
	Store(s *filesource.Store, charts string) (task.Store, error)
	// File is the text of a file of the file store, its expressions resolved.
	File(path string) (string, error)
	// Artifact is the image of the primary artifact, and its version; both are
	// empty if there is none.
	Artifact() (image, version string, err error)
	// Source is where the primary artifact is kept, with the version and the digest
	// that are deployed, and the selectors of the delegates that reach it; nil if
	// there is none.
	Source() (*lookup.Artifact, []string, error)
	// Sidecars are where the artifacts beside the primary one are kept, as Source
	// gives that, and the selectors of the delegates that reach all of them.
	Sidecars() ([]lookup.Sidecar, []string, error)
	// PullSelectors are those of the delegates that can make the pull secret of
	// the primary artifact.
	PullSelectors() ([]string, error)
	// Chart is what the chart of a manifest says of itself; nil if it wasn't read.
	Chart(manifest string) (*lookup.ChartFound, error)
	// Connector reads a connector.
	Connector(name string) (connector.Connector, error)
}

// Lanes are the deployment types that there are.
type Lanes []Lane

// Types lists their names that documents have.
func (l Lanes) Types() []string {
	var out []string
	for _, lane := range l {
		if !lane.Pulled {
			out = append(out, lane.Type)
		}
	}
	return out
}

// Pulled is the lane of stages with gitOpsEnabled.
func (l Lanes) Pulled() (Lane, bool) {
	i := slices.IndexFunc(l, func(lane Lane) bool { return lane.Pulled })
	if i < 0 {
		return Lane{}, false
	}
	return l[i], true
}

// Of finds the lane of a deployment type.
func (l Lanes) Of(deployment string) (Lane, bool) {
	for _, lane := range l {
		if lane.Type == deployment {
			return lane, true
		}
	}
	return Lane{}, false
}

// Owners are the deployment types in whose stages alone a step type may stand;
// none: it may stand in any stage.
func (l Lanes) Owners(stepType string) []string {
	var out []string
	for _, lane := range l {
		if slices.Contains(lane.Steps, stepType) {
			out = append(out, lane.Type)
		}
	}
	return out
}

// Infrastructures lists the types of infrastructure definitions that there
// are, each once.
func (l Lanes) Infrastructures() []string {
	var out []string
	for _, lane := range l {
		if lane.Pulled {
			continue // the plan makes its places
		}
		for _, i := range lane.Infrastructures {
			if !slices.Contains(out, i.Type) {
				out = append(out, i.Type)
			}
		}
	}
	return out
}

// Manifests lists the kinds of manifests that there are, each once.
func (l Lanes) Manifests() []ManifestKind {
	var out []ManifestKind
	for _, lane := range l {
		for _, k := range lane.Manifests {
			if !slices.ContainsFunc(out, func(o ManifestKind) bool { return o.Type == k.Type }) {
				out = append(out, k)
			}
		}
	}
	return out
}

// Manifest finds a kind of manifest.
func (l Lanes) Manifest(typ string) (ManifestKind, bool) {
	for _, k := range l.Manifests() {
		if k.Type == typ {
			return k, true
		}
	}
	return ManifestKind{}, false
}

// Infrastructure finds a type of infrastructure definition of the lane.
func (l Lane) Infrastructure(typ string) (Infrastructure, bool) {
	for _, i := range l.Infrastructures {
		if i.Type == typ {
			return i, true
		}
	}
	return Infrastructure{}, false
}
