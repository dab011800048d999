package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/trace"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// await begins what the decision at c.At waits for and leaves the token with
// it. Where nothing is to be waited for, it ends the wait itself.
func (h *Handler) await(ctx context.Context, c Call) error {
	c.Token = kept(c)
	for range maxRaces {
		snap, err := h.Reader.snapshot(ctx, c.Execution)
		if err != nil {
			return err
		}
		begins := waits(snap.state(c.At.Node), c.At)
		stays, err := h.awaitOnce(ctx, snap, c)
		if fault.Is(err, fault.StaleVersion) {
			continue
		}
		if err != nil {
			return err
		}
		if !stays && begins {
			return h.end(ctx, ended{execution: c.Execution, at: c.At, token: c.Token, snap: snap})
		}
		if stays {
			// Who changed the execution (an abort, a resume, a step that was marked)
			// before the token was stored couldn't answer it.
			e, err := h.Store.Execution(ctx, c.Execution)
			if err != nil {
				return err
			}
			stays = e.Version == snap.version
		}
		if stays {
			return nil
		}
		return h.waiting.ask(ctx, c.Token, "what it would wait for has changed")
	}
	return fmt.Errorf("lost the race for its state %d times", maxRaces)
}

// awaitOnce says whether there is something to wait for.
func (h *Handler) awaitOnce(ctx context.Context, snap *snapshot, c Call) (bool, error) {
	n := snap.plan.Node(c.At.Node)
	if n == nil {
		return false, fault.New(fault.NotFound, "the plan has no node %s", c.At.Node)
	}
	s := snap.state(n.ID)
	if snap.err != nil {
		return false, snap.err
	}
	switch {
	case !waits(s, c.At) || Answered(s):
		return false, nil // an old invocation, or one that somebody was quicker than
	case snap.execution.Interrupt == store.InterruptAbort:
		return false, nil // nothing begins any more
	}
	s.Left = ""
	if s.Wait == plan.WaitTurn && n.Kind == plan.KindStep {
		return h.passQueue(ctx, snap, n, s, c.Token)
	}
	if s.Wait == plan.WaitChild {
		return h.awaitChild(ctx, snap, n, s, c.Token)
	}
	if s.Wait == plan.WaitWork && n.Type == plan.TypePipeline {
		return false, h.chain(ctx, snap, n, s)
	}
	if s.Wait == plan.WaitBarrier {
		return h.passBarrier(ctx, snap, n, s, c.Token)
	}
	if s.Wait == plan.WaitTurn && n.Kind == plan.KindPipeline {
		return h.passGates(ctx, snap, n, s, c.Token)
	}
	if s.Wait == plan.WaitTurn {
		return h.takeTurn(ctx, snap, n, s, c.Token)
	}
	if s.Wait != plan.WaitWork || !s.Until.IsZero() || s.Approval != nil {
		s.Token = c.Token
		return true, h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
	}
	return h.start(ctx, snap, n, s, c.Token)
}

// Answered says whether what a node waits for has come. It may have before the
// wait began: a person may decide as soon as the status says so, when there is
// no token yet to answer. And it may without the wait ending: who brought it
// may die before the token is answered.
func Answered(s plan.State) bool {
	if s.Wait == plan.WaitInput {
		return s.Answered
	}
	if s.Outcome == nil {
		return false
	}
	return s.Wait == plan.WaitWork || s.Wait == plan.WaitChild || s.Wait == plan.WaitEvent || s.Wait == plan.WaitIntervention && s.Outcome.Decision != ""
}

// start begins a step's own work.
func (h *Handler) start(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, token string) (bool, error) {
	scope := h.Reader.scope(snap.ctx, snap, n, snap.state)
	if refused, err := h.refused(ctx, snap, scope, n, s); err != nil || refused {
		return false, err
	}
	action, err := h.Reader.action(snap, scope, n, s)
	if snap.err != nil {
		return false, snap.err
	}
	waits := false
	switch {
	case err != nil:
		o := failed(err)
		s.Outcome = &o
	case action.Task != nil:
		over, err := h.superseded(ctx, snap, n)
		if err != nil {
			return false, err
		}
		if over == nil {
			return h.createTask(ctx, snap, n, s, action.Task, scope, token)
		}
		s.Outcome = over
	case action.Wait != nil:
		// The machine run must learn how long to wait: that is its next wait.
		s.Status, s.Until, s.Outputs = plan.WaitStepRunning, h.Now().Add(action.Wait.Duration), action.Wait.Outputs
	case action.Approval != nil:
		s.Status, s.Approval = plan.ApprovalWaiting, action.Approval
		if err := snap.bind(s.Approval); err != nil {
			return false, err
		}
		if s, err = h.enrol(ctx, snap, n, s); err != nil {
			return false, err
		}
		if auto := action.Approval.Auto; auto != nil {
			s.Until = auto.At // which the machine run must learn, as above
		} else {
			s.Token, waits = token, true
		}
	case action.Turn != nil:
		return false, h.line(ctx, snap, n, s, *action.Turn)
	case action.Listen != "":
		if s, err = h.listen(ctx, snap, n, s, action.Listen); err != nil {
			return false, err
		}
	case action.Barrier != "":
		s.Wait, s.Status = plan.WaitBarrier, plan.ResourceWaiting // it has come; whether all have is decided next
	case action.Done != nil:
		s.Outcome = action.Done
	}
	return waits, h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
}

// action asks the step's type what to do.
func (r *Reader) action(snap *snapshot, scope *resolve.Scope, n *plan.Node, s plan.State) (step.Action, error) {
	spec, in, err := r.decodeIn(snap, scope, n, s.Attempt)
	if err != nil {
		return step.Action{}, err
	}
	in.Timeout = s.Deadline.Sub(in.Now)
	return r.steps[n.Type].Start(spec, in)
}

// createTask makes the step's delegate task and wakes delegates.
func (h *Handler) createTask(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, work *step.Task, scope *resolve.Scope, token string) (bool, error) {
	payload, err := json.Marshal(work.Payload)
	if err != nil {
		return false, fmt.Errorf("encode the task of %s: %w", n.ID, err)
	}
	late, selectors := scope.LateSecrets(), slices.Clone(work.Selectors)
	for _, p := range late {
		selectors = append(selectors, p.Selectors...)
	}
	e := snap.execution
	timeout := s.Deadline.Sub(h.Now())
	if work.Timeout > 0 {
		timeout = min(timeout, work.Timeout)
	}
	made := store.Task{
		ID: TaskID(e.ID, n.ID, s.Attempt, s.Look), Scope: e.Scope, Execution: e.ID, Node: n.ID, Attempt: s.Attempt, Look: s.Look,
		Kind: work.Kind, Selectors: selectors, Payload: payload, Secrets: scope.Secrets(), LateSecrets: late, LateTexts: scope.LateTexts(), Identities: scope.Identities(),
		Timeout: timeout, LogStream: LogStream(e.ID, n.ID, s.Attempt),
		Token: token, Status: store.TaskOpen, CreatedAt: h.Now(), Traceparent: trace.Parent(e.ID, n.ID), Machine: work.Machine, Tools: work.Tools,
	}
	if e.JudgesSteps {
		made.LogFrom = 1
	}
	if work.Prompt || len(work.Tools) > 0 {
		why, err := snap.hopeless(made)
		if err != nil {
			return false, err
		}
		if why != "" {
			s.Outcome = &plan.Outcome{Status: plan.Failed, Failures: []fault.FailureType{fault.DelegateProvisioning}, Message: why}
			return false, h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
		}
	}
	t, err := h.Store.CreateTask(ctx, made)
	if err != nil {
		return false, err
	}
	switch t.Status {
	case store.TaskOpen:
		h.Waker.Wake(ctx, e.Scope)
		h.Changed(e.ID) // the step is TaskWaiting
		return true, nil
	case store.TaskClaimed:
		return true, nil
	case store.TaskDone, store.TaskCancelled:
	}
	return false, nil
}

// LogStream names the log of a step's attempt.
func LogStream(execution string, n plan.NodeID, attempt int) string {
	return fmt.Sprintf("%s/%s/%d", execution, n, attempt)
}

// decode resolves a step's spec and decodes it with its type.
func (r *Reader) decode(snap *snapshot, n *plan.Node, attempt int) (step.Spec, step.In, error) {
	return r.decodeIn(snap, r.scope(snap.ctx, snap, n, snap.state), n, attempt)
}

func (r *Reader) decodeIn(snap *snapshot, scope *resolve.Scope, n *plan.Node, attempt int) (step.Spec, step.In, error) {
	spec, err := r.spec(scope, n)
	if err != nil {
		return nil, step.In{}, err
	}
	in, err := r.in(snap, scope, n, r.steps[n.Type], attempt)
	return spec, in, err
}

// spec resolves a step's spec in a scope and decodes it.
func (r *Reader) spec(scope *resolve.Scope, n *plan.Node) (step.Spec, error) {
	doc, err := r.resolved(scope, n)
	if err != nil {
		return nil, err
	}
	report := yamldoc.NewReport("").Resolved()
	spec := r.steps[n.Type].Decode(doc, report)
	if err := report.Err(); err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	return spec, nil
}

// resolved is a step's spec with its expressions resolved, but for those that the
// step's type resolves later.
func (r *Reader) resolved(scope *resolve.Scope, n *plan.Node) (*yamldoc.Node, error) {
	t, ok := r.steps[n.Type]
	if !ok {
		return nil, fault.New(fault.Unsupported, "step type %s isn't supported", n.Type)
	}
	doc := specOf(scope)
	if t.Prepare != nil {
		var err error
		if doc, err = t.Prepare(doc); err != nil {
			return nil, err
		}
	}
	return scope.Tree(doc, t.Late)
}

// specOf is the spec of a scope's step, with the inputs that it has asked for.
func specOf(scope *resolve.Scope) *yamldoc.Node { return scope.Doc(scope.Node).Get("spec") }

// in is what the step is told about where it runs.
func (r *Reader) in(snap *snapshot, scope *resolve.Scope, n *plan.Node, t step.Type, attempt int) (step.In, error) {
	selectors, err := scope.Selectors(n.Selectors)
	if err != nil {
		return step.In{}, err
	}
	stage := n.Stage()
	in := step.In{
		Account: snap.execution.Scope.Account, Execution: snap.execution.Origin(), Pipeline: snap.execution.Pipeline,
		Stage: stage.Identifier, StageNode: stage.ID, Node: n.ID, Name: n.Name, Attempt: attempt,
		Rollback: n.InRollback(), Now: r.now(), Selectors: selectors,
		Siblings: stepTypes(stage), Others: func(stepType string) ([]step.Spec, error) { return r.others(snap, stage, stepType) },
		Evaluate: scope.EvaluateWith, Interpolate: scope.InterpolateWith, InterpolateKnown: scope.InterpolateKnown,
		Server: scope.Server, Artifact: scope.Artifact, ArtifactVersions: scope.ArtifactVersions, Chart: scope.Chart,
		Probe: scope.Probe, Store: scope.Store, File: scope.File, SSHKey: scope.SSHKey, Cluster: scope.Cluster,
		AWS: accounts(scope), Provisioned: func(kind task.Kind, identifier, workspace string) ([]step.Provisioned, error) {
			return provisioned(snap, store.ProvisionerKey{Scope: snap.execution.Scope, Kind: kind, Identifier: identifier, Workspace: workspace})
		},
		MailServer: scope.MailServer, UserGroup: scope.UserGroup, ServiceAccount: func(name string) error {
			return resolve.ServiceAccount(snap.ctx, r.store.Entities, snap.execution.Scope, name)
		}, GroupMails: scope.GroupMails,
		Policies: func(sets []string, input any) (policy.Judged, error) {
			return r.policies.Named(snap.ctx, snap.asks(policy.Custom, policy.OnStep, n, attempt), sets, input)
		},
	}
	if t.Session {
		if in.Session, err = sessionOf(r.steps, snap, n, attempt); err != nil {
			return step.In{}, err
		}
	}
	if t.Deploys || t.Service {
		if in.Deployment, err = scope.Deployment(); err != nil {
			return step.In{}, err
		}
	}
	return in, nil
}

// accounts says how accounts of AWS are reached by connectors.
func accounts(scope *resolve.Scope) func(name, region string) (task.AWS, []string, error) {
	return func(name, region string) (task.AWS, []string, error) {
		c, err := scope.Connector(name)
		if err != nil {
			return task.AWS{}, nil, err
		}
		account, err := c.AWS(region)
		return account, c.Selectors, err
	}
}

// provisioned is what executions have done by a provisioner.
func provisioned(snap *snapshot, key store.ProvisionerKey) ([]step.Provisioned, error) {
	all, err := snap.r.store.ListProvisions(snap.ctx, key)
	out := make([]step.Provisioned, len(all))
	for i, p := range all {
		out[i] = step.Provisioned{Execution: p.Execution, Status: p.Status, Place: p.Place}
	}
	return out, err
}

// others are the specs of the steps of a type below a stage, each in its own scope.
func (r *Reader) others(snap *snapshot, n *plan.Node, stepType string) (specs []step.Spec, err error) {
	if n.Kind == plan.KindStep && n.Type == stepType {
		spec, err := r.spec(r.scope(snap.ctx, snap, n, snap.state), n)
		if err != nil {
			return nil, fault.Wrap(err, "step %s", n.Identifier)
		}
		specs = append(specs, spec)
	}
	for _, c := range slices.Concat(n.Children, n.Rollback) {
		more, err := r.others(snap, c, stepType)
		if err != nil {
			return nil, err
		}
		specs = append(specs, more...)
	}
	return specs, nil
}

// stepTypes lists the types of all steps below a stage.
func stepTypes(n *plan.Node) []string {
	var types []string
	if n.Kind == plan.KindStep {
		types = append(types, n.Type)
	}
	for _, list := range [][]*plan.Node{n.Children, n.Rollback} {
		for _, c := range list {
			types = append(types, stepTypes(c)...)
		}
	}
	return types
}

// cancel ends a task that is no longer wanted and tells its delegate.
func (h *Handler) cancel(ctx context.Context, id task.ID) (store.Task, error) {
	t, err := h.Store.CancelTask(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return store.Task{Status: store.TaskCancelled}, nil
	}
	if err == nil && t.Delegate != "" && t.Status == store.TaskCancelled {
		h.Waker.Cancel(ctx, t.Scope.Account, t.Delegate, id)
	}
	return t, err
}
