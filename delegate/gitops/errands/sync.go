package errands

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/task"
)

// stage is how far the sync of an application is.
type stage int

// The stages, in their order.
const (
	refreshing stage = iota // until its source was looked at
	arriving                // until it sees the commit that was merged before
	ready                   // to be synced
	syncing
	healing
	paused // its Rollouts, which are to be promoted
	promoting
	over
)

// maxArrival is how long is waited for a merged commit to be seen: an application
// may read another branch.
const maxArrival = time.Minute

// againAfter is how long an agent is given to see what is new, before it is asked to
// look again.
const againAfter = 5 * time.Second

// atOnce bounds how many syncs are begun at a time.
const atOnce = 100

// running is the sync of one application.
type running struct {
	app      errand.App
	want     string // the commit that it is to see; empty: any
	stage    stage
	request  string
	asked    time.Time // the request, by the control plane's clock
	round    int       // of the sync
	since    time.Time // in this stage, by the delegate's clock
	degraded time.Time // since when it is; zero: it isn't
	promoted time.Time // the last time that its Rollouts were; zero: they weren't
	promotes int       // how often that was asked for
	stuck    bool      // they can't be promoted
	failed   string
	warning  string
}

func (r *running) enter(s stage) { r.stage, r.since = s, time.Now() }

func (r *running) fail(format string, args ...any) {
	r.failed, r.stage = fmt.Sprintf(format, args...), over
}

// what is what is asked for in the end, and how people call it.
func (j *job) what() (errand.Do, string) {
	if j.spec.Op == errand.OpRollback {
		return errand.DoRollback, "rollback"
	}
	return errand.DoSync, "sync"
}

// operate has the applications synced, or rolled back, and waits until all have come to
// an end.
func (j *job) operate(ctx context.Context) (task.Result, error) {
	begun := time.Now()
	do, verb := j.what()
	found, err := j.find(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if len(found) == 0 {
		return task.Result{}, fault.New(fault.Invalid, "found no applications to %s: none is of service %s on the stage's clusters", verb, j.spec.Stage.Service)
	}
	merged, err := j.merged(ctx)
	if err != nil {
		return task.Result{}, err
	}
	all := make([]*running, len(found))
	for i, a := range found {
		all[i] = &running{app: a, want: merged.in(a.Sources)}
	}
	first := ready
	if do == errand.DoSync { // to what there is now
		first = refreshing
		if err := j.begin(ctx, errand.DoRefresh, 0, all); err != nil {
			return task.Result{}, err
		}
	}
	for _, r := range all {
		r.enter(first)
	}
	if err := j.start(ctx, all); err != nil {
		return task.Result{}, err
	}
	until := begun.Add(j.within - max(2*time.Second, j.within/20))
	pause, round, refreshed := j.pace.First, 0, time.Now()
	for {
		if err := j.look(ctx, all); err != nil {
			return task.Result{}, err
		}
		waiting := j.judge(all)
		if err := j.start(ctx, all); err != nil {
			return task.Result{}, err
		}
		if !slices.ContainsFunc(all, func(r *running) bool { return r.stage != over }) {
			return j.ended(all)
		}
		if j.within > 0 && time.Now().After(until) && j.late(all) {
			return j.ended(all)
		}
		if len(waiting) > 0 && time.Since(refreshed) > againAfter {
			round, refreshed = round+1, time.Now()
			if err := j.begin(ctx, errand.DoRefresh, round, waiting); err != nil {
				return task.Result{}, err
			}
		}
		select {
		case <-ctx.Done():
			return task.Result{}, context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(pause*3/2, j.pace.Last)
	}
}

// begin asks for something of applications.
func (j *job) begin(ctx context.Context, what errand.Do, round int, list []*running) error {
	for part := range slices.Chunk(list, atOnce) {
		q := errand.Ask{Do: what, Round: round}
		for _, r := range part {
			q.Apps = append(q.Apps, errand.Named{Agent: r.app.Agent, Name: r.app.Name})
		}
		answer, err := j.ask(ctx, q)
		if err != nil {
			return err
		}
		for i, a := range answer.Apps {
			if i < len(part) && a.Request != nil {
				part[i].request, part[i].asked = a.Request.ID, a.Request.At
			}
		}
	}
	return nil
}

// look asks how those are that haven't come to an end.
func (j *job) look(ctx context.Context, all []*running) error {
	open := slices.DeleteFunc(slices.Clone(all), func(r *running) bool { return r.stage == over })
	for part := range slices.Chunk(open, atOnce) {
		q := errand.Ask{Do: errand.DoLook}
		for _, r := range part {
			q.Apps = append(q.Apps, errand.Named{Agent: r.app.Agent, Name: r.app.Name, Request: r.request})
		}
		answer, err := j.ask(ctx, q)
		if err != nil {
			return err
		}
		for i, a := range answer.Apps {
			if i < len(part) {
				part[i].app.Summary, part[i].app.ReportedAt, part[i].app.Request = a.Summary, a.ReportedAt, a.Request
			}
		}
	}
	return nil
}

// judge says how far each is by what its agent reports, and which wait for a commit.
func (j *job) judge(all []*running) (waiting []*running) {
	for _, r := range all {
		switch r.stage {
		case refreshing:
			if j.refreshed(r) {
				waiting = append(waiting, r)
			}
		case arriving:
		case syncing:
			j.synced(r)
		case promoting:
			j.promoted(r)
		case ready, over, healing, paused:
		}
		if r.stage == arriving && !j.arrived(r) {
			waiting = append(waiting, r)
		}
		if r.stage == healing {
			j.healed(r)
		}
	}
	return waiting
}

// refreshed judges a refresh; true: it is to be asked for again. An agent may not
// have fetched yet what was saved just now.
func (j *job) refreshed(r *running) (again bool) {
	q := r.app.Request
	switch {
	case q == nil || q.Result == nil:
	case q.Result.Failed && time.Since(r.since) < maxArrival:
		return true
	case q.Result.Failed:
		r.fail("it can't be refreshed: %s", q.Result.Message)
	case r.want != "":
		j.say(unitRefresh, "%s: waiting until it sees commit %s", r.app.Name, r.want)
		r.enter(arriving)
	default:
		r.enter(ready)
	}
	return false
}

// arrived says whether an application sees the commit that it is to see.
func (j *job) arrived(r *running) bool {
	s := r.app.Summary
	is := func(revision string) bool { return strings.HasPrefix(revision, r.want) } // a host may say a short one
	seen := s != nil && (is(s.Sync.Revision) || slices.ContainsFunc(s.Sync.Revisions, is))
	if !seen && time.Since(r.since) < maxArrival {
		return false
	}
	if !seen {
		j.warn(unitRefresh, "%s doesn't see commit %s after %s; it is synced to what it sees", r.app.Name, r.want, maxArrival)
	}
	r.enter(ready)
	return true
}

// start begins the syncs that may begin.
func (j *job) start(ctx context.Context, all []*running) error {
	rounds := map[int][]*running{}
	for _, r := range all {
		if r.stage == ready {
			rounds[r.round] = append(rounds[r.round], r)
		}
	}
	if err := j.promote(ctx, all); err != nil {
		return err
	}
	do, verb := j.what()
	for round, list := range rounds {
		if err := j.begin(ctx, do, round, list); err != nil {
			return err
		}
		for _, r := range list {
			j.say(unitSync, "%s: %s requested", r.app.Name, verb)
			r.enter(syncing)
			r.app.Request = nil
		}
	}
	return nil
}

// result is what the agent has answered to the request that was made last; nil: nothing
// yet.
func (r *running) result() *protocol.Result {
	if q := r.app.Request; q != nil && q.ID == r.request {
		return q.Result
	}
	return nil
}

// synced judges the operation that was asked for.
func (j *job) synced(r *running) {
	result := r.result()
	if result == nil {
		return
	}
	if result.Busy {
		j.say(unitSync, "%s: another operation is in progress; it is waited for", r.app.Name)
		r.round++
		r.enter(ready)
		return
	}
	if result.Failed {
		r.fail("%s", result.Message)
		return
	}
	if r.app.Summary == nil {
		return
	}
	if r.app.Summary.Hidden(r.request, r.asked) {
		_, verb := j.what()
		r.fail("others have synced it since, which hide what came of this %s; the application's history has it", verb)
		return
	}
	o := r.app.Summary.OperationOf(r.request)
	if o == nil || !o.Phase.Ended() {
		return
	}
	if o.Phase != gitops.OperationSucceeded {
		_, verb := j.what()
		r.fail("the %s ended as %s: %s", verb, o.Phase, o.Message)
		return
	}
	j.say(unitSync, "%s: %s", r.app.Name, strings.TrimSpace(o.Message+" ("+string(r.app.Summary.Sync.Status)+")"))
	if !j.waits() && j.spec.Promote == "" {
		r.stage = over
		return
	}
	r.enter(healing)
}

// waits says whether applications are to be healthy in the end.
func (j *job) waits() bool { return j.spec.Wait != nil && j.spec.Wait.Healthy }

// promote has the paused Rollouts of applications go on, as the task says.
func (j *job) promote(ctx context.Context, all []*running) error {
	for _, r := range all {
		if r.stage != paused {
			continue
		}
		if err := j.begin(ctx, errand.DoAct, r.promotes, []*running{r}); err != nil {
			return err
		}
		r.promotes++
		r.enter(promoting)
		r.app.Request = nil
	}
	return nil
}

// promoted judges what came of that.
func (j *job) promoted(r *running) {
	result := r.result()
	if result == nil {
		return
	}
	r.promoted = time.Now()
	if r.stuck = result.Failed; r.stuck {
		j.warn(unitWait, "%s is Suspended, and no Rollout of it goes on by %s: %s", r.app.Name, j.spec.Promote, result.Message)
	} else {
		j.say(unitWait, "%s: %s is done to its paused Rollouts", r.app.Name, j.spec.Promote)
	}
	r.enter(healing)
}

// promotable says whether an application's Rollouts are to be promoted now. Where
// nobody waits for health, that is done once.
func (j *job) promotable(r *running) bool {
	return j.spec.Promote != "" && r.app.Summary.Health.Status == gitops.Suspended && !r.stuck &&
		(r.promoted.IsZero() || j.waits() && time.Since(r.promoted) >= againAfter)
}

// healed waits for an application that was synced to be healthy.
func (j *job) healed(r *running) {
	h := r.app.Summary.Health
	now := time.Now()
	switch {
	case h.Status == gitops.Healthy:
		j.say(unitWait, "%s is Healthy", r.app.Name)
		r.stage = over
	case j.promotable(r):
		r.enter(paused)
		return
	case !j.waits() && h.Status != gitops.Progressing:
		r.stage = over
	case h.Status != gitops.Degraded:
		r.degraded = time.Time{}
	case r.degraded.IsZero():
		r.degraded = now
		j.warn(unitWait, "%s is Degraded: %s", r.app.Name, h.Message)
	}
	if j.spec.Wait == nil || r.stage == over {
		return
	}
	if most := j.spec.Wait.Degraded; most > 0 && !r.degraded.IsZero() && now.Sub(r.degraded) >= most {
		r.fail("it has been Degraded for %s: %s", most, h.Message)
	}
}

// late says whether the time may be up without a failure, and then ends all.
func (j *job) late(all []*running) bool {
	if j.spec.Wait == nil || j.spec.Wait.Fail {
		return false
	}
	for _, r := range all {
		if r.stage < healing {
			return false
		}
	}
	for _, r := range all {
		if r.stage != over {
			r.warning = fmt.Sprintf("%s is %s when the time is up", r.app.Name, r.app.Summary.Health.Status)
			r.stage = over
			j.warn(unitWait, "%s", r.warning)
		}
	}
	return true
}

// ended is what came of all.
func (j *job) ended(all []*running) (task.Result, error) {
	var apps []errand.App
	var failed, warnings []string
	for _, r := range all {
		apps = append(apps, r.app)
		if r.failed != "" {
			failed = append(failed, r.app.Name+": "+r.failed)
			j.warn(unitSync, "%s: %s", r.app.Name, r.failed)
		}
		if r.warning != "" {
			warnings = append(warnings, r.warning)
		}
	}
	out, err := done(apps)
	if err != nil || len(failed) == 0 {
		out.Message = strings.Join(warnings, "; ")
		return out, err
	}
	out.Status, out.FailureTypes = task.Failed, []fault.FailureType{fault.Unknown}
	out.Message = fmt.Sprintf("%d of %d applications failed: %s", len(failed), len(all), strings.Join(failed, "; "))
	return out, nil
}

// merges are the commits that earlier steps of the stage have merged, by the
// repositories.
type merges map[string]string

func (j *job) merged(ctx context.Context) (merges, error) {
	kept, err := j.env.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	out := merges{}
	for _, c := range kept { // the newest first
		if _, ok := errand.MergedOf(c.Key); !ok {
			continue
		}
		var pr errand.PullRequest
		if err := json.Unmarshal(c.Data, &pr); err != nil {
			return nil, fmt.Errorf("decode what was merged: %w", err)
		}
		if url, err := gitops.NormalURL(pr.Repository); err == nil && out[url] == "" {
			out[url] = pr.Merged
		}
	}
	return out, nil
}

// in is the commit that is merged in one of some repositories; empty: there is none.
func (m merges) in(sources []string) string {
	for _, src := range sources {
		if url, err := gitops.NormalURL(src); err == nil && m[url] != "" {
			return m[url]
		}
	}
	return ""
}

// outputs is a result that succeeded, with what expressions read below the step.
func outputs(doc any) (task.Result, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return task.Result{}, fmt.Errorf("encode the outputs: %w", err)
	}
	return task.Result{Status: task.Succeeded, Outputs: text}, nil
}
