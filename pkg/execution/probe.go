package execution

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ProbeRequest asks whether a connector works: a saved one, or one that isn't
// saved yet.
type ProbeRequest struct {
	Scope     ref.Scope
	Connector string // as what is in the scope names it
	Document  string // as YAML; empty: the saved one
	By        audit.Author
	Key       string // starts one execution, as in launch.Request
}

// The nodes of an execution that tests a connector.
const (
	probeStage = plan.NodeID("pipeline.stages.connector")
	probeStep  = probeStage + ".spec.execution.steps.test"
)

// StartProbe has a delegate test a connector, by a preview of one step.
func (s *Service) StartProbe(ctx context.Context, r ProbeRequest) (store.Execution, error) {
	name, err := ref.Parse(r.Connector, r.Scope)
	if err != nil {
		return store.Execution{}, fault.New(fault.Invalid, "connector %w", err)
	}
	if r.Document == "" {
		if _, err := s.Store.Entity(ctx, store.EntityKey{Scope: name.Scope, Kind: ref.Connector, ID: name.ID}); err != nil {
			return store.Execution{}, err
		}
	}
	return s.ask(ctx, probePlan(r), r.Key, r.By, "test of connector "+r.Connector, store.Execution{
		Scope: r.Scope, Pipeline: name.ID, Name: "Test of " + r.Connector,
	})
}

// probePlan is a pipeline of one step.
func probePlan(r ProbeRequest) *plan.Plan {
	spec := mapping(yamldoc.Entry{Key: "connector", Value: word(r.Connector, yamldoc.Str)})
	if r.Document != "" {
		spec = mapping(yamldoc.Entry{Key: "document", Value: word(r.Document, yamldoc.Str)})
	}
	step := &plan.Node{
		ID: probeStep, Kind: plan.KindStep, Identifier: "test", Name: "Test", Type: plan.TypeProbe, Doc: mapping(yamldoc.Entry{Key: "spec", Value: spec}),
	}
	stage := &plan.Node{
		ID: probeStage, Kind: plan.KindStage, Identifier: "connector", Name: "Connector", Type: entity.StageCustom, Doc: mapping(), Children: []*plan.Node{step},
	}
	root := &plan.Node{ID: plan.NodeID(ref.Pipeline), Kind: plan.KindPipeline, Identifier: "connector", Doc: mapping(), Children: []*plan.Node{stage}}
	return &plan.Plan{Root: root, Pipeline: root.Doc}
}

// ProbeStatus is how far a test has come, or what it has come to.
type ProbeStatus string

// The statuses besides those of a task's result.
const (
	ProbeRunning    ProbeStatus = "RUNNING"
	ProbeNoDelegate ProbeStatus = "NO_DELEGATE"
)

// Probe is a test of a connector.
type Probe struct {
	Status  ProbeStatus
	Message string // why there are no checks, or what is missing
	Checks  []probe.Check
	// Delegate is who has tested it, or does; nil: nobody, or one that has gone.
	Delegate *store.Delegate
}

// Probe is how far an execution that tests a connector has come.
func (s *Service) Probe(ctx context.Context, id string) (Probe, error) {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return Probe{}, err
	}
	nodes, err := s.Store.Nodes(ctx, id, probeStep)
	if err != nil {
		return Probe{}, err
	}
	if !e.Preview {
		return Probe{}, fault.New(fault.NotFound, "execution %s tests no connector", id)
	}
	var st plan.State
	if len(nodes) > 0 {
		st = nodes[0].State
	} else if e.Status.Terminal() {
		return Probe{Status: ProbeStatus(probe.Unknown), Message: cmp.Or(e.Message, "the test didn't begin")}, nil
	}
	t, err := s.Store.Task(ctx, engine.TaskID(id, probeStep, max(st.Attempt, 1), st.Look))
	begun := err == nil
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Probe{}, err
	}
	p, err := judge(st, begun, t)
	if err != nil || t.Delegate == "" {
		return p, err
	}
	d, err := s.Store.Delegate(ctx, e.Scope.Account, t.Delegate)
	switch {
	case err == nil:
		p.Delegate = &d
	case !fault.Is(err, fault.NotFound):
		return Probe{}, err
	}
	return p, nil
}

// judge says what a test came to by the state of its step and by its task, if
// that was made.
func judge(st plan.State, made bool, t store.Task) (Probe, error) {
	found, err := probe.Read(st.Outputs)
	switch {
	case err != nil:
		return Probe{}, fmt.Errorf("decode the test: %w", err)
	case !st.Status.Terminal():
		return Probe{Status: ProbeRunning}, nil
	case found != nil:
		return Probe{Status: ProbeStatus(found.Status), Checks: found.Checks}, nil
	case slices.Contains(st.Failures, fault.DelegateProvisioning) || made && t.Delegate == "":
		return Probe{Status: ProbeNoDelegate, Message: st.Message}, nil
	case !made && st.Status != plan.Aborted:
		return failedBefore(probe.CheckConfiguration, st.Message), nil
	case st.Status == plan.Errored && t.Status == store.TaskDone && !slices.ContainsFunc(st.Failures, interrupted):
		return failedBefore(probe.CheckSecrets, st.Message), nil
	}
	return Probe{Status: ProbeStatus(probe.Unknown), Message: st.Message}, nil
}

// interrupted says that a failure is none of the connector's.
func interrupted(t fault.FailureType) bool {
	return t == fault.Timeout || t == fault.DelegateRestart
}

// failedBefore is a test that didn't get as far as its delegate's first check.
func failedBefore(name probe.CheckName, message string) Probe {
	return Probe{Status: ProbeStatus(probe.Failure), Checks: []probe.Check{{Name: name, Message: message}}}
}
