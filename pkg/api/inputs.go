package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// OfPipeline names a pipeline in the path.
type OfPipeline struct {
	Scoped
	Pipeline string `path:"pipeline" maxLength:"128"`
}

func (in OfPipeline) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Scope: scope, ID: in.Pipeline}, err
}

// PipelineInputs is what a run of a pipeline asks for.
type PipelineInputs struct {
	YAML   string           `json:"yaml" doc:"A form to fill in: the pipeline's document as far as it has inputs, with defaults and comments; empty: it has none"`
	Inputs []input.Question `json:"inputs" nullable:"false"`
}

// MergedInputs is a pipeline with inputs as a run would have it.
type MergedInputs struct {
	YAML     string         `json:"yaml" doc:"The values of all inputs, defaults included, with the root key pipeline"`
	Pipeline string         `json:"pipeline" doc:"The whole pipeline with these values, as YAML"`
	Values   []input.Value  `json:"values" nullable:"false" doc:"What the inputs have got, each with where it comes from; those that have nothing aren't there"`
	Missing  []fault.Detail `json:"missing" nullable:"false" doc:"Inputs that need a value and have none"`
	Wrong    []fault.Detail `json:"wrong" nullable:"false" doc:"Values that have no place or aren't allowed"`
	Warnings []fault.Detail `json:"warnings" nullable:"false" doc:"Values of input sets that have no place, which a run leaves out"`
}

// InputSet says whether an input set or an overlay fits its pipeline.
type InputSet struct {
	Kind    ref.Kind       `json:"kind" enum:"inputSet,overlayInputSet"`
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Version int64          `json:"version"`
	Valid   bool           `json:"valid"`
	Wrong   []fault.Detail `json:"wrong" nullable:"false" doc:"Places in the set that don't fit the pipeline as it is now"`
}

// InputSetList is the input sets and overlays of a pipeline.
type InputSetList struct {
	InputSets []InputSet `json:"inputSets" nullable:"false"`
}

// Reconcile is the body of a reconciliation.
type Reconcile struct {
	DryRun bool `json:"dryRun,omitempty" doc:"Say what would be dropped, and store nothing"`
}

// Reconciled is an input set without what its pipeline no longer has.
type Reconciled struct {
	Kind    ref.Kind       `json:"kind"`
	ID      string         `json:"id"`
	Version int64          `json:"version"`
	Before  string         `json:"before" doc:"The document as it was"`
	After   string         `json:"after" doc:"The document without what was dropped"`
	Dropped []fault.Detail `json:"dropped" nullable:"false" doc:"Places in the document as it was"`
}

func (s *Server) inputs() {
	tags := []string{"Inputs"}
	handle(s, action.PipelineView, huma.Operation{
		OperationID: "getInputs", Method: http.MethodGet, Path: "/v1/pipelines/{pipeline}/inputs", Tags: tags,
		Summary: "Say what a run of a pipeline asks for",
	}, inTurn(s, s.saved.getInputs))
	handle(s, action.PipelineView, huma.Operation{
		OperationID: "mergeInputs", Method: http.MethodPost, Path: "/v1/pipelines/{pipeline}/inputs:merge", Tags: tags,
		Summary: "Show a pipeline with inputs as a run would have it, and start nothing",
	}, inTurn(s, s.saved.mergeInputs))
	handle(s, action.InputSetView, huma.Operation{
		OperationID: "listInputSets", Method: http.MethodGet, Path: "/v1/pipelines/{pipeline}/input-sets", Tags: tags,
		Summary: "List the input sets and overlays of a pipeline, and say which fit it",
	}, inTurn(s, s.saved.listInputSets))
	handle(s, action.InputSetEdit, huma.Operation{
		OperationID: "reconcileInputSet", Method: http.MethodPost, Path: "/v1/pipelines/{pipeline}/input-sets/{id}/reconcile", Tags: tags,
		Summary: "Drop from an input set what its pipeline no longer has",
	}, inTurn(s, s.saved.reconcileInputSet))
}

func (s *documents) getInputs(ctx context.Context, in *OfPipeline) (*struct{ Body PipelineInputs }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	form, found, err := s.Launch.InputForm(ctx, scope, in.Pipeline)
	if err != nil {
		return nil, err
	}
	out := PipelineInputs{YAML: string(form), Inputs: make([]input.Question, len(found))}
	for i, r := range found {
		out.Inputs[i] = r.Question()
	}
	return &struct{ Body PipelineInputs }{out}, nil
}

func (s *documents) mergeInputs(ctx context.Context, in *struct {
	OfPipeline
	Body StartExecution `required:"false"`
}) (*struct{ Body MergedInputs }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	given, err := in.Body.inputs()
	if err != nil {
		return nil, err
	}
	m, err := s.Launch.Preview(ctx, scope, in.Pipeline, given)
	if err != nil {
		return nil, err
	}
	return &struct{ Body MergedInputs }{MergedInputs{
		YAML: string(input.Text(string(ref.Pipeline), m.Inputs)), Pipeline: string(input.Text(string(ref.Pipeline), m.Doc)),
		Values: list(m.Values), Missing: list(m.Missing), Wrong: list(m.Wrong), Warnings: list(m.Warnings),
	}}, nil
}

func (s *documents) listInputSets(ctx context.Context, in *OfPipeline) (*struct{ Body InputSetList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	reports, err := s.Catalog.InputSets(ctx, scope, in.Pipeline)
	if err != nil {
		return nil, err
	}
	out := InputSetList{InputSets: make([]InputSet, len(reports))}
	for i, r := range reports {
		out.InputSets[i] = inputSetOf(r)
	}
	return &struct{ Body InputSetList }{out}, nil
}

func inputSetOf(r catalog.SetReport) InputSet {
	return InputSet{
		Kind: r.Key.Kind, ID: r.Key.ID, Name: r.Name, Version: r.Version, Valid: len(r.Wrong) == 0, Wrong: list(r.Wrong),
	}
}

func (s *documents) reconcileInputSet(ctx context.Context, in *struct {
	OfPipeline
	ID   string    `path:"id" maxLength:"128" doc:"Of the input set or the overlay"`
	Body Reconcile `required:"false"`
}) (*struct{ Body Reconciled }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.Catalog.Reconcile(ctx, scope, in.Pipeline, in.ID, !in.Body.DryRun, author(ctx))
	if err != nil {
		return nil, err
	}
	return &struct{ Body Reconciled }{Reconciled{
		Kind: r.Key.Kind, ID: r.Key.ID, Version: r.Version, Before: r.Before, After: r.After, Dropped: list(r.Dropped),
	}}, nil
}

// StartExecution is the body of a start. Where several fields have a value
// for an input, the later field wins.
type StartExecution struct {
	InputSets  []string          `json:"inputSets,omitempty" nullable:"false" maxItems:"100" doc:"Identifiers of input sets and overlays of the pipeline; the later wins"`
	InputsYAML string            `json:"inputsYaml,omitempty" doc:"Values of runtime inputs as YAML, a part of the pipeline's document"`
	Inputs     map[string]string `json:"inputs,omitempty" doc:"Values of runtime inputs by path, e.g. pipeline.variables.image"`
	Stages     []string          `json:"stages,omitempty" nullable:"false" maxItems:"1000" doc:"Identifiers of the only stages to run; the pipeline must have allowStageExecutions"`
	Values     map[string]string `json:"expressionValues,omitempty" doc:"Values of expressions that name stages which don't run, e.g. <+pipeline.stages.build.variables.tag>"`
	Override   string            `json:"overrideFreeze,omitempty" maxLength:"1000" doc:"Why it runs in spite of the deployment freezes that the caller may override: those of scopes that its token covers. It is kept with the execution and in the audit trail"`
}

func (in StartExecution) inputs() (launch.Inputs, error) {
	doc, err := launch.InputDocument("inputs", []byte(in.InputsYAML))
	return launch.Inputs{Sets: in.InputSets, Document: doc, Values: in.Inputs}, err
}
