package sets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// The statuses of an application in a set that is synced step by step, which are Argo
// CD's.
const (
	waiting     = "Waiting"
	pending     = "Pending"
	progressing = "Progressing"
	healthy     = "Healthy"
)

// rolloutProgressing is the condition of such a set.
const rolloutProgressing = "RolloutProgressing"

// Seen is how an application is, as the reconciler tells it.
type Seen struct {
	Sync      gitops.SyncCode
	Health    gitops.HealthCode
	Revisions []string // of its target
	Operation gitops.OperationPhase
	Message   string
	Request   string // whose the operation is
}

// rolled is how far an application is in its set's steps.
type rolled struct {
	Status    string    `json:"status"`
	Step      int       `json:"step"` // from 1 on
	Request   string    `json:"request,omitempty"`
	Revisions []string  `json:"revisions,omitempty"` // that its sync was asked for
	Message   string    `json:"message,omitempty"`
	Failed    bool      `json:"failed,omitempty"`
	Since     time.Time `json:"since"`
}

// rolls says whether a set is synced step by step.
func rolls(doc *appset.Set) bool {
	return doc != nil && doc.Spec.Strategy != nil && doc.Spec.Strategy.Type == "RollingSync"
}

// Observe is told how an application is; nil: it is gone. It doesn't block.
func (s *Sets) Observe(app string, v *Seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v == nil {
		delete(s.seen, app)
		return
	}
	s.seen[app] = *v
	for _, one := range s.sets {
		if _, own := one.rec.Applications[app]; own && rolls(one.doc) {
			one.stir = s.clock()
			ring(s.poked)
		}
	}
}

// ask is a sync that is to be begun.
type ask struct {
	app, id string
	o       gitops.Operation
}

// roll goes on with a set's steps, by how its applications are.
func (s *Sets) roll(ctx context.Context, name string) {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	one := s.sets[name]
	doc, now, seen, was := one.doc, s.clock(), maps.Clone(s.seen), one.rec
	next := was.clone()
	s.mu.Unlock()
	var asks []ask
	if rolls(doc) && !next.leaving() {
		asks = next.roll(name, doc.Spec.Strategy.RollingSync, seen, now)
	}
	changed := !reflect.DeepEqual(was.Rolling, next.Rolling) || !reflect.DeepEqual(was.Conditions, next.Conditions)
	var err error
	if changed {
		err = s.keep(ctx, one, next)
	}
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "what is known of application sets isn't kept; nothing is synced", "error", err)
		asks = nil
	}
	held := false
	for _, a := range asks { // those that were asked for before are known by their ids
		if err := s.cfg.Sync(a.app, a.id, a.o); err != nil {
			held = true
			kept := next.Rolling[a.app]
			changed = changed || kept.Message != err.Error()
			kept.Message = err.Error()
			next.Rolling[a.app] = kept
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one.busy = false
	ring(s.poked)
	if err != nil || held {
		one.stir = now.Add(rollAgain)
	}
	if err == nil && changed {
		one.rec.Rolling, one.rec.Conditions = next.Rolling, next.Conditions
		s.cfg.Report(name, one.rec.summary())
	}
}

// rollAgain is when what couldn't be begun is tried again: a window may be closed, or
// somebody's sync be under way.
const rollAgain = 30 * time.Second

// order is the step of each application, if they are to go in the reverse order of these.
func (r *record) order(doc *appset.Set) map[string]int {
	if !rolls(doc) || doc.Spec.Strategy.DeletionOrder != appset.DeleteReverse {
		return nil
	}
	out := map[string]int{}
	for name, own := range r.Applications {
		out[name] = stepOf(doc.Spec.Strategy.RollingSync, own.Application) + 1
	}
	return out
}

// stepOf is the first step that takes an application; -1: none does.
func stepOf(by *appset.RollingSync, app gitops.Application) int {
	return slices.IndexFunc(by.Steps, func(step appset.RollingStep) bool {
		s := appset.Selector{MatchExpressions: step.MatchExpressions}
		return s.Matches(app.Meta.Labels)
	})
}

// roll says how far each application is, and which are to be synced now.
func (r *record) roll(set string, by *appset.RollingSync, seen map[string]Seen, now time.Time) []ask {
	was := r.Rolling
	r.Rolling = map[string]rolled{}
	steps := make([][]string, len(by.Steps))
	for _, name := range slices.Sorted(maps.Keys(r.Applications)) {
		own := r.Applications[name]
		i := stepOf(by, own.Application)
		if own.Deleting || i < 0 { // nobody syncs it
			continue
		}
		steps[i] = append(steps[i], name)
		one, there := was[name]
		if !there {
			one = rolled{Status: waiting, Since: now.UTC()}
		}
		one.Step = i + 1
		if v, ok := seen[name]; ok {
			one = one.judged(v, now)
		}
		r.Rolling[name] = one
	}
	var asks []ask
	open := true
	for i, names := range steps {
		most := atMost(by.Steps[i].MaxUpdate, len(names))
		for _, name := range names {
			if s := r.Rolling[name].Status; s == pending || s == progressing {
				most--
			}
		}
		for _, name := range names {
			one, v := r.Rolling[name], seen[name]
			if open && most > 0 && one.Status == waiting && v.Sync == gitops.OutOfSync && (v.Operation == "" || v.Operation.Ended()) {
				most--
				sum := sha256.Sum256([]byte(strings.Join(append([]string{set, name, strconv.FormatInt(now.UnixNano(), 10)}, v.Revisions...), "\x00")))
				one = one.enter(pending, "its step has come", now)
				one.Request, one.Revisions, one.Failed = "set-"+hex.EncodeToString(sum[:8]), slices.Clone(v.Revisions), false
				r.Rolling[name] = one
			}
			if one.Status == pending {
				asks = append(asks, ask{app: name, id: one.Request, o: operation(set, r.Applications[name].Application)})
			}
		}
		open = open && !slices.ContainsFunc(names, func(name string) bool { return r.Rolling[name].Status != healthy })
	}
	r.rolloutCondition(now)
	return asks
}

// operation is the sync of an application as its own policy has it.
func operation(set string, app gitops.Application) gitops.Operation {
	o := gitops.Operation{Sync: &gitops.SyncRequest{}, InitiatedBy: gitops.Initiator{Username: "applicationset " + set, Automated: true}}
	if p := app.Spec.SyncPolicy; p != nil {
		if p.Automated != nil {
			o.Sync.Prune = p.Automated.Prune
		}
		if p.Retry != nil {
			o.Retry = *p.Retry
		}
	}
	return o
}

func (r rolled) enter(status, message string, now time.Time) rolled {
	if r.Status != status {
		r.Since = now.UTC()
	}
	r.Status, r.Message = status, message
	return r
}

// judged is how far an application is that is so.
func (r rolled) judged(v Seen, now time.Time) rolled {
	running := v.Operation != "" && !v.Operation.Ended()
	fine := v.Sync == gitops.Synced && v.Health == gitops.Healthy && !running
	own := r.Request != "" && v.Request == r.Request
	switch r.Status {
	case healthy:
		if v.Sync == gitops.OutOfSync {
			r = r.enter(waiting, "it is to be other than it is", now)
		}
		return r
	case waiting:
		if fine {
			r = r.enter(healthy, "it is Synced and Healthy", now)
		}
		return r
	case pending:
		if !own {
			return r
		}
		r = r.enter(progressing, "it is synced", now)
	}
	switch failed := own && v.Operation.Ended() && v.Operation != gitops.OperationSucceeded; {
	case fine:
		r = r.enter(healthy, "it is Synced and Healthy", now)
		r.Failed = false
	case !running && v.Sync == gitops.OutOfSync && !slices.Equal(v.Revisions, r.Revisions), !own && !running && v.Sync == gitops.OutOfSync:
		r = r.enter(waiting, "it is to be other than it is", now) // there is something newer
		r.Failed = false
	case failed:
		r.Failed, r.Message = true, "its sync ended as "+string(v.Operation)+": "+v.Message
	default:
		r.Message = fmt.Sprintf("it is %s and %s", v.Sync, v.Health)
	}
	return r
}

// atMost is how many applications of a step may be under way at a time.
func atMost(said json.RawMessage, of int) int {
	var text string
	var n int
	switch {
	case len(said) == 0:
		return of
	case json.Unmarshal(said, &n) == nil:
		return n
	case json.Unmarshal(said, &text) == nil:
		percent, ok := strings.CutSuffix(text, "%")
		if n, err := strconv.Atoi(percent); err == nil {
			if ok {
				return max(1, of*n/100)
			}
			return n
		}
	}
	return 1 // it is refused when the set is saved
}

// rolloutCondition says how far all are.
func (r *record) rolloutCondition(now time.Time) {
	step := 0
	var failed []string
	for _, name := range slices.Sorted(maps.Keys(r.Rolling)) {
		one := r.Rolling[name]
		if one.Status != healthy && (step == 0 || one.Step < step) {
			step = one.Step
		}
		if one.Failed {
			failed = append(failed, name+": "+one.Message)
		}
	}
	switch {
	case len(failed) > 0:
		r.set(now, rolloutProgressing, false, "ApplicationSetRolloutFailed", "step "+strconv.Itoa(step)+" stops: "+strings.Join(failed, "; "))
	case step > 0:
		r.set(now, rolloutProgressing, true, "ApplicationSetModified", "the applications of step "+strconv.Itoa(step)+" are synced")
	default:
		r.set(now, rolloutProgressing, false, "ApplicationSetRolloutComplete", "all applications of all steps are Healthy")
	}
}

// statuses are what people are told of the steps.
func (r *record) statuses() []protocol.SetStatus {
	var out []protocol.SetStatus
	for _, name := range slices.Sorted(maps.Keys(r.Rolling)) {
		one := r.Rolling[name]
		out = append(out, protocol.SetStatus{
			Application: name, Status: one.Status, Step: strconv.Itoa(one.Step), TargetRevisions: one.Revisions, Message: one.Message, LastTransitionTime: one.Since,
		})
	}
	return out
}
