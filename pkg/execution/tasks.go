package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/dispatch"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/logstream"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// TasksConfig is what Tasks needs.
type TasksConfig struct {
	Store  store.Store
	Engine *engine.Handler
	Types  entity.Types // of documents
	Secret *secret.Keeper
	Issuer *issuer.Issuer // of the tokens that tasks come with
	Ledger *ledger.Ledger // of what tasks change
	Lease  time.Duration  // of a claimed task; heartbeats renew it
	Now    func() time.Time
	Log    *slog.Logger
}

// Tasks holds the use cases of delegates.
type Tasks struct{ TasksConfig }

// NewTasks makes a Tasks.
func NewTasks(cfg TasksConfig) *Tasks { return &Tasks{TasksConfig: cfg} }

// A claim looks at so many open tasks and, as long as none is for the delegate,
// at as many more, so many times: the oldest may be those that nobody can take.
const (
	scanned      = 200
	scannedParts = 25
)

// ClaimTasks gives a delegate open tasks that it may take, with the secrets
// that they need.
func (s *Tasks) ClaimTasks(ctx context.Context, d store.Delegate, c protocol.Claim) ([]task.Assignment, error) {
	if c.Quiet > 0 { // it stands for a heartbeat
		beat := store.Beat{At: s.Now(), Running: c.Running, Quiet: min(c.Quiet, dispatch.LongestQuiet), Line: c.Line}
		if err := s.Store.BeatDelegate(ctx, d.Scope.Account, d.ID, beat); err != nil {
			return nil, err
		}
	}
	if err := s.disown(ctx, d, c.Lost); err != nil {
		return nil, err
	}
	if err := s.replace(ctx, d, c.Replaces); err != nil {
		return nil, err
	}
	if c.Max <= 0 || d.Draining {
		return nil, nil
	}
	d.Running, d.LastSeen = c.Running, s.Now()
	claimed, err := s.take(ctx, d, c)
	if err != nil || len(claimed) == 0 {
		return nil, err
	}
	out := make([]task.Assignment, 0, len(claimed))
	var returned []store.Task
	for _, t := range claimed {
		a, err := s.assignment(ctx, t)
		if err != nil {
			if s.unopened(ctx, d, t, err) {
				returned = append(returned, t)
			}
			continue
		}
		out = append(out, a)
		s.Engine.Changed(t.Execution) // its step is no longer TaskWaiting
	}
	if len(returned) > 0 && len(out) == 0 { // the delegate asks again, each time later
		return nil, fault.New(fault.Unavailable, "the secrets of %d claimed tasks can't be opened now", len(returned))
	}
	for _, t := range returned {
		s.Engine.Waker.Wake(ctx, t.Scope)
	}
	return out, nil
}

// take claims open tasks for a delegate. What an earlier copy of the same claim
// has got is given with them: something on the way may have sent it twice, and
// the delegate hears one answer.
func (s *Tasks) take(ctx context.Context, d store.Delegate, c protocol.Claim) ([]store.Task, error) {
	ids, err := s.openFor(ctx, d, c.Max)
	if err != nil {
		return nil, err
	}
	var claimed []store.Task
	if len(ids) > 0 {
		if claimed, err = s.Store.ClaimTasks(ctx, d.ID, c.Number, ids, s.Now().Add(s.Lease)); err != nil {
			return nil, err
		}
	}
	if c.Number == 0 || len(claimed) >= c.Max {
		return claimed, nil
	}
	held, err := s.Store.DelegateTasks(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range held {
		if t.Claim != c.Number || slices.ContainsFunc(claimed, func(o store.Task) bool { return o.ID == t.ID }) {
			continue
		}
		if t, err = s.Store.Task(ctx, t.ID); err != nil {
			return nil, err
		}
		if t.Status == store.TaskClaimed && t.Delegate == d.ID && t.Claim == c.Number {
			claimed = append(claimed, t)
		}
	}
	return claimed, nil
}

const (
	// mostClaims is how often a task is claimed before it ends although nobody has
	// begun it: its secrets can't be opened, or it never reaches its delegate. One
	// delegate comes as often in about eight minutes.
	mostClaims = 20
	// returnWithin bounds giving a task back, in case the delegate has hung up.
	returnWithin = 10 * time.Second
)

// unopened does away with a claimed task whose secrets can't be opened: it is
// given back if that may pass, such as a throttled call, else it has ended. The
// other claimed tasks go to the delegate, whatever becomes of this one.
func (s *Tasks) unopened(ctx context.Context, d store.Delegate, t store.Task, why error) (returned bool) {
	if !passing(why) || t.Fence >= mostClaims {
		err := s.refuse(ctx, d, t, why)
		if err == nil {
			return false
		}
		why = errors.Join(why, err)
	}
	s.Log.WarnContext(ctx, "can't open the secrets of a task; it is given back", "execution", t.Execution, "node", t.Node, "task", t.ID, "error", why)
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), returnWithin)
	defer stop()
	if err := s.Store.ReleaseTask(ctx, t.ID, d.ID, t.Fence); err != nil {
		s.Log.WarnContext(ctx, "can't give a task back; its lease will end", "execution", t.Execution, "node", t.Node, "task", t.ID, "error", err)
		return false
	}
	return true
}

// passing says whether an error may be gone at the next try.
func passing(err error) bool {
	return fault.Passing(err) && !errors.Is(err, secret.ErrDamaged)
}

// openFor finds open tasks that a delegate may take, at most so many.
func (s *Tasks) openFor(ctx context.Context, d store.Delegate, most int) ([]task.ID, error) {
	var ids []task.ID
	page := store.Page{Limit: scanned}
	for range scannedParts {
		open, next, err := s.Store.OpenTasks(ctx, d.Scope.Account, page)
		if err != nil {
			return nil, err
		}
		for _, t := range open {
			if len(ids) < most && dispatch.Eligible(t, d, s.Now()) {
				ids = append(ids, t.ID)
			}
		}
		if page.Token = next; len(ids) > 0 || next == "" {
			break
		}
	}
	return ids, nil
}

// assignment opens a claimed task's secrets and signs its tokens.
func (s *Tasks) assignment(ctx context.Context, t store.Task) (task.Assignment, error) {
	a := task.Assignment{
		ID: t.ID, Fence: t.Fence, Kind: t.Kind, Payload: t.Payload, LateSecrets: t.LateSecrets, LateTexts: t.LateTexts, Timeout: t.Timeout - s.Now().Sub(t.CreatedAt), Lease: s.Lease,
		LogStream: t.LogStream, Execution: t.Execution, Node: string(t.Node), Attempt: t.Attempt, Traceparent: t.Traceparent,
	}
	a.Timeout = max(a.Timeout, time.Second)
	values, err := s.Secret.RevealAll(ctx, t.Scope, t.Secrets)
	if err != nil {
		return a, err
	}
	a.Secrets = values
	a.Tokens, err = s.Issuer.SignAll(ctx, t.Identities, t.ID)
	return a, err
}

// FreshToken signs an identity of a task anew, for the delegate that holds the
// task.
func (s *Tasks) FreshToken(ctx context.Context, d store.Delegate, id task.ID, r protocol.FreshToken) (task.IdentityToken, error) {
	t, err := s.held(ctx, d, id, r.Fence)
	if err != nil {
		return task.IdentityToken{}, err
	}
	identity, ok := t.Identities[r.Identity]
	if !ok {
		return task.IdentityToken{}, fault.New(fault.NotFound, "task %s came with no token of %.64q", id, r.Identity)
	}
	return s.Issuer.Sign(ctx, identity, id)
}

// refuse ends a task whose secrets can't be opened, as its delegate would.
func (s *Tasks) refuse(ctx context.Context, d store.Delegate, t store.Task, why error) error {
	return s.complete(ctx, d, t.ID, protocol.Report{Fence: t.Fence, Result: task.Result{
		Status: task.Errored, Message: why.Error(), FailureTypes: fault.Failures(why),
	}}, s.Engine.AskAfter)
}

// CompleteTask stores a delegate's result and lets the execution go on. The
// same result may come twice; one for a lost lease is fault.LeaseLost.
func (s *Tasks) CompleteTask(ctx context.Context, d store.Delegate, id task.ID, r protocol.Report) error {
	return s.complete(ctx, d, id, r, s.Engine.EndTask)
}

// complete stores a result and has the task's wait ended: by who decides what
// comes next, or by who ends tasks that he finds and leaves that to their runs.
func (s *Tasks) complete(ctx context.Context, d store.Delegate, id task.ID, r protocol.Report, end func(context.Context, store.Task) error) error {
	result, err := s.sealOutputs(ctx, d, id, r)
	if err != nil {
		return err
	}
	t, err := s.Store.CompleteTask(ctx, id, d.ID, r.Fence, result)
	if err != nil {
		return err
	}
	if err := s.Ledger.Settle(ctx, id, *t.Result); err != nil {
		return err // the delegate reports again
	}
	if err := end(ctx, t); err != nil {
		return fmt.Errorf("end the wait for task %s: %w", id, err)
	}
	return nil
}

// sealOutputs encrypts the outputs that must not be read, and leaves a
// reference to each in its place.
//
// A reference that the delegate wrote itself is refused: it could name any
// secret, and the next step would be given its value.
//
// Of a task that the delegate doesn't hold nothing is kept: the store refuses
// the result, or has one already whose outputs the next steps read.
func (s *Tasks) sealOutputs(ctx context.Context, d store.Delegate, id task.ID, report protocol.Report) (task.Result, error) {
	r := report.Result
	if forged, err := plan.NamesSecret(r.Outputs); err != nil || forged {
		return task.Result{
			Status: task.Errored, FailureTypes: []fault.FailureType{fault.Unknown},
			Message: fmt.Sprintf("the outputs aren't JSON or have a key %s, which no step may write", plan.SecretKey),
		}, nil
	}
	if len(r.SecretOutputs) == 0 {
		return r, nil
	}
	t, err := s.held(ctx, d, id, report.Fence)
	if fault.Is(err, fault.LeaseLost) {
		r.SecretOutputs = nil
		return r, nil
	}
	if err != nil {
		return task.Result{}, err
	}
	var outputs map[string]any
	if len(r.Outputs) > 0 {
		if err := json.Unmarshal(r.Outputs, &outputs); err != nil {
			return task.Result{}, fault.New(fault.Invalid, "outputs aren't a JSON object: %w", err)
		}
	}
	for path, value := range r.SecretOutputs {
		name, err := s.Secret.Keep(ctx, t.Scope, fmt.Sprintf("%s/%d/%s", id, t.Fence, path), value)
		if err != nil {
			return task.Result{}, err
		}
		if outputs, err = setSecret(outputs, path, name); err != nil {
			return task.Result{}, err
		}
	}
	r.SecretOutputs = nil
	if r.Outputs, err = json.Marshal(outputs); err != nil {
		return task.Result{}, fmt.Errorf("encode outputs: %w", err)
	}
	return r, nil
}

// Heartbeat renews what a delegate holds and lists what it must stop.
func (s *Tasks) Heartbeat(ctx context.Context, d store.Delegate, h protocol.Heartbeat) (protocol.HeartbeatAnswer, error) {
	beat := store.Beat{At: s.Now(), Running: len(h.Running), Draining: h.Draining, Quiet: min(h.Quiet, dispatch.LongestQuiet), Line: h.Line}
	if err := s.Store.BeatDelegate(ctx, d.Scope.Account, d.ID, beat); err != nil {
		return protocol.HeartbeatAnswer{}, err
	}
	var out protocol.HeartbeatAnswer
	for _, held := range h.Running {
		t, err := s.Store.RenewTask(ctx, held.ID, d.ID, held.Fence, s.Now().Add(s.Lease))
		switch {
		case fault.Is(err, fault.LeaseLost) || fault.Is(err, fault.NotFound):
			out.Cancel = append(out.Cancel, held.ID)
		case err != nil:
			return protocol.HeartbeatAnswer{}, err
		case t.Status == store.TaskCancelled:
			out.Cancel = append(out.Cancel, held.ID)
		default:
			if err := s.Engine.KeepAlive(ctx, t.Token); err != nil {
				return protocol.HeartbeatAnswer{}, fmt.Errorf("keep task %s alive: %w", held.ID, err)
			}
		}
	}
	return out, nil
}

// held checks that the delegate still holds a task.
func (s *Tasks) held(ctx context.Context, d store.Delegate, id task.ID, fence int64) (store.Task, error) {
	t, err := s.Store.Task(ctx, id)
	if err != nil {
		return store.Task{}, err
	}
	if t.Status != store.TaskClaimed || t.Delegate != d.ID || t.Fence != fence {
		return store.Task{}, fault.New(fault.LeaseLost, "task %s isn't held by delegate %s with fence %d", id, d.Name, fence)
	}
	return t, nil
}

// AppendLog stores log chunks of a task that the delegate holds or held last.
// Their numbers keep the logs of one step's looks apart, in their order, and those
// of the delegates that a task in a session has had.
func (s *Tasks) AppendLog(ctx context.Context, d store.Delegate, id task.ID, b protocol.LogBatch) error {
	if err := logstream.Check(b.First, b.Chunks); err != nil {
		return err
	}
	t, err := s.Store.Task(ctx, id)
	if err != nil {
		return err
	}
	if t.Delegate != d.ID || t.Fence != b.Fence {
		return fault.New(fault.LeaseLost, "task %s isn't held by delegate %s with fence %d", id, d.Name, b.Fence)
	}
	part := int64(t.Look)
	if t.Machine != "" {
		part = t.Fence - 1
	}
	chunks := make([]store.LogChunk, len(b.Chunks))
	for i, c := range b.Chunks {
		chunks[i] = store.LogChunk{Stream: t.LogStream, Number: t.LogFrom + part*logstream.MaxChunks + b.First + int64(i), Data: c}
	}
	if err := s.Store.AppendLog(ctx, logstream.MaxKept, chunks...); err != nil {
		return err
	}
	s.Engine.Changed(t.Execution)
	return nil
}

// ReleaseTask takes back a task that the delegate hasn't begun.
func (s *Tasks) ReleaseTask(ctx context.Context, d store.Delegate, id task.ID, fence int64) error {
	if err := s.Store.ReleaseTask(ctx, id, d.ID, fence); err != nil {
		return err
	}
	t, err := s.Store.Task(ctx, id)
	if err != nil {
		return err
	}
	s.Engine.Waker.Wake(ctx, t.Scope)
	return nil
}

// Goodbye forgets a delegate that has stopped. Tasks that it still held are
// lost at once rather than when their leases end.
func (s *Tasks) Goodbye(ctx context.Context, d store.Delegate) error {
	tasks, err := s.Store.DelegateTasks(ctx, d.ID)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := s.lose(ctx, d, t, fmt.Sprintf("delegate %s stopped before the task ended", d.Name)); err != nil {
			return err
		}
	}
	return s.Store.DeleteDelegate(ctx, d.Scope.Account, d.ID)
}
