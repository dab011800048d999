package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// StageEnvironment is an environment of a stage with the infrastructures of it
// that are deployed to.
type StageEnvironment struct {
	Ref             yamldoc.Field[string]
	Inputs          *yamldoc.Node
	Infrastructures []StageInfrastructure
	All             yamldoc.Field[bool] // deployToAll
	Filters         []Filter
	// From is the stage whose environment this is (useFromStage), and whose
	// infrastructure, unless this one chooses infrastructures of its own.
	From yamldoc.Field[string]
	// OverrideInputs are values for inputs of the overrides of the services, by
	// service; empty: of all.
	OverrideInputs map[string]*yamldoc.Node
	// Clusters are those of GitOps that the stage is about.
	Clusters []gitOpsCluster
}

// chooses says whether infrastructures are chosen here.
func (s StageEnvironment) chooses() bool {
	return len(s.Infrastructures) > 0 || s.All.Set && (s.All.Value || s.All.Expr != "") || len(s.Filters) > 0
}

// StageInfrastructure is an infrastructure definition of a stage.
type StageInfrastructure struct {
	Identifier yamldoc.Field[string]
	Inputs     *yamldoc.Node
}

// StageEnvironments are the environments of a stage that deploys to several.
type StageEnvironments struct {
	Values   []StageEnvironment
	Parallel yamldoc.Field[bool] // otherwise one infrastructure after the other
	Filters  []Filter
}

// StageGroup is the environment group of a stage.
type StageGroup struct {
	Ref          yamldoc.Field[string]
	All          yamldoc.Field[bool]
	Environments []StageEnvironment
	Parallel     yamldoc.Field[bool]
	Filters      []Filter
}

// Filter narrows down the environments or the infrastructures that are
// deployed to (semantics/entities §5.3).
type Filter struct {
	Identifier yamldoc.Field[string]
	Type       yamldoc.Field[string] // all or tags
	Entities   yamldoc.Field[[]string]
	MatchType  yamldoc.Field[string]
	Tags       *yamldoc.Node // a mapping, or an expression for one
}

// What a filter may be about, its Entities.
const (
	filterEnvironments    = "environments"
	filterInfrastructures = "infrastructures"
	filterClusters        = "gitOpsClusters"
)

// PassesAll says whether nothing fails to pass the filter.
func (f Filter) PassesAll() bool { return f.Type.Value == "all" }

// EveryTag says whether all tags are wanted, not any of them.
func (f Filter) EveryTag() bool { return f.MatchType.Value == "all" }

// around is what stands around a stage's environment.
type around struct {
	narrowed bool // filters may choose its infrastructures
	gitOps   bool // agents bring what is deployed, to clusters in place of infrastructures
	// made reads the steps that make its infrastructure; nil where there can be
	// none.
	made document.Rule
}

// stageEnvironment decodes an environment.
func (d deployments) stageEnvironment(v yamldoc.Value, s *StageEnvironment, in around) {
	narrowed := in.narrowed || in.gitOps
	environment, from := document.Peek(v, "environmentRef"), v.Node.Get("useFromStage")
	narrowed = narrowed || !document.Neutral(v.Node.Get("deployToAll")) || !document.Neutral(v.Node.Get("filters")) || !document.Neutral(v.Node.Get("gitOpsClusters"))
	keys := document.Keys{
		"environmentRef":    d.Reference(ref.Environment, &s.Ref),
		"environmentInputs": d.Node(&s.Inputs),
		"infrastructureDefinition": func(v yamldoc.Value) {
			s.Infrastructures = append(s.Infrastructures, d.stageInfrastructure(v, environment))
		},
		"infrastructureDefinitions": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				s.Infrastructures = append(s.Infrastructures, d.stageInfrastructure(item, environment))
			}
			if !narrowed && from == nil {
				d.some(v, "infrastructure definitions")
			}
		},
		"deployToAll":           d.Decided(&s.All),
		"filters":               func(v yamldoc.Value) { s.Filters = d.filters(v, in.gitOps) },
		"serviceOverrideInputs": func(v yamldoc.Value) { d.overrideInputs(v, "", s) },
		"servicesOverrides":     func(v yamldoc.Value) { d.servicesOverrides(v, s) },
		"gitOpsClusters": func(v yamldoc.Value) {
			pulled(d).clusters(s)(v)
			if !in.gitOps {
				d.Errorf(v, document.WrongValue, "clusters of GitOps are for stages with gitOpsEnabled: true")
			}
		},
		"provisioner":       d.provisioner(in.made),
		"useFromStage":      d.fromStage(&s.From),
		"gitBranch":         d.branch(),
		"failureStrategies": d.Never("the steps that prepare services and environments have the failureStrategies of their stage, as Harness documents; put them there"),
		"description":       document.Nothing,
	}
	if in.gitOps {
		keys = document.Merge(keys, pulled(d).clusterKeys())
	}
	d.Fields(v, keys)
	if in.gitOps && !in.narrowed {
		pulled(d).clustersNeeded(v)
	}
	if from != nil {
		d.fromStageAlone(v, "the environment as it is", "environmentRef", "environmentInputs", "serviceOverrideInputs", "servicesOverrides")
		if !narrowed && v.Node.Get("infrastructureDefinition") != nil {
			d.OneOf(v, "infrastructureDefinition", "infrastructureDefinitions")
		}
		return
	}
	d.Need(v, "environmentRef")
	if !narrowed {
		d.OneOf(v, "infrastructureDefinition", "infrastructureDefinitions")
	}
}

// provisioner reads the steps that make an environment's infrastructure.
func (d deployments) provisioner(made document.Rule) document.Rule {
	if made == nil {
		return d.Never("the infrastructure of one environment alone can be made by a stage's own steps; write environment in place of the list")
	}
	return made
}

// servicesOverrides decodes values for inputs of overrides, for each service.
func (d deployments) servicesOverrides(v yamldoc.Value, s *StageEnvironment) {
	for item := range d.Items(v) {
		var service yamldoc.Field[string]
		name := document.Peek(item, "serviceRef")
		d.Fields(item, document.Keys{
			"serviceRef":            d.Reference(ref.Service, &service),
			"serviceOverrideInputs": func(v yamldoc.Value) { d.overrideInputs(v, name, s) },
			"description":           document.Nothing,
		})
		d.Need(item, "serviceRef")
	}
}

func (d deployments) overrideInputs(v yamldoc.Value, service string, s *StageEnvironment) {
	var inputs *yamldoc.Node
	if d.Node(&inputs)(v); inputs == nil {
		return
	}
	if s.OverrideInputs == nil {
		s.OverrideInputs = map[string]*yamldoc.Node{}
	}
	s.OverrideInputs[service] = inputs
}

func (d deployments) stageInfrastructure(v yamldoc.Value, environment string) StageInfrastructure {
	var s StageInfrastructure
	d.Fields(v, document.Keys{
		"identifier": func(v yamldoc.Value) {
			s.Identifier = d.String(v)
			d.referInfrastructure(v, s.Identifier.Value, environment)
		},
		"inputs":      d.Node(&s.Inputs),
		"metadata":    document.Nothing, // the console's
		"description": document.Nothing,
	})
	d.Need(v, "identifier")
	return s
}

// referInfrastructure adds the reference to an infrastructure definition,
// which lives in its environment's scope.
func (d *decoder) referInfrastructure(v yamldoc.Value, id, environment string) {
	if id == "" || environment == "" || strings.Contains(environment, "<+") {
		return
	}
	env, err := ref.Parse(environment, d.Scope)
	if err != nil {
		return // reported where the environment is named
	}
	if err := ref.CheckID(ref.Infrastructure, id); err != nil {
		d.Errorf(v, document.BadReference, "%s", err)
		return
	}
	d.references = append(d.references, Reference{
		Kind: ref.Infrastructure, Ref: ref.Ref{Scope: env.Scope, ID: id}, Environment: env.ID, Text: id, At: v.Pos(d.Report),
	})
}

func (d deployments) stageEnvironments(v yamldoc.Value, s *StageEnvironments, gitOps bool) {
	narrowed := !document.Neutral(v.Node.Get("filters"))
	d.Fields(v, document.Keys{
		"values": func(v yamldoc.Value) {
			s.Values = d.environmentList(v, around{narrowed: narrowed, gitOps: gitOps})
			d.some(v, "environments")
		},
		"metadata":          d.parallel(&s.Parallel),
		"filters":           func(v yamldoc.Value) { s.Filters = d.filters(v, gitOps) },
		"failureStrategies": d.Never("the steps that prepare services and environments have the failureStrategies of their stage, as Harness documents; put them there"),
		"description":       document.Nothing,
	})
	if !narrowed {
		d.Need(v, "values")
	}
}

func (d deployments) environmentList(v yamldoc.Value, in around) []StageEnvironment {
	var list []StageEnvironment
	for item := range d.Items(v) {
		var one StageEnvironment
		d.stageEnvironment(item, &one, in)
		list = append(list, one)
	}
	return list
}

func (d deployments) stageGroup(v yamldoc.Value, s *StageGroup, gitOps bool) {
	narrowed := !document.Neutral(v.Node.Get("filters")) || !document.Neutral(v.Node.Get("deployToAll"))
	d.Fields(v, document.Keys{
		"envGroupRef": d.Reference(ref.EnvironmentGroup, &s.Ref),
		"deployToAll": d.Decided(&s.All),
		"environments": func(v yamldoc.Value) {
			s.Environments = d.environmentList(v, around{narrowed: narrowed, gitOps: gitOps})
		},
		"metadata":          d.parallel(&s.Parallel),
		"filters":           func(v yamldoc.Value) { s.Filters = d.filters(v, gitOps) },
		"failureStrategies": d.Never("the steps that prepare services and environments have the failureStrategies of their stage, as Harness documents; put them there"),
		"description":       document.Nothing,
	})
	d.Need(v, "envGroupRef")
	if !narrowed && v.Is(yamldoc.Mapping) && document.Neutral(v.Node.Get("environments")) {
		d.Errorf(v, document.MissingKey, "one of deployToAll, environments and filters is missing: they say which environments of the group are meant")
	}
}

// filters reads filters of environments and of what they have: infrastructures or,
// where GitOps agents deploy, clusters.
func (d deployments) filters(v yamldoc.Value, gitOps bool) []Filter {
	var list []Filter
	has := filterInfrastructures
	if gitOps {
		has = filterClusters
	}
	ids := document.Seen{}
	for item := range d.Items(v) {
		var f Filter
		typ := document.Peek(item, "type")
		d.Fields(item, document.Keys{
			"identifier": func(v yamldoc.Value) {
				f.Identifier = d.Identifier(v, ref.CheckNodeID)
				d.Unique(ids, v, f.Identifier.Value)
			},
			"type": d.Literal(&f.Type, "all", "tags"),
			"entities": func(v yamldoc.Value) {
				for item := range d.Items(v) {
					var one yamldoc.Field[string]
					d.Literal(&one, filterEnvironments, has)(item)
					f.Entities.Value = append(f.Entities.Value, one.Value)
				}
				d.Empty(v, "found no entities: the filter chooses nothing")
			},
			"spec":        func(v yamldoc.Value) { d.filterSpec(v, typ, &f) },
			"description": document.Nothing,
		})
		d.Need(item, "identifier", "type", "entities")
		if typ == "tags" {
			d.Need(item, "spec")
		}
		list = append(list, f)
	}
	return list
}

func (d deployments) filterSpec(v yamldoc.Value, typ string, f *Filter) {
	d.Fields(v, document.Keys{
		"matchType": d.Word(&f.MatchType, "all", "any"),
		"tags": func(v yamldoc.Value) {
			if f.Tags = v.Node; v.Is(yamldoc.Scalar) {
				steps(d).loopExpression(v)
				return
			}
			d.StringMap(v)
		},
		"description": document.Nothing,
	})
	if typ == "tags" {
		d.Need(v, "matchType", "tags")
	}
}
