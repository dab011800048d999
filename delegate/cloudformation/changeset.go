package cloudformation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsdiff"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// shown is a change set that was made to be looked at. CreateStack executes it, and
// nothing else.
type shown struct {
	ID string `json:"id,omitempty"` // empty: there was nothing to change
	// Of is the digest of what the stack was to be.
	Of string `json:"of"`
	// Stack is the id of the stack, Status and Updated how it was then.
	Stack   string            `json:"stack"`
	Status  types.StackStatus `json:"status"`
	Updated time.Time         `json:"updated,omitzero"`
	// Alone says that the stack was made to have the change set.
	Alone bool `json:"alone,omitempty"`
}

// shownKey begins the keys of these checkpoints, of which the newest counts.
const shownKey = "cloudformation:changeset:"

func (s *session) shownKey() string { return shownKey + s.access.Region + ":" + s.spec.Stack + ":" }

// propose makes a change set that CreateStack is to execute, and tells it.
func (s *session) propose(ctx context.Context) (task.Result, error) {
	s.Unit = unitFetch
	want, err := s.wanted(ctx)
	if err != nil {
		return task.Result{}, err
	}
	s.Unit = unitChangeSet
	now, err := s.ready(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if now != nil && now.StackStatus == types.StackStatusRollbackComplete {
		return task.Result{}, fault.New(fault.Conflict, "stack %s is %s: it holds nothing, and no change set can be made of it; delete it, as a DeleteStack step does", s.spec.Stack, now.StackStatus).
			Causing(fault.Unknown)
	}
	if err := updates(now, s.spec.Stack); err != nil {
		return task.Result{}, err
	}
	if err := s.keep(ctx, now); err != nil {
		return task.Result{}, err
	}
	set, changes, err := s.changes(ctx, want, now, "What the step CreateStack executes")
	if err != nil {
		return task.Result{}, err
	}
	made := shown{ID: sdk.ToString(set.Id), Stack: sdk.ToString(set.StackId), Alone: now == nil}
	earlier, err := s.lastShown(ctx) // of an attempt before
	if err != nil {
		return task.Result{}, err
	}
	made.Alone = made.Alone || earlier != nil && earlier.Alone && earlier.Stack == made.Stack
	if len(changes) == 0 {
		made.ID = ""
		if err := s.forget(ctx, set, false); err != nil {
			return task.Result{}, err
		}
	}
	if made.Of, err = s.digest(want); err != nil {
		return task.Result{}, err
	}
	is, err := s.stacks.Look(ctx, made.Stack)
	if err != nil {
		return task.Result{}, err
	}
	if is == nil {
		return task.Result{}, fault.New(fault.NotFound, "stack %s has gone while its change set was made", s.spec.Stack).Causing(fault.Unknown)
	}
	made.Status, made.Updated = is.StackStatus, sdk.ToTime(is.LastUpdatedTime)
	if _, err := executor.Keep(ctx, s.Env, s.shownKey()+aws.Token(s.task, "changes"), made); err != nil {
		return task.Result{}, err
	}
	outputs, err := s.show(changes)
	if err != nil {
		return task.Result{}, err
	}
	return executor.Succeed(struct {
		awsdiff.Outputs

		ChangeSet string `json:"changeSetId"`
		Stack     string `json:"stackId"`
	}{outputs, made.ID, made.Stack})
}

// digest names what a stack is to be. Values that are or hold secrets aren't in it:
// the change set has those that it was made with.
func (s *session) digest(m made) (string, error) {
	m.Parameters = slices.Clone(m.Parameters)
	for i, p := range m.Parameters {
		if s.Env.Hidden(p.Value) {
			m.Parameters[i].Value = ""
		}
	}
	doc, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("encode what stack %s is to be: %w", s.spec.Stack, err)
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:]), nil
}

// lastShown is the change set that the stage has made last of the stack; nil: none.
func (s *session) lastShown(ctx context.Context) (*shown, error) {
	all, err := executor.Kept[shown](ctx, s.Env, s.shownKey())
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// untouched says whether nothing has happened to the stack since the change set was
// made.
func (c shown) untouched(now *types.Stack) bool {
	return now != nil && sdk.ToString(now.StackId) == c.Stack && now.StackStatus == c.Status && sdk.ToTime(now.LastUpdatedTime).Equal(c.Updated)
}

// execute executes the change set that was shown, and waits for the end. If the
// stack has changed since, or the step wants something else, what was shown isn't
// what would be done, and nothing is.
func (s *session) execute(ctx context.Context, c shown, want made, now *types.Stack) (ended, error) {
	if now != nil {
		last, err := s.latest(ctx, now)
		if err != nil {
			return ended{}, err
		}
		if s.own(last.token) { // at any attempt: there is one change set
			s.Say("The step has executed the change set of stack %s already", s.spec.Stack)
			return s.end(ctx, last)
		}
	}
	of, err := s.digest(want)
	if err != nil {
		return ended{}, err
	}
	const again = "nothing is changed. Make a change set anew, and have it looked at"
	switch {
	case of != c.Of:
		return ended{}, fault.New(fault.Conflict, "the change set of stack %s was made of another template, or of other parameters, tags, capabilities or another role, than this step has: %s", s.spec.Stack, again).
			Causing(fault.Unknown)
	case !c.untouched(now):
		return ended{}, fault.New(fault.Conflict, "stack %s has changed since its change set was made: %s", s.spec.Stack, again).Causing(fault.Unknown)
	case c.ID == "":
		s.Say("The change set of stack %s had nothing to change; nothing is updated", s.spec.Stack)
		return ended{stack: now}, nil
	}
	o, err := s.newest(ctx, now)
	if err != nil {
		return ended{}, err
	}
	s.Say("Executing the change set %s of stack %s", c.ID, s.spec.Stack)
	_, err = s.stacks.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{ChangeSetName: &c.ID, ClientRequestToken: sdk.String(aws.Token(s.task, "stack"))})
	if aws.Is(err, "InvalidChangeSetStatus", "ChangeSetNotFound") {
		return ended{}, fault.New(fault.Conflict, "the change set of stack %s can't be executed any more: %w; %s", s.spec.Stack, err, again).Causing(fault.Unknown)
	}
	if err != nil {
		return ended{}, s.stacks.Failed(ctx, "ExecuteChangeSet", err)
	}
	return s.end(ctx, o)
}

// drop removes a change set that nobody has executed, and the stack that was made to
// have it; done says that this was all that had to be taken back.
func (s *session) drop(ctx context.Context, now *types.Stack) (done bool, err error) {
	c, err := s.lastShown(ctx)
	if err != nil || c == nil || !c.untouched(now) {
		return false, err
	}
	s.Say("Stack %s is as it was: its change set was never executed, and is deleted", s.spec.Stack)
	if c.ID == "" {
		return true, nil
	}
	return true, s.forget(ctx, &cloudformation.CreateChangeSetOutput{Id: &c.ID, StackId: &c.Stack}, c.Alone)
}
