package asl

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Failure is an error of a run, by the language's name for it.
type Failure struct {
	Name  string `json:"Error"`
	Cause string `json:"Cause"`
}

// Error is the name and the cause.
func (f *Failure) Error() string { return f.Name + ": " + f.Cause }

// enter moves a thread to a state and on through states that have no effect
// of their own (Pass, Choice, Succeed, Fail), until one that has, or the end
// of the thread. The thread is in memory only: the caller commits it before
// the effect happens.
func (t *thread) enter(name string, input any) {
	for range maxHops {
		t.state, t.input, t.entered, t.retries = name, input, t.run.engine.now(), nil
		t.run.trace(name)
		st := t.states.States[name]
		if !slices.Contains([]string{"Pass", "Choice", "Succeed", "Fail"}, st.Type) {
			t.plan(st)
			return
		}
		next, output, f := t.pass(st)
		switch {
		case f != nil:
			t.fail(f)
			return
		case next == "":
			t.finish(output)
			return
		}
		name, input = next, output
	}
	t.fail(&Failure{Name: "States.Runtime", Cause: fmt.Sprintf("%d states without an effect: a loop", maxHops)})
}

// maxHops ends a loop of Choice and Pass states, which would never commit.
const maxHops = 1000

// pass runs a state without an effect.
func (t *thread) pass(st *state) (next string, output any, f *Failure) {
	ctx := t.context("")
	in, f := st.InputPath.selected(t.input, ctx)
	if f != nil {
		return "", nil, f
	}
	switch st.Type {
	case "Choice":
		next, f = st.choose(in, ctx)
		return next, in, f
	case "Fail":
		return "", nil, st.failure(t.input, ctx)
	case "Pass":
		if in, f = st.Parameters.apply(in, ctx); f != nil {
			return "", nil, f
		}
		if st.Result != nil {
			in, _ = decode(st.Result) // it was JSON when the definition was read
		}
		if in, f = st.ResultPath.put(t.input, in); f != nil {
			return "", nil, f
		}
	}
	output, f = st.OutputPath.selected(in, ctx)
	return st.Next, output, f
}

// choose finds the rule that holds.
func (st *state) choose(in, ctx any) (string, *Failure) {
	for i := range st.Choices {
		ok, f := st.Choices[i].holds(in, ctx)
		if f != nil {
			return "", f
		}
		if ok {
			return st.Choices[i].Next, nil
		}
	}
	if st.Default == "" {
		return "", &Failure{Name: "States.NoChoiceMatched", Cause: "no rule holds"}
	}
	return st.Default, nil
}

func (st *state) failure(input, ctx any) *Failure {
	f := &Failure{Name: st.Error, Cause: st.Cause}
	for _, d := range []struct {
		path *path
		to   *string
	}{{st.ErrorPath, &f.Name}, {st.CausePath, &f.Cause}} {
		if d.path == nil {
			continue
		}
		if v, ok := d.path.get(input, ctx); ok {
			if text, ok := v.(string); ok {
				*d.to = text
			}
		}
	}
	return f
}

// plan readies a thread for the effect of its state: what it will wait for,
// and until when. A new sequence number makes tokens of earlier waits void.
func (t *thread) plan(st *state) {
	t.seq++
	t.deadline, t.beat = time.Time{}, 0
	var f *Failure
	ctx := t.context("")
	switch st.Type {
	case "Task":
		t.wait = waitTask
		if st.Resource == resourceToken {
			t.wait = waitToken
		}
		f = t.limits(st, ctx)
		if st.Resource == resourceStart && f == nil {
			t.wait = waitChild
			f = t.nest()
		}
	case "Wait":
		t.wait = waitTimer
		f = t.pause(st, ctx)
	case "Map", "Parallel":
		t.wait = waitBranches
		f = t.fanOut(st, ctx)
	}
	if f != nil {
		t.recover(f)
	}
}

// limits sets a Task's time-out and heartbeat.
func (t *thread) limits(st *state, ctx any) *Failure {
	timeout, beat := st.TimeoutSeconds, st.HeartbeatSeconds
	var f *Failure
	if st.TimeoutSecondsPath != nil {
		if timeout, f = st.TimeoutSecondsPath.number(t.input, ctx); f != nil {
			return f
		}
	}
	if st.HeartbeatSecondsPath != nil {
		if beat, f = st.HeartbeatSecondsPath.number(t.input, ctx); f != nil {
			return f
		}
	}
	if timeout > 0 {
		t.waitFor(time.Duration(timeout) * time.Second) // each try has its own
	}
	t.beat = time.Duration(beat) * time.Second
	return nil
}

// pause sets a Wait state's end.
func (t *thread) pause(st *state, ctx any) *Failure {
	var f *Failure
	seconds := st.Seconds
	if st.SecondsPath != nil {
		if seconds, f = st.SecondsPath.number(t.input, ctx); f != nil {
			return f
		}
	}
	if st.Timestamp == "" && st.TimestampPath == nil {
		t.waitFor(time.Duration(seconds) * time.Second)
		return nil
	}
	var v any = st.Timestamp
	if st.TimestampPath != nil {
		if v, f = st.TimestampPath.must(t.input, ctx); f != nil {
			return f
		}
	}
	at, ok := timestamp(v)
	if !ok {
		return &Failure{Name: errRuntime, Cause: fmt.Sprintf("%v isn't a timestamp", v)}
	}
	t.since, t.deadline = t.run.engine.now(), at
	return nil
}

// parameters is what a Task's resource is called with.
func (t *thread) parameters(token string) (any, *Failure) {
	st, ctx := t.def(), t.context(token)
	in, f := st.InputPath.selected(t.input, ctx)
	if f != nil {
		return nil, f
	}
	return st.Parameters.apply(in, ctx)
}

// complete ends a state's effect with a result and moves the thread on.
func (t *thread) complete(result any) {
	st, ctx := t.def(), t.context("")
	out, f := st.ResultSelector.apply(result, ctx)
	if f == nil {
		out, f = st.ResultPath.put(t.input, out)
	}
	if f == nil {
		out, f = st.OutputPath.selected(out, ctx)
	}
	switch {
	case f != nil:
		t.recover(f)
	case st.End:
		t.finish(out)
	default:
		t.enter(st.Next, out)
	}
}

// recover handles a failed effect: Retry, then Catch, else the thread fails.
func (t *thread) recover(f *Failure) {
	st := t.def()
	if delay, ok := t.retry(st, f); ok {
		t.seq++
		t.branches, t.left = nil, 0
		t.wait, t.beat = waitRetry, 0
		t.waitFor(delay)
		return
	}
	for _, c := range st.Catch {
		if !equals(c.ErrorEquals, f.Name) {
			continue
		}
		out, bad := c.ResultPath.put(t.input, map[string]any{"Error": f.Name, "Cause": f.Cause})
		if bad != nil {
			t.fail(bad)
			return
		}
		t.branches, t.left = nil, 0
		t.enter(c.Next, out)
		return
	}
	t.fail(f)
}

// retry finds the retrier for a failure and the delay before the next try.
func (t *thread) retry(st *state, f *Failure) (time.Duration, bool) {
	for i, r := range st.Retry {
		if !equals(r.ErrorEquals, f.Name) {
			continue
		}
		for len(t.retries) < len(st.Retry) {
			t.retries = append(t.retries, 0)
		}
		if int64(t.retries[i]) >= or(r.MaxAttempts, 3) {
			return 0, false
		}
		seconds := float64(or(r.IntervalSeconds, 1)) * math.Pow(or(r.BackoffRate, 2), float64(t.retries[i]))
		if r.MaxDelaySeconds > 0 {
			seconds = min(seconds, float64(r.MaxDelaySeconds))
		}
		if r.JitterStrategy == "FULL" {
			seconds *= rand.Float64() //nolint:gosec // jitter needs no secrecy
		}
		t.retries = slices.Clone(t.retries)
		t.retries[i]++
		return time.Duration(seconds * float64(time.Second)), true
	}
	return 0, false
}

func or[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}

// equals says whether a failure is among those that a retrier or catcher
// names.
func equals(names []string, name string) bool {
	for _, n := range names {
		switch {
		case n == name || n == "States.ALL":
			return true
		case n == "States.TaskFailed" && name != "States.Timeout" && name != "States.HeartbeatTimeout":
			return true
		case n == "States.Timeout" && name == "States.HeartbeatTimeout":
			return true // a missed heartbeat is a time-out, too
		}
	}
	return false
}

// context is the context object ($$).
func (t *thread) context(token string) any {
	r := t.run
	ctx := map[string]any{
		"Execution": map[string]any{
			"Id": r.name, "Name": r.name, "Input": r.input, "StartTime": r.started.UTC().Format(time.RFC3339Nano),
		},
		"StateMachine": map[string]any{"Id": r.machine.Name, "Name": r.machine.Name},
		"State": map[string]any{
			"Name": t.state, "EnteredTime": t.entered.UTC().Format(time.RFC3339Nano), "RetryCount": json.Number(fmt.Sprint(sum(t.retries))),
		},
	}
	if token != "" {
		ctx["Task"] = map[string]any{"Token": token}
	}
	for at := t; at != nil; at = at.parent {
		if at.isItem {
			ctx["Map"] = map[string]any{"Item": map[string]any{"Index": json.Number(fmt.Sprint(at.index)), "Value": at.item}}
			break
		}
	}
	return ctx
}

func sum(counts []int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// fanOut makes the branches of a Map or Parallel state, each at its first
// effect. Those over MaxConcurrency stay pending.
func (t *thread) fanOut(st *state, ctx any) *Failure {
	in, f := st.InputPath.selected(t.input, ctx)
	if f != nil {
		return f
	}
	if st.Type == "Parallel" {
		if in, f = st.Parameters.apply(in, ctx); f != nil {
			return f
		}
		for i := range st.Branches {
			t.branch(st.Branches[i], i, in)
		}
		t.startPending(0)
		return nil
	}
	items := in
	if st.ItemsPath != nil {
		if items, f = st.ItemsPath.must(in, ctx); f != nil {
			return f
		}
	}
	list, ok := items.([]any)
	if !ok {
		return &Failure{Name: "States.Runtime", Cause: "the items of " + t.state + " aren't an array"}
	}
	limit, f := st.concurrency(t.input, ctx)
	if f != nil {
		return f
	}
	selector := st.ItemSelector
	if selector == nil {
		selector = st.Parameters // its older name
	}
	for i, item := range list {
		b := t.branch(st.ItemProcessor, i, item)
		b.isItem, b.item = true, item
		if selector != nil {
			if b.input, f = selector.apply(in, b.context("")); f != nil {
				return f
			}
		}
	}
	t.limit = int(limit)
	t.startPending(t.limit)
	if len(list) == 0 {
		t.complete([]any{})
	}
	return nil
}

func (st *state) concurrency(input, ctx any) (int64, *Failure) {
	if st.MaxConcurrencyPath != nil {
		return st.MaxConcurrencyPath.number(input, ctx)
	}
	return st.MaxConcurrency, nil
}

// branch adds a branch that hasn't started.
func (t *thread) branch(s *states, index int, input any) *thread {
	t.run.lastID++
	b := &thread{run: t.run, id: t.run.lastID, parent: t, index: index, states: s, input: input, wait: waitPending}
	t.branches = append(t.branches, b)
	t.left++
	return b
}

// startPending starts branches up to the limit; 0 is no limit. A branch may
// end at once, so what is active is counted anew each time.
func (t *thread) startPending(limit int) {
	for {
		active, next := 0, (*thread)(nil)
		for _, b := range t.branches {
			switch {
			case b.wait == waitPending && next == nil:
				next = b
			case b.wait != waitPending && b.wait != waitEnded:
				active++
			}
		}
		if next == nil || limit > 0 && active >= limit {
			return
		}
		next.enter(next.states.StartAt, next.input)
	}
}

// finish ends a thread with an output: a branch counts towards its parent,
// the root ends the run.
func (t *thread) finish(output any) {
	t.wait, t.output = waitEnded, output
	t.seq++
	if t.parent == nil {
		t.run.end(statusSucceeded, output, nil)
		return
	}
	p := t.parent
	if p.left--; p.left > 0 {
		if p.wait == waitBranches { // not while it is still fanning out
			p.startPending(p.limit)
		}
		return
	}
	outputs := make([]any, len(p.branches))
	for i, b := range p.branches {
		outputs[i] = b.output
	}
	p.branches = nil
	p.complete(outputs)
}

// fail ends a thread with a failure. A branch takes its siblings with it and
// fails its parent's state; the root fails the run.
func (t *thread) fail(f *Failure) {
	t.wait = waitEnded
	t.seq++
	if t.parent == nil {
		t.run.end(statusFailed, nil, f)
		return
	}
	p := t.parent
	p.dropBranches()
	p.recover(f)
}

// dropBranches ends every branch below a thread without a result.
func (t *thread) dropBranches() {
	for _, b := range t.branches {
		b.dropBranches()
		b.wait = waitEnded
		b.seq++
		t.run.dropped(b)
	}
	t.branches, t.left = nil, 0
}
