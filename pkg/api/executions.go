package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/live"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
)

// Execution is one run of a pipeline.
type Execution struct {
	ID        string         `json:"id"`
	Org       string         `json:"org,omitempty"`
	Project   string         `json:"project,omitempty"`
	Pipeline  string         `json:"pipeline" doc:"The pipeline's identifier"`
	Name      string         `json:"name" doc:"The pipeline's name"`
	Sequence  int64          `json:"sequence" doc:"1 for the pipeline's first execution"`
	Status    plan.Status    `json:"status"`
	Message   string         `json:"message,omitempty" doc:"Why it failed"`
	Inputs    string         `json:"inputs,omitempty" doc:"The values of its runtime inputs, as YAML with the root key pipeline. Lists leave it out"`
	InputSets []string       `json:"inputSets,omitempty" nullable:"false" doc:"The input sets and overlays that it was started with"`
	Warnings  []fault.Detail `json:"warnings,omitempty" nullable:"false" doc:"Values that had no place in the pipeline, and what policies warn of. Lists leave them out"`
	Actor     string         `json:"actor" doc:"Who started it"`
	RetryOf   string         `json:"retryOf,omitempty" doc:"The execution that this one repeats"`
	Undoes    string         `json:"rollbackOf,omitempty" doc:"The execution that this one rolls back"`
	From      string         `json:"fromStage,omitempty" doc:"The stage from which it goes on where that one failed"`
	Stages    []string       `json:"stages,omitempty" nullable:"false" doc:"The only stages that it runs, if not all"`
	Parent    string         `json:"parent,omitempty" doc:"The execution whose Pipeline stage started this one"`
	Override  string         `json:"overrideFreeze,omitempty" doc:"Why it runs in spite of deployment freezes"`
	Preview   bool           `json:"preview,omitempty" doc:"It only compares what the pipeline would deploy with what there is; no list has it"`
	StartedAt time.Time      `json:"startedAt"`
	EndedAt   time.Time      `json:"endedAt,omitzero"`
}

// ExecutionTree is an execution with what has become of its nodes.
type ExecutionTree struct {
	Execution
	Root      *execution.TreeNode `json:"root"`
	Templates []UsedTemplate      `json:"templates,omitempty" nullable:"false" doc:"The versions that it is made of"`
}

// UsedTemplate is a version of a template as it was when an execution started.
type UsedTemplate struct {
	Template string `json:"template" doc:"e.g. org.build@v1"`
	Version  int64  `json:"version" doc:"How often the template's version had been saved"`
}

func executionOf(e store.Execution) (Execution, error) {
	out := Execution{
		ID: e.ID, Org: e.Scope.Org, Project: e.Scope.Project, Pipeline: e.Pipeline, Name: e.Name, Sequence: e.Sequence,
		Status: e.Shown(), Message: e.Message, Actor: e.Actor, RetryOf: e.RetryOf, Undoes: e.RollbackOf, Parent: e.Parent.Execution, Preview: e.Preview, StartedAt: e.StartedAt, EndedAt: e.EndedAt,
	}
	given, err := launch.GivenTo(e)
	out.Inputs, out.InputSets, out.Warnings, out.Stages = given.YAML, given.Sets, given.Warnings, given.Stages
	if e.Override != nil {
		out.Override = e.Override.Reason
	}
	if e.Resume != nil {
		out.From = e.Resume.Stage
	}
	return out, err
}

// executionAnswer is the answer of what changes or starts an execution.
type executionAnswer struct{ Body Execution }

func answer(e store.Execution, err error) (*executionAnswer, error) {
	if err != nil {
		return nil, err
	}
	body, err := executionOf(e)
	return &executionAnswer{Body: body}, err
}

// OfExecution names an execution in the path.
type OfExecution struct {
	ID string `path:"execution" maxLength:"128" doc:"The execution's id"`
}

// about is the pipeline. An execution outside the token's scope is as good as
// none.
func (in OfExecution) about(ctx context.Context, s *Server) (right.Resource, error) {
	e, err := s.Store.Execution(ctx, in.ID)
	if err == nil && !caller(ctx).Scope.Covers(e.Scope) {
		err = notFound("no execution %q", in.ID)
	}
	return right.Resource{Scope: e.Scope, ID: e.Pipeline}, err
}

func (s *Server) executions() {
	tags := []string{"Executions"}
	handle(s, action.PipelineRun, huma.Operation{
		OperationID: "startExecution", Method: http.MethodPost, Path: "/v1/pipelines/{pipeline}/executions", Tags: tags,
		Summary: "Run a pipeline",
	}, inTurn(s, s.steering.startExecution))
	handle(s, action.PipelineRun, huma.Operation{
		OperationID: "planExecution", Method: http.MethodPost, Path: "/v1/pipelines/{pipeline}/plan", Tags: tags,
		Summary: "Say what a run of a pipeline would do, and start nothing",
	}, inTurn(s, s.steering.planExecution))
	handle(s, action.PipelineView, huma.Operation{
		OperationID: "previewExecution", Method: http.MethodPost, Path: "/v1/pipelines/{pipeline}/preview", Tags: tags,
		Summary: "Have delegates compare what a run of a pipeline would deploy with what there is, and change nothing",
	}, inTurn(s, s.steering.previewExecution))
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "getDifferences", Method: http.MethodGet, Path: "/v1/executions/{execution}/differences", Tags: tags,
		Summary: "Get what a preview has found out so far",
	}, inTurn(s, s.steering.getDifferences))
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "listExecutions", Method: http.MethodGet, Path: "/v1/executions", Tags: tags,
		Summary: "List executions, newest first",
	}, s.steering.listExecutions)
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "getExecution", Method: http.MethodGet, Path: "/v1/executions/{execution}", Tags: tags,
		Summary: "Get an execution with its nodes",
	}, s.steering.getExecution)
	handle(s, action.ExecutionAbort, huma.Operation{
		OperationID: "abortExecution", Method: http.MethodPost, Path: "/v1/executions/{execution}/abort", Tags: tags,
		Summary: "End an execution without rolling anything back",
	}, s.steering.abortExecution)
	handle(s, action.ExecutionSteer, huma.Operation{
		OperationID: "pauseExecution", Method: http.MethodPost, Path: "/v1/executions/{execution}/pause", Tags: tags,
		Summary: "Let an execution start nothing new",
	}, s.steering.pauseExecution)
	handle(s, action.ExecutionSteer, huma.Operation{
		OperationID: "resumeExecution", Method: http.MethodPost, Path: "/v1/executions/{execution}/resume", Tags: tags,
		Summary: "Let a paused execution go on",
	}, inTurn(s, s.steering.resumeExecution))
	handle(s, action.PipelineRun, huma.Operation{
		OperationID: "retryExecution", Method: http.MethodPost, Path: "/v1/executions/{execution}/retry", Tags: tags,
		Summary: "Run the pipeline again with the same inputs, as a whole or from a stage on",
	}, inTurn(s, s.steering.retryExecution))
	handle(s, action.ExecutionRollback, huma.Operation{
		OperationID: "rollbackExecution", Method: http.MethodPost, Path: "/v1/executions/{execution}/rollback", Tags: tags,
		Summary: "Roll an execution back that succeeded: the rollback steps of its stages run in reverse, as an execution of their own",
	}, inTurn(s, s.steering.rollbackExecution))
	handle(s, action.EnvironmentRollback, huma.Operation{
		OperationID: "rollbackService", Method: http.MethodPost, Path: "/v1/services/{service}/rollback", Tags: tags,
		Summary: "Roll the execution back that has deployed what a service runs in an environment",
	}, inTurn(s, s.rollbackService))
}

// start is what a caller asks of a pipeline, but for the key.
func (in OfPipeline) start(ctx context.Context, body StartExecution) (launch.Request, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return launch.Request{}, err
	}
	inputs, err := body.inputs()
	return launch.Request{
		Scope: scope, Pipeline: in.Pipeline, Inputs: inputs, By: author(ctx), Stages: body.Stages, Values: body.Values, Within: caller(ctx).Scope, As: asker(ctx).Acting(), Override: body.Override,
	}, err
}

// steering starts executions, shows them and takes what people decide on them.
type steering struct {
	Store      store.Store
	Launch     *launch.Launcher
	Executions *execution.Service
	Feed       *Feed
	Work       *Work
	Now        func() time.Time
	Log        *slog.Logger
	saved      *documents
	kept       kept
}

func (s *steering) startExecution(ctx context.Context, in *struct {
	OfPipeline
	Keyed
	Body    StartExecution `required:"false"`
	RawBody []byte
}) (*executionAnswer, error) {
	r, err := in.start(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	body, err := once(ctx, s.kept, in.Keyed, in.RawBody, fmt.Sprint("startExecution ", r.Scope, in.Pipeline), func(key string) (Execution, error) {
		r.Key = key
		e, err := s.Launch.Start(ctx, r)
		if err != nil {
			return Execution{}, err
		}
		return executionOf(e)
	})
	return &executionAnswer{Body: body}, err
}

// Plan is what a run of a pipeline would do.
type Plan struct {
	Pipeline string               `json:"pipeline"`
	Hash     string               `json:"hash" doc:"Of the plan; a run with the same inputs has the same"`
	Warnings []fault.Detail       `json:"warnings" nullable:"false" doc:"Values that had no place in the pipeline"`
	Refused  []execution.Frozen   `json:"refused,omitempty" nullable:"false" doc:"The deployment freezes that a start would be refused for"`
	Root     *execution.Rehearsed `json:"root"`
}

func (s *steering) planExecution(ctx context.Context, in *struct {
	OfPipeline
	OfPart
	At   time.Time      `query:"at" doc:"When it would start, for deployment freezes; absent: now"`
	Body StartExecution `required:"false"`
}) (*struct{ Body Plan }, error) {
	r, err := in.start(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	if in.At.IsZero() {
		in.At = s.Now()
	}
	p, err := s.Executions.Rehearse(ctx, r, in.At, in.part())
	return &struct{ Body Plan }{Plan{Pipeline: p.Pipeline, Hash: p.Hash, Warnings: p.Warnings, Refused: p.Refused, Root: p.Root}}, err
}

// ExecutionList is a part of the list of executions.
type ExecutionList struct {
	Executions    []Execution `json:"executions" nullable:"false"`
	NextPageToken string      `json:"nextPageToken,omitempty"`
}

// listsExecutions is a request for executions, of which some may be seen.
type listsExecutions struct {
	Scoped
	Paged
	Pipeline string    `query:"pipeline" maxLength:"128" doc:"Only those of this pipeline"`
	Status   []string  `query:"status" maxItems:"20" doc:"Only those with one of these statuses, e.g. Failed,Aborted. A part of such a list may be short, or empty, although more follow"`
	Since    time.Time `query:"since" doc:"Only those that began then or later"`
}

func (in *listsExecutions) about(ctx context.Context, s *Server) (right.Resource, error) {
	return someOf(in.Scoped.about(ctx, s))
}

func (s *steering) listExecutions(ctx context.Context, in *listsExecutions) (*struct{ Body ExecutionList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	wanted := store.ExecutionFilter{Scope: scope, Pipeline: in.Pipeline, Since: in.Since}
	if wanted.Statuses, err = statuses(in.Status); err != nil {
		return nil, err
	}
	list, next, err := visible(ctx, in.page(), action.ExecutionView, live.Resource, func(page store.Page) ([]store.Execution, string, error) {
		return s.Store.ListExecutions(ctx, wanted, page)
	})
	if err == nil && len(list) == 0 && next == "" && scope.Project != "" {
		err = s.saved.exists(ctx, scope, ref.Pipeline, in.Pipeline)
	}
	if err != nil {
		return nil, err
	}
	out := ExecutionList{Executions: make([]Execution, len(list)), NextPageToken: next}
	for i, e := range list {
		if out.Executions[i], err = executionOf(e); err != nil {
			return nil, err
		}
		out.Executions[i].Inputs, out.Executions[i].Warnings = "", nil
	}
	return &struct{ Body ExecutionList }{out}, nil
}

// statuses reads the statuses of a query.
func statuses(words []string) ([]plan.Status, error) {
	var out []plan.Status
	for _, word := range words {
		one := plan.Status(word)
		if !slices.Contains(plan.Statuses(), one) {
			return nil, invalid("status %q isn't one of %s", word, plan.StatusNames())
		}
		out = append(out, one)
	}
	return out, nil
}

// OfPart says in the query which nodes are wanted, where there are more than an
// answer has room for.
type OfPart struct {
	Node string `query:"node" maxLength:"2048" doc:"Only this node and what is below it: its id, or its identifier where only one node has it"`
	From int    `query:"from" minimum:"0" doc:"Of that node's children those from this index on: hidden.from of the answer before; none means all"`
}

func (p OfPart) part() execution.Part { return execution.Part{Node: p.Node, From: p.From} }

func (s *steering) getExecution(ctx context.Context, in *struct {
	OfExecution
	OfPart
	Status []string `query:"status" maxItems:"20" doc:"Only nodes with one of these statuses, and those above them, e.g. Failed,ApprovalWaiting. Those that wait for a delegate count as Running"`
	Wait   int      `query:"wait" minimum:"0" maximum:"60" doc:"Wait so many seconds for the execution's end, then tell how it stands. The answer may come earlier, as on AWS it always does: ask again, after a pause then"`
}) (*struct{ Body ExecutionTree }, error) {
	part := in.part()
	var err error
	if part.Status, err = statuses(in.Status); err != nil {
		return nil, err
	}
	if err := s.awaitEnd(ctx, in.ID, time.Duration(in.Wait)*time.Second); err != nil {
		return nil, err
	}
	leave, err := s.Work.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	tree, err := s.tree(ctx, in.ID, part)
	return &struct{ Body ExecutionTree }{tree}, err
}

// awaitEnd waits for an execution's end, for some time, out of turn: each look
// is at one record.
func (s *steering) awaitEnd(ctx context.Context, id string, most time.Duration) error {
	if most == 0 {
		return nil
	}
	changed, stop := s.Feed.Follow(id)
	defer stop()
	deadline := time.NewTimer(most)
	defer deadline.Stop()
	for waiting := true; waiting; {
		if e, err := s.Store.Execution(ctx, id); err != nil || e.Status.Terminal() {
			return err
		}
		select {
		case _, waiting = <-changed:
		case <-deadline.C:
			waiting = false
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, err := s.goesOn(ctx)
	return err
}

// goesOn says whether an answer that takes long may still be given: its caller's token
// wasn't revoked, the session goes on, and no IP allow list keeps that one out by now. It gives the caller as
// of now.
func (s *steering) goesOn(ctx context.Context) (grants.Caller, error) {
	t, err := access.Recheck(ctx, s.Store.Keys, access.MadeOf(caller(ctx)), s.Now())
	if err != nil {
		return grants.Caller{}, err
	}
	now := asker(ctx).Now()
	if _, err := now.Open(ctx, t, s.Now()); err != nil {
		return grants.Caller{}, err
	}
	return now, now.Admitted(ctx)
}

func (s *steering) abortExecution(ctx context.Context, in *OfExecution) (*executionAnswer, error) {
	return answer(s.Executions.Abort(ctx, in.ID, author(ctx)))
}

func (s *steering) pauseExecution(ctx context.Context, in *OfExecution) (*executionAnswer, error) {
	return answer(s.Executions.Pause(ctx, in.ID, author(ctx)))
}

func (s *steering) resumeExecution(ctx context.Context, in *OfExecution) (*executionAnswer, error) {
	return answer(s.Executions.Resume(ctx, in.ID, author(ctx)))
}

// Retry is the body of a repetition.
type Retry struct {
	FromStage  string `json:"fromStage,omitempty" maxLength:"128" doc:"The stage from which to go on; what came before it isn't run again"`
	FromFailed bool   `json:"fromFailed,omitempty" doc:"Go on from the first stage that failed"`
	All        bool   `json:"all,omitempty" doc:"Of parallel stages repeat those that ended well, too"`
	Override   string `json:"overrideFreeze,omitempty" maxLength:"1000" doc:"Why it runs in spite of deployment freezes, as at a start; that of the first execution doesn't count again"`
}

func (s *steering) retryExecution(ctx context.Context, in *struct {
	OfExecution
	Keyed
	Body *Retry
}) (*executionAnswer, error) {
	var asked Retry
	if in.Body != nil {
		asked = *in.Body
	}
	body, err := once(ctx, s.kept, in.Keyed, fmt.Append(nil, asked), "retryExecution "+in.ID, func(key string) (Execution, error) {
		r := execution.RetryRequest{
			From: asked.FromStage, FromFailed: asked.FromFailed, All: asked.All, By: author(ctx), Key: key, Within: caller(ctx).Scope, Override: asked.Override, As: asker(ctx).Acting(),
		}
		e, err := s.Executions.Retry(ctx, in.ID, r)
		if err != nil {
			return Execution{}, err
		}
		return executionOf(e)
	})
	return &executionAnswer{Body: body}, err
}

func (s *steering) rollbackExecution(ctx context.Context, in *struct {
	OfExecution
	Keyed
}) (*executionAnswer, error) {
	body, err := once(ctx, s.kept, in.Keyed, nil, "rollbackExecution "+in.ID, func(key string) (Execution, error) {
		e, err := s.Executions.Rollback(ctx, in.ID, execution.RollbackRequest{By: author(ctx), Key: key})
		if err != nil {
			return Execution{}, err
		}
		return executionOf(e)
	})
	return &executionAnswer{Body: body}, err
}

// RollbackPlace says what of a service to roll back.
type RollbackPlace struct {
	Environment    string `json:"environment" minLength:"1" maxLength:"128" doc:"As stages name it, e.g. prod or account.prod"`
	Infrastructure string `json:"infrastructure,omitempty" maxLength:"128" doc:"Needed where several executions have deployed to the environment"`
}

// rollsBack is a request to roll back what a service runs somewhere.
type rollsBack struct {
	OfService
	Keyed
	Body    RollbackPlace
	RawBody []byte
}

// about is the environment, wherever it is: the stages of the service's
// project name it.
func (in *rollsBack) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Scope: scope, ID: in.Body.Environment}, err
}

func (s *Server) rollbackService(ctx context.Context, in *rollsBack) (*executionAnswer, error) {
	scope, err := in.known(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := asker(ctx).Allow(ctx, action.PipelineRun, right.Resource{Scope: scope}); err != nil {
		return nil, err // which pipeline it is says what runs there
	}
	at := execution.Place{Service: in.Service, Environment: in.Body.Environment, Infrastructure: in.Body.Infrastructure}
	body, err := once(ctx, s.kept, in.Keyed, in.RawBody, fmt.Sprint("rollbackService ", scope, in.Service), func(key string) (Execution, error) {
		e, err := s.Executions.RollbackPlace(ctx, scope, at, execution.RollbackRequest{By: author(ctx), Key: key})
		if err != nil {
			return Execution{}, err
		}
		return executionOf(e)
	})
	return &executionAnswer{Body: body}, err
}

// tree reads an execution with the nodes that are wanted.
func (s *steering) tree(ctx context.Context, id string, part execution.Part) (ExecutionTree, error) {
	t, err := s.Executions.Describe(ctx, id, part)
	if err != nil {
		return ExecutionTree{}, err
	}
	return treeOf(t)
}

func treeOf(t execution.Tree) (ExecutionTree, error) {
	e, err := executionOf(t.Execution)
	e.Status = t.Status
	out := ExecutionTree{Execution: e, Root: t.Root}
	for _, u := range t.Templates {
		out.Templates = append(out.Templates, UsedTemplate{
			Template: template.Name(ref.Ref{Scope: u.Scope, ID: u.ID}, u.Version), Version: u.Revision,
		})
	}
	return out, err
}
