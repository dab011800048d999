package resolve

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deployed is what a stage deploys where, decoded with its expressions.
type deployed struct {
	*plan.Deployment
	service        *entity.Service
	environment    *entity.Environment
	infrastructure *entity.Entity
	layers         []layer
}

// layer is what one document says of a service's variables, manifests and
// config files. The service comes first, then the environment and the
// overrides, each of which wins over those before it (semantics/entities §8).
type layer struct {
	what        string // for people
	variables   []entity.Variable
	manifests   []entity.Manifest
	configFiles []entity.ConfigFile
}

// of is what a stage deploys where, decoded once.
func (dep deployments) of(stage *plan.Node) (*deployed, error) {
	s := dep.scope
	of, err := s.record().deploys(stage)
	if err != nil || s.decoded[of] != nil {
		return s.decoded[of], err
	}
	d := &deployed{
		Deployment: of, service: part(s.Types, ref.Service, of.Service).Service, environment: part(s.Types, ref.Environment, of.Environment).Environment,
		infrastructure: part(s.Types, ref.Infrastructure, of.Infrastructure),
	}
	d.layers = []layer{
		{"the service", d.service.Variables, d.service.Manifests, d.service.ConfigFiles},
		{"the environment", d.environment.Variables, d.environment.Values, d.environment.ConfigFiles},
	}
	for _, o := range of.Overrides {
		own := part(s.Types, ref.Overrides, o.Doc).Override
		d.layers = append(d.layers, layer{o.Type, own.Variables, own.Manifests, own.ConfigFiles})
	}
	s.decoded[of] = d
	return d, nil
}

// part decodes a document of a plan, which has been checked when the plan was
// made.
func part(types entity.Types, kind ref.Kind, doc *yamldoc.Node) *entity.Entity {
	if doc == nil {
		doc = &yamldoc.Node{Kind: yamldoc.Mapping}
	}
	return entity.DecodePart(kind, doc, yamldoc.NewReport(""), entity.Options{Types: types})
}

// deploys is what a stage deploys where.
func (r record) deploys(stage *plan.Node) (*plan.Deployment, error) {
	if stage == nil {
		return nil, fault.New(fault.Invalid, "there is no stage here")
	}
	if stage.Deployment == nil {
		return nil, fault.New(fault.Invalid, "stage %s deploys nothing", stage.Identifier)
	}
	d := stage.Deployment
	if d.Late {
		d = stage.Deploys(r.state(stage.ID))
	}
	if d == nil {
		return nil, fault.New(fault.Invalid, "stage %s hasn't chosen yet what it deploys", stage.Identifier)
	}
	return d, nil
}

// variableOf finds a variable of a list; nil if there is none of the name.
func variableOf(list []entity.Variable, name string) *entity.Variable {
	i := slices.IndexFunc(list, func(v entity.Variable) bool { return v.Name.Text == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}
