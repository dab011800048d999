package syncing

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Item is what a sync is told of one object: of a target, of a hook, or of an
// extra, which is live and in no target any more.
type Item struct {
	Key         object.Key
	Version     string
	Annotations map[string]string // the target's; of an extra those that it has live
	// GenerateName is the beginning of the name of a hook that has none.
	GenerateName string
	Extra        bool
	Synced       bool   // the comparison found it as it is to be
	Unchanged    bool   // it is known to be as the target says, so nothing is to be sent
	Harmless     bool   // the server can't refuse it, so it needs no dry run
	Defines      string // the kind, as group/Kind, that it defines
	Refusal      string // why it must not be synced; empty: it may
}

// Request is what a sync is to do with its items.
type Request struct {
	Revision  string
	Started   time.Time
	Attempt   int64 // 0 is the first
	Prune     bool
	DryRun    bool
	NoHooks   bool
	Force     bool
	Only      []object.Key // nil: all
	Options   Options
	Namespace *Item // to be made, or marked, before all else
}

// State is how far a sync is. It is stored as JSON.
type State struct {
	ID      string                `json:"id"` // of this operation and attempt; hooks carry it
	Phase   gitops.OperationPhase `json:"phase"`
	Message string                `json:"message,omitempty"`
	// Outcome is what Phase becomes when everything is cleaned up.
	Outcome     gitops.OperationPhase `json:"outcome,omitempty"`
	Started     time.Time             `json:"started"`
	DryRun      bool                  `json:"dryRun,omitempty"`
	Rehearsed   bool                  `json:"rehearsed,omitempty"`
	Terminating bool                  `json:"terminating,omitempty"`
	Tasks       []Task                `json:"tasks,omitempty"`
	// Deletion is the phase of a deletion whose hooks these are; empty: it is a sync.
	Deletion gitops.SyncPhase `json:"deletion,omitempty"`
}

// Task is one object's part of a sync.
type Task struct {
	Key          object.Key       `json:"key"`
	Version      string           `json:"version,omitempty"`
	Phase        gitops.SyncPhase `json:"phase"`
	Wave         int64            `json:"wave,omitempty"`
	Hook         bool             `json:"hook,omitempty"`
	GenerateName string           `json:"generateName,omitempty"`
	Policies     []string         `json:"policies,omitempty"` // when a hook is deleted
	Prune        bool             `json:"prune,omitempty"`
	Confirm      bool             `json:"confirm,omitempty"` // somebody must approve of its deletion
	Early        bool             `json:"early,omitempty"`   // before the dry run: the namespace
	Wait         bool             `json:"wait,omitempty"`    // until it is healthy, or gone
	Unchanged    bool             `json:"unchanged,omitempty"`
	Validate     bool             `json:"validate,omitempty"`
	Replace      bool             `json:"replace,omitempty"`
	Force        bool             `json:"force,omitempty"`
	Lenient      bool             `json:"lenient,omitempty"` // its kind may be missing in the dry run
	Propagation  string           `json:"propagation,omitempty"`

	// What came of it.
	Tried      bool                  `json:"tried,omitempty"` // in the dry run
	State      gitops.OperationPhase `json:"state,omitempty"` // empty: not begun
	Status     gitops.ResultCode     `json:"status,omitempty"`
	Message    string                `json:"message,omitempty"`
	UID        string                `json:"uid,omitempty"`
	Generation int64                 `json:"generation,omitempty"`
	Images     []string              `json:"images,omitempty"`
	Released   bool                  `json:"released,omitempty"` // the hook's finalizer is gone
	Removed    bool                  `json:"removed,omitempty"`  // the hook is deleted
	Cleared    bool                  `json:"cleared,omitempty"`  // the hook that stood in its way is being deleted

	last bool
}

func (t Task) sameWave(other *Task) bool { return t.Phase == other.Phase && t.Wave == other.Wave }

// The policies by which hooks are deleted.
const (
	deleteBefore    = "BeforeHookCreation"
	deleteSucceeded = "HookSucceeded"
	deleteFailed    = "HookFailed"
)

// Plan begins a sync.
func Plan(r Request, items []Item) *State {
	s := &State{ID: fmt.Sprintf("%d-%d", r.Started.Unix(), r.Attempt), Phase: gitops.OperationRunning, Started: r.Started, DryRun: r.DryRun}
	definitions := map[object.Key]string{}
	brought := false // the namespace, with what the target asks for
	for _, i := range items {
		phases, hook := Hooks(i.Annotations)
		switch {
		case hook && (r.NoHooks || r.Only != nil || i.Extra):
			continue
		case r.Only != nil && !slices.Contains(r.Only, i.Key):
			continue
		case !hook && i.Synced && r.Options.On(OptionOutOfSyncOnly):
			continue
		}
		if r.Namespace != nil && i.Key == r.Namespace.Key && !i.Extra {
			brought = true
		}
		if i.Defines != "" {
			definitions[i.Key] = i.Defines
		}
		for _, phase := range phases {
			s.Tasks = append(s.Tasks, task(r, i, phase, hook))
		}
	}
	if r.Namespace != nil && !brought && r.Only == nil {
		t := task(r, *r.Namespace, gitops.PreSync, false)
		t.Wave, t.Early = math.MinInt32, true
		s.Tasks = append(s.Tasks, t)
	}
	s.order(definitions)
	if slices.ContainsFunc(s.Tasks, func(t Task) bool { return t.State == gitops.OperationFailed }) {
		s.Outcome, s.Message = gitops.OperationFailed, "one or more objects may not be synced: "+s.reasons(func(t Task) bool { return true })
	}
	return s
}

// PlanDeletion begins a phase of a deletion: that of its hooks before what is deleted
// goes, or of those after.
func PlanDeletion(phase gitops.SyncPhase, r Request, items []Item) *State {
	s := &State{ID: fmt.Sprintf("%d-%d", r.Started.Unix(), r.Attempt), Phase: gitops.OperationRunning, Started: r.Started, Deletion: phase}
	for _, i := range items {
		if slices.Contains(DeletionHooks(i.Annotations), phase) {
			s.Tasks = append(s.Tasks, task(r, i, phase, true))
		}
	}
	s.order(nil)
	if slices.ContainsFunc(s.Tasks, failed) {
		s.Outcome, s.Message = gitops.OperationFailed, s.reasons(func(Task) bool { return true })
	}
	return s
}

// DeletionHooks says in which phases of a deletion a hook has its turn.
func DeletionHooks(annotations map[string]string) []gitops.SyncPhase {
	names, hook := hookNames(annotations)
	if !hook {
		return nil
	}
	var phases []gitops.SyncPhase
	for name := range strings.SplitSeq(names, ",") {
		p := gitops.SyncPhase(strings.TrimSpace(name))
		if (p == gitops.PreDelete || p == gitops.PostDelete) && !slices.Contains(phases, p) {
			phases = append(phases, p)
		}
	}
	return phases
}

// hookNames are the phases that an object's annotations name; false: it is no hook.
func hookNames(annotations map[string]string) (string, bool) {
	if names, hook := annotations[object.AnnotationHook]; hook {
		return names, true
	}
	return helmHooks(annotations["helm.sh/hook"])
}

// Hooks says in which phases of a sync an object has its turn, and whether it is a
// hook. An object that is to be skipped has none, and neither has a hook of a deletion.
func Hooks(annotations map[string]string) (phases []gitops.SyncPhase, hook bool) {
	names, hook := hookNames(annotations)
	if !hook {
		return []gitops.SyncPhase{gitops.Sync}, false
	}
	for name := range strings.SplitSeq(names, ",") {
		switch p := gitops.SyncPhase(strings.TrimSpace(name)); p {
		case gitops.PreSync, gitops.Sync, gitops.PostSync, gitops.SyncFail:
			if !slices.Contains(phases, p) {
				phases = append(phases, p)
			}
		case gitops.PreDelete, gitops.PostDelete: // a deletion's
		}
	}
	return phases, true
}

// helmHooks are Argo CD's names of Helm's hooks. Objects that are only to be there
// before others are none.
func helmHooks(names string) (string, bool) {
	var out []string
	for name := range strings.SplitSeq(names, ",") {
		switch strings.TrimSpace(name) {
		case "", "crd-install":
			return "", false
		case "pre-install", "pre-upgrade":
			out = append(out, string(gitops.PreSync))
		case "post-install", "post-upgrade":
			out = append(out, string(gitops.PostSync))
		case "pre-delete":
			out = append(out, string(gitops.PreDelete))
		case "post-delete":
			out = append(out, string(gitops.PostDelete))
		}
	}
	return strings.Join(out, ","), true
}

// policies are those of a hook: its own, or Helm's.
func policies(annotations map[string]string) []string {
	var out []string
	for name := range strings.SplitSeq(annotations[object.AnnotationHookDelete], ",") {
		if name = strings.TrimSpace(name); name == deleteBefore || name == deleteSucceeded || name == deleteFailed {
			out = append(out, name)
		}
	}
	helm := map[string]string{"before-hook-creation": deleteBefore, "hook-succeeded": deleteSucceeded, "hook-failed": deleteFailed}
	if _, own := annotations[object.AnnotationHook]; !own {
		for name := range strings.SplitSeq(annotations["helm.sh/hook-delete-policy"], ",") {
			if p := helm[strings.TrimSpace(name)]; p != "" {
				out = append(out, p)
			}
		}
	}
	if out == nil {
		return []string{deleteBefore}
	}
	return out
}

func task(r Request, i Item, phase gitops.SyncPhase, hook bool) Task {
	o := r.Options.With(i.Annotations[object.AnnotationOptions])
	t := Task{
		Key: i.Key, Version: i.Version, Phase: phase, Wave: Wave(i.Annotations), Hook: hook, Prune: i.Extra,
		Unchanged: i.Unchanged && !o.On(OptionReplace) && !o.On(OptionForce) && !r.Force,
		Validate:  !o.Off(OptionValidate), Replace: o.On(OptionReplace), Force: o.On(OptionForce) || r.Force, Lenient: o.On(OptionSkipDryRun),
		Tried: i.Harmless || i.Extra,
	}
	t.Tried = t.Tried || t.Unchanged
	if hook {
		t.Policies = policies(i.Annotations)
		if t.Key.Name == "" {
			t.GenerateName = i.GenerateName
			t.Key.Name = fmt.Sprintf("%s%s-%s-%d", i.GenerateName, r.Revision[:min(7, len(r.Revision))], strings.ToLower(string(phase)), r.Started.Unix())
		}
	}
	if i.Extra {
		t.last = o.On(OptionPruneLast)
		t.Confirm = o[OptionPrune] == "confirm"
		t.Propagation = o[OptionPropagation]
		switch {
		case o.Off(OptionPrune):
			t.State, t.Status, t.Message = gitops.OperationSucceeded, gitops.ResultPruneSkipped, "is no longer wanted, and kept by its option Prune=false"
		case !r.Prune:
			t.State, t.Status, t.Message = gitops.OperationSucceeded, gitops.ResultPruneSkipped, "is no longer wanted, and kept: pruning wasn't asked for"
		}
	}
	if i.Refusal != "" {
		t.State, t.Status, t.Message = gitops.OperationFailed, gitops.ResultSyncFailed, i.Refusal
	}
	return t
}

// Results are what the sync did to each object so far.
func (s *State) Results() []gitops.ResourceResult {
	var out []gitops.ResourceResult
	for _, t := range s.Tasks {
		if t.State == "" && t.Status == "" {
			continue
		}
		r := gitops.ResourceResult{Key: t.Key, Version: t.Version, Status: t.Status, Message: t.Message, HookPhase: t.State, SyncPhase: t.Phase, Images: t.Images}
		if t.Hook {
			r.HookType = t.Phase
		}
		out = append(out, r)
	}
	return out
}

// Terminate ends a sync: hooks that run are deleted, and what was applied stays.
func (s *State) Terminate() {
	if !s.Phase.Ended() {
		s.Terminating, s.Phase = true, gitops.OperationTerminating
	}
}

// reasons are the distinct messages of tasks that failed.
func (s *State) reasons(of func(Task) bool) string {
	var out []string
	for _, t := range s.Tasks {
		if failed(t) && of(t) && t.Message != "" && !slices.Contains(out, t.Message) {
			out = append(out, t.Message)
		}
	}
	return strings.Join(out, ", ")
}

func failed(t Task) bool {
	return t.State == gitops.OperationFailed || t.State == gitops.OperationError
}
