package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/target"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// VersionsRequest asks which versions of a service's artifact there are.
type VersionsRequest struct {
	Scope   ref.Scope
	Service string // as stages in the scope name it
	Source  string // an artifact source or a sidecar; empty: the primary artifact
	Limit   int
	By      audit.Author
	Key     string // starts one execution, as in launch.Request
}

// The nodes of an execution that asks for versions.
const (
	versionsStage = plan.NodeID("pipeline.stages.service")
	versionsStep  = versionsStage + ".spec.service"
)

// StartVersions has a delegate list the newest versions, by a preview of one
// step.
func (s *Service) StartVersions(ctx context.Context, r VersionsRequest) (store.Execution, error) {
	name, err := ref.Parse(r.Service, r.Scope)
	if err != nil {
		return store.Execution{}, fault.New(fault.Invalid, "service %w", err)
	}
	saved, err := s.Store.Entity(ctx, store.EntityKey{Scope: name.Scope, Kind: ref.Service, ID: name.ID})
	if err != nil {
		return store.Execution{}, err
	}
	reader := target.Reader{Entities: s.Store, Scope: r.Scope, Types: s.Types}
	service, err := reader.Document(ctx, saved)
	if err != nil {
		return store.Execution{}, err
	}
	return s.ask(ctx, versionsPlan(service, r), r.Key, r.By, "artifacts of service "+r.Service, store.Execution{
		Scope: r.Scope, Pipeline: name.ID, Name: "Artifacts of " + r.Service,
	})
}

// ask starts an execution of a plan that only asks a delegate for something,
// for whoever waits for the answer: a preview, which is on no list. The text
// says what it is in the audit trail.
func (s *Service) ask(ctx context.Context, p *plan.Plan, key string, by audit.Author, text string, e store.Execution) (store.Execution, error) {
	doc, err := p.Encode()
	if err != nil {
		return store.Execution{}, fmt.Errorf("encode the plan of %s: %w", text, err)
	}
	if e.Inputs, err = json.Marshal(launch.Given{}); err != nil {
		return store.Execution{}, fmt.Errorf("encode no inputs: %w", err)
	}
	if e.ID, err = s.Launch.NewID(ctx, key); err != nil {
		return store.Execution{}, err
	}
	e.PlanHash, e.Preview = plan.Hash(doc), true
	return s.Launch.Begin(ctx, e, plan.NodeID(ref.Pipeline), doc, by, text)
}

// versionsPlan is a pipeline of one stage, which only looks.
func versionsPlan(service *yamldoc.Node, r VersionsRequest) *plan.Plan {
	spec := mapping(yamldoc.Entry{Key: "list", Value: word(strconv.Itoa(r.Limit), yamldoc.Int)}, yamldoc.Entry{Key: "source", Value: word(r.Source, yamldoc.Str)})
	step := &plan.Node{
		ID: versionsStep, Kind: plan.KindStep, Identifier: "service", Name: "Service", Type: plan.TypeService, Doc: mapping(yamldoc.Entry{Key: "spec", Value: spec}),
	}
	stage := &plan.Node{
		ID: versionsStage, Kind: plan.KindStage, Identifier: "service", Name: "Service", Type: entity.StageDeployment, Looks: true, Doc: mapping(),
		Deployment: &plan.Deployment{Type: service.Get("serviceDefinition").Text("type"), Service: service, ServiceRef: r.Service},
		Children:   []*plan.Node{step},
	}
	root := &plan.Node{ID: plan.NodeID(ref.Pipeline), Kind: plan.KindPipeline, Identifier: "service", Doc: mapping(), Children: []*plan.Node{stage}}
	return &plan.Plan{Root: root, Pipeline: root.Doc}
}

func word(value string, tag yamldoc.Tag) *yamldoc.Node {
	return &yamldoc.Node{Kind: yamldoc.Scalar, Value: value, Tag: tag}
}

func mapping(entries ...yamldoc.Entry) *yamldoc.Node {
	return &yamldoc.Node{Kind: yamldoc.Mapping, Entries: entries}
}

// Versions are what an execution that asks for them has found, once it has
// ended.
func (s *Service) Versions(ctx context.Context, id string) (store.Execution, []lookup.ArtifactVersion, string, error) {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return e, nil, "", err
	}
	nodes, err := s.Store.Nodes(ctx, id, versionsStep)
	if err != nil || !e.Preview || len(nodes) == 0 {
		return e, nil, e.Message, err
	}
	st := nodes[0].State
	var outputs struct {
		Output struct {
			Results struct{ Primary lookup.Results } `json:"artifactResults"`
		} `json:"output"`
	}
	if len(st.Outputs) > 0 {
		if err := json.Unmarshal(st.Outputs, &outputs); err != nil {
			return e, nil, "", fmt.Errorf("decode the versions: %w", err)
		}
	}
	return e, outputs.Output.Results.Primary.Versions, cmp.Or(st.Message, e.Message), nil
}
