package swimlanetest

import (
	"cmp"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Reach stands for what a stage deploys, without an artifact. Every connector
// exists and is whatever is asked of it; its name is in what it gives.
type Reach struct {
	Lane         swimlane.Lane
	ServiceSpec  yamldoc.Value
	TemplateSpec yamldoc.Value
	All          []swimlane.Manifest // of the service
	// ConnectorType is that of the connectors, whose servers are asked for by it.
	ConnectorType string
}

// Text is a field as it is.
func (*Reach) Text(f yamldoc.Field[string]) (string, error) { return f.Value + f.Expr, nil }

// Selectors are a list as it is.
func (*Reach) Selectors(list []string) ([]string, error) { return list, nil }

// Service is what the lane reads of ServiceSpec.
func (r *Reach) Service() any {
	return r.Lane.Service(swimlane.Resolved(yamldoc.NewReport("")), r.ServiceSpec)
}

// Template is what the lane reads of TemplateSpec.
func (r *Reach) Template() (any, error) {
	return r.Lane.Template(swimlane.Resolved(yamldoc.NewReport("")), r.TemplateSpec), nil
}

// Manifests are those of All that are wanted.
func (r *Reach) Manifests(wanted func(swimlane.ManifestKind) bool) ([]swimlane.Manifest, error) {
	var out []swimlane.Manifest
	for _, m := range r.All {
		if wanted(m.Kind) {
			out = append(out, m)
		}
	}
	return out, nil
}

// Store gives what an Inline store says.
func (*Reach) Store(from *filesource.Store, _ string) (task.Store, error) {
	if from.Type.Value != filesource.Inline {
		return task.Store{}, fault.New(fault.Unsupported, "only Inline stores can be reached here; found %s", from.Type.Value)
	}
	return task.Store{Inline: from.Content.Value}, nil
}

// File is a text that names the file.
func (*Reach) File(path string) (string, error) { return "content of " + path, nil }

// Artifact is none.
func (*Reach) Artifact() (image, version string, err error) { return "", "", nil }

// Source is none.
func (*Reach) Source() (*lookup.Artifact, []string, error) { return nil, nil, nil }

// Sidecars are none.
func (*Reach) Sidecars() ([]lookup.Sidecar, []string, error) { return nil, nil, nil }

// PullSelectors are none.
func (*Reach) PullSelectors() ([]string, error) { return nil, nil }

// Chart says nothing of itself.
func (*Reach) Chart(string) (*lookup.ChartFound, error) {
	return nil, nil //nolint:nilnil // as documented
}

// Connector is one that gives anything.
func (r *Reach) Connector(name string) (connector.Connector, error) {
	all := connector.Type{Name: cmp.Or(r.ConnectorType, "Rancher"), New: func(*connector.Decoder, yamldoc.Value) connector.Spec { return anything(name) }}
	return connector.Types{all}.Use(name, all.Name, ref.Scope{}, &yamldoc.Node{Kind: yamldoc.Mapping}, nil), nil
}

// anything is a connector that gives what any type does, with its name in it.
type anything string

func (a anything) Cluster(connector.Reach) (task.Cluster, error) {
	return task.Cluster{URL: "https://" + string(a)}, nil
}

func (a anything) AWS(_ connector.Reach, region string) (task.AWS, error) {
	return task.AWS{AccessKey: string(a), Region: region}, nil
}

func (anything) Account() string { return "" }

func (a anything) Google(connector.Reach) (*task.Google, error) {
	return &task.Google{Key: string(a)}, nil
}

func (a anything) Azure(connector.Reach) (*task.Azure, error) {
	return &task.Azure{Tenant: string(a)}, nil
}

func (a anything) Server(connector.Reach) (task.Server, error) {
	return task.Server{URL: "https://" + string(a)}, nil
}

func (anything) Probe(connector.Reach) (connector.Probe, error) {
	return connector.Probe{}, fault.New(fault.Unsupported, "nothing tests this connector")
}
