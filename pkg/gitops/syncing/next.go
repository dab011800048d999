package syncing

import (
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Verb is what is to be done to an object.
type Verb string

// What is done to objects and hooks.
const (
	Try     Verb = "try"     // a dry run of what would be applied or created
	Apply   Verb = "apply"   // make it what the target says
	Create  Verb = "create"  // make a hook
	Remove  Verb = "remove"  // delete a hook, with its finalizer
	Release Verb = "release" // take the finalizer of a hook that ended
	Prune   Verb = "prune"   // delete an extra
)

// Action is to be done now, beside the others that came with it.
type Action struct {
	Verb Verb
	Task int // of State.Tasks
}

// Result is what came of an action.
type Result struct {
	Problem    string // empty: done
	UID        string
	Generation int64
	Message    string
	Images     []string
}

// Live is what a sync looks at of an object in the cluster.
type Live struct {
	UID        string
	Generation int64
	Deleting   bool
	Health     *gitops.HealthStatus // nil: its kind has none
	Operation  string               // of a hook: the ID of the sync that made it
}

// World is what there is when a sync goes on.
type World struct {
	Live     func(object.Key) *Live // nil: it isn't there
	Approved time.Time              // when somebody last approved of deletions
}

// Next says what is to be done now. If that is nothing, the sync has ended, or it
// waits, and its message says for what. The state is to be stored before the
// actions are done, and what came of each is to be recorded.
func (s *State) Next(w World) []Action {
	if s.Phase.Ended() {
		return nil
	}
	s.look(w)
	if s.Outcome == "" {
		if actions := s.advance(w); len(actions) > 0 || s.Outcome == "" {
			return append(actions, s.release()...)
		}
	}
	actions := s.clean()
	if len(actions) == 0 {
		s.Phase = s.Outcome
	}
	return actions
}

// Record takes what came of an action.
func (s *State) Record(a Action, r Result) {
	t := &s.Tasks[a.Task]
	switch a.Verb {
	case Try:
		t.Tried = true
		if r.Problem != "" {
			t.fail(gitops.OperationFailed, r.Problem)
		}
		return
	case Release:
		t.Released = r.Problem == "" || s.Outcome != ""
		return
	case Remove:
		switch {
		case t.State != "": // it ended; an end isn't held up by what can't be deleted
			t.Removed = true
		case r.Problem != "":
			t.fail(gitops.OperationFailed, r.Problem)
		default:
			t.Cleared = true
		}
		return
	case Apply, Create, Prune:
	}
	t.UID, t.Generation, t.Images = r.UID, r.Generation, r.Images
	if r.Problem != "" {
		t.fail(gitops.OperationFailed, r.Problem)
		return
	}
	t.Status, t.Message, t.State = gitops.ResultSynced, r.Message, gitops.OperationSucceeded
	if t.Prune {
		t.Status, t.Message = gitops.ResultPruned, "pruned"
	}
	if t.Hook || t.Wait {
		t.State = gitops.OperationRunning
	}
}

func (t *Task) fail(phase gitops.OperationPhase, message string) {
	t.State, t.Status, t.Message = phase, gitops.ResultSyncFailed, message
}

// look sees how what runs fares.
func (s *State) look(w World) {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.State != gitops.OperationRunning {
			continue
		}
		l := w.Live(t.Key)
		switch {
		case t.Prune:
			if l == nil || l.UID != t.UID && t.UID != "" {
				t.State = gitops.OperationSucceeded
			}
		case t.Hook:
			t.lookAtHook(l)
		default:
			t.look(l)
		}
	}
}

func (t *Task) look(l *Live) {
	switch {
	case l == nil:
		t.fail(gitops.OperationError, describe(t.Key)+" is missing, it might have been deleted")
	case l.UID == t.UID && l.Generation < t.Generation: // what is seen is older than what was applied
	case l.Health == nil || l.Health.Status == gitops.Healthy:
		t.State = gitops.OperationSucceeded
	case l.Health.Status == gitops.Degraded:
		t.fail(gitops.OperationFailed, describe(t.Key)+" is degraded: "+l.Health.Message)
	}
}

func (t *Task) lookAtHook(l *Live) {
	switch {
	case l == nil || t.UID != "" && l.UID != t.UID:
		t.State, t.Message = gitops.OperationFailed, "hook "+describe(t.Key)+" disappeared before it ended"
		return
	case l.Health == nil:
		t.State = gitops.OperationSucceeded
		return
	}
	t.Message = l.Health.Message
	switch l.Health.Status {
	case gitops.Healthy:
		t.State = gitops.OperationSucceeded
	case gitops.Degraded, gitops.HealthUnknown:
		t.State = gitops.OperationFailed
		if t.Message == "" {
			t.Message = "hook " + describe(t.Key) + " failed"
		}
	case gitops.Progressing, gitops.Suspended, gitops.Missing:
		if l.Deleting {
			t.State, t.Message = gitops.OperationFailed, "hook "+describe(t.Key)+" is being deleted"
		}
	}
}

// advance says what comes next, or decides what comes of the sync.
func (s *State) advance(w World) []Action {
	if s.Terminating {
		for i := range s.Tasks {
			if t := &s.Tasks[i]; t.Hook && t.State == gitops.OperationRunning {
				t.State, t.Message = gitops.OperationFailed, "Terminated"
				t.Policies = []string{deleteSucceeded, deleteFailed}
			}
		}
		s.end(gitops.OperationFailed, "Operation terminated")
		return nil
	}
	if !s.Rehearsed {
		if actions := s.rehearse(); len(actions) > 0 || s.Outcome != "" {
			return actions
		}
	}
	for from := 0; from < len(s.Tasks) && s.Tasks[from].Phase != gitops.SyncFail; {
		to := from + 1
		for to < len(s.Tasks) && s.Tasks[to].sameWave(&s.Tasks[from]) {
			to++
		}
		actions := s.wave(from, to, w)
		// A failure keeps nothing back of its own wave.
		if len(actions) > 0 {
			return actions
		}
		if slices.ContainsFunc(s.Tasks[from:to], failed) {
			return s.failing(w)
		}
		if s.waiting(s.Tasks[from:to]) {
			return nil
		}
		from = to
	}
	s.end(gitops.OperationSucceeded, "successfully synced")
	return nil
}

// rehearse has the server check everything before anything is changed. Only the
// namespace is made before, without which the server would refuse what is in it.
func (s *State) rehearse() []Action {
	var early, tries []Action
	for i, t := range s.Tasks {
		switch {
		case t.Early && t.State == "" && !s.DryRun:
			early = append(early, Action{Apply, i})
		case !t.Tried && t.State == "":
			tries = append(tries, Action{Try, i})
		}
	}
	switch {
	case len(early) > 0:
		return early
	case len(tries) > 0:
		return tries
	}
	if slices.ContainsFunc(s.Tasks, failed) {
		s.end(gitops.OperationFailed, "one or more objects failed to apply (dry run): "+s.reasons(func(Task) bool { return true }))
		return nil
	}
	s.Rehearsed = true
	if s.DryRun {
		for i := range s.Tasks {
			if t := &s.Tasks[i]; t.State == "" && t.Phase != gitops.SyncFail {
				t.State, t.Status, t.Message = gitops.OperationSucceeded, gitops.ResultSynced, "dry run"
				if t.Prune {
					t.Status = gitops.ResultPruned
				}
				t.Released, t.Removed = true, true
			}
		}
		s.end(gitops.OperationSucceeded, "successfully synced (dry run)")
	}
	return nil
}

// wave gives what can be done side by side of a wave's tasks: what is applied of
// one kind, hooks with it; after all of it the prunes.
func (s *State) wave(from, to int, w World) []Action {
	var actions []Action
	first := -1
	for i := from; i < to; i++ {
		t := &s.Tasks[i]
		if t.State == "" && t.Unchanged {
			t.unchanged(w)
		}
		if t.State != "" {
			continue
		}
		if first >= 0 && (t.Prune != s.Tasks[first].Prune || !t.Prune && kindRank(t.Key.Kind) != kindRank(s.Tasks[first].Key.Kind)) {
			continue
		}
		verb := Apply
		switch {
		case t.Prune && t.Confirm && !w.Approved.After(s.Started):
			continue
		case t.Prune:
			verb = Prune
		case t.Hook:
			verb = s.hook(t, w)
		}
		if verb != "" {
			actions = append(actions, Action{verb, i})
		}
		first = i
	}
	return actions
}

// unchanged is a task for whose object there is nothing to do.
func (t *Task) unchanged(w World) {
	t.State, t.Status, t.Message = gitops.OperationSucceeded, gitops.ResultSynced, "unchanged"
	if l := w.Live(t.Key); t.Wait && l != nil {
		t.State, t.UID = gitops.OperationRunning, l.UID
		t.look(l)
	}
}

// Mark is what a hook carries, so that it is known again by whoever goes on with a
// sync.
func (s *State) Mark(t Task) string { return s.ID + "-" + string(t.Phase) }

// hook says how a hook begins: empty if it has begun, or if what stands in its way
// is still going.
func (s *State) hook(t *Task, w World) Verb {
	l := w.Live(t.Key)
	switch {
	case l == nil:
		return Create
	case l.Operation == s.Mark(*t) && !l.Deleting: // it was made, and then whoever made it was killed
		t.State, t.Status, t.UID = gitops.OperationRunning, gitops.ResultSynced, l.UID
		t.lookAtHook(l)
		return ""
	case l.Deleting && t.Cleared:
		return ""
	case l.Deleting, slices.Contains(t.Policies, deleteBefore), l.Operation != "":
		return Remove
	}
	return Apply
}

// failing waits for the hooks that run, has those for failures run, and ends.
func (s *State) failing(w World) []Action {
	var hooks []Task
	for _, t := range s.Tasks {
		if t.Hook && t.State == gitops.OperationRunning {
			hooks = append(hooks, t)
		}
	}
	if s.waiting(hooks) {
		return nil
	}
	for from, t := range s.Tasks {
		if t.Phase != gitops.SyncFail || t.State != "" {
			continue
		}
		to := from + 1
		for to < len(s.Tasks) && s.Tasks[to].sameWave(&t) {
			to++
		}
		if actions := s.wave(from, to, w); len(actions) > 0 || s.waiting(s.Tasks[from:to]) {
			return actions
		}
	}
	if s.Deletion != "" {
		s.end(gitops.OperationFailed, s.reasons(func(Task) bool { return true }))
		return nil
	}
	message := "one or more synchronization tasks completed unsuccessfully"
	if why := s.reasons(func(t Task) bool { return t.Phase != gitops.SyncFail }); why != "" {
		message += ": " + why
	}
	if why := s.reasons(func(t Task) bool { return t.Phase == gitops.SyncFail }); why != "" {
		message += "; one or more SyncFail hooks failed: " + why
	}
	s.end(gitops.OperationFailed, message)
	return nil
}

func (s *State) end(outcome gitops.OperationPhase, message string) {
	s.Outcome, s.Message = outcome, message
}

// release takes the finalizers of hooks that ended, now that this is stored.
func (s *State) release() []Action {
	var actions []Action
	for i, t := range s.Tasks {
		if t.Hook && t.State.Ended() && t.UID != "" && !t.Released {
			actions = append(actions, Action{Release, i})
		}
	}
	return actions
}

// clean deletes hooks whose policy asks for it, and lets go of the others.
func (s *State) clean() []Action {
	var actions []Action
	for i, t := range s.Tasks {
		if !t.Hook || t.UID == "" || t.Removed {
			continue
		}
		gone := s.Outcome == gitops.OperationSucceeded && slices.Contains(t.Policies, deleteSucceeded) ||
			s.Outcome != gitops.OperationSucceeded && slices.Contains(t.Policies, deleteFailed)
		switch {
		case gone:
			actions = append(actions, Action{Remove, i})
		case !t.Released:
			actions = append(actions, Action{Release, i})
		}
	}
	return actions
}

// waiting says whether one of some tasks isn't done, and for what the sync waits
// then: for a hook rather than for an object.
func (s *State) waiting(tasks []Task) bool {
	var what string
	hook, more := false, -1
	for _, t := range tasks {
		if t.State.Ended() {
			continue
		}
		more++
		if what != "" && (hook || !t.Hook) {
			continue
		}
		hook = t.Hook
		switch {
		case t.Hook && t.State == "":
			what = "waiting until the former hook " + describe(t.Key) + " is gone"
		case t.Hook:
			what = "waiting until the hook " + describe(t.Key) + " ends"
		case t.Prune && t.State == "":
			what = "waiting for deletion confirmation of " + describe(t.Key)
		case t.Prune:
			what = "waiting until " + describe(t.Key) + " is gone"
		default:
			what = "waiting until " + describe(t.Key) + " is healthy"
		}
	}
	if more > 0 {
		what += fmt.Sprintf(", and %d more", more)
	}
	if what != "" {
		s.Message = what
	}
	return what != ""
}

// describe is an object as messages have it.
func describe(k object.Key) string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}
