package asl

import (
	"fmt"
	"slices"
	"time"
)

// Failure is an error of a run, by the language's name for it.
type Failure struct {
	Name  string `json:"Error"`
	Cause string `json:"Cause"`

	sent  bool // by SendTaskFailure, where a name or a cause may be missing
	beats bool // a time-out for a missed heartbeat
}

// Error is the name and the cause.
func (f *Failure) Error() string { return f.Name + ": " + f.Cause }

// output is what a catcher gets. What SendTaskFailure didn't say is null.
func (f *Failure) output() map[string]any {
	out := map[string]any{"Error": f.Name, "Cause": f.Cause}
	for key, v := range out {
		if f.sent && v == "" {
			out[key] = nil
		}
	}
	return out
}

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
	t.fail(&Failure{Name: errRuntime, Cause: fmt.Sprintf("%d states without an effect: a loop", maxHops)})
}

// maxHops ends a loop of Choice and Pass states, which would never commit: as
// many as the 25,000 events of a run on AWS have room for.
const maxHops = 12500

// pass runs a state without an effect.
func (t *thread) pass(st *state) (next string, output any, f *Failure) {
	ctx := t.context("")
	in, f := st.InputPath.selected(t.input, ctx)
	if f != nil {
		return "", nil, f
	}
	switch st.Type {
	case "Choice":
		if next, f = st.choose(in, ctx); f == nil {
			output, f = st.OutputPath.selected(in, ctx)
		}
		return next, output, f
	case "Fail":
		failure, bad := st.failure(t.input, ctx)
		if bad != nil {
			return "", nil, bad
		}
		return "", nil, failure
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
	if output, f = st.OutputPath.selected(in, ctx); f == nil && st.Type == "Pass" {
		f = tooLarge(output, t.state)
	}
	return st.Next, output, f
}

// choose finds the rule that holds.
func (st *state) choose(in any, ctx lookup) (string, *Failure) {
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
		return "", &Failure{Name: errNoChoice, Cause: "No choice rule matched and no Default state was found."}
	}
	return st.Default, nil
}

// failure is what a Fail state fails with.
func (st *state) failure(input any, ctx lookup) (f, bad *Failure) {
	f = &Failure{Name: st.Error, Cause: st.Cause}
	for _, d := range []struct {
		field string
		from  *text
		to    *string
	}{{"ErrorPath", st.ErrorPath, &f.Name}, {"CausePath", st.CausePath, &f.Cause}} {
		if d.from == nil {
			continue
		}
		v, bad := d.from.eval(input, ctx)
		if bad != nil {
			return nil, bad
		}
		text, ok := v.(string)
		if !ok {
			return nil, &Failure{Name: errRuntime, Cause: fmt.Sprintf("%s is %s; want a text", d.field, encode(v))}
		}
		*d.to = text
	}
	return f, nil
}

// plan readies a thread for the effect of its state: what it will wait for,
// and until when. A new sequence number makes tokens of earlier waits void.
func (t *thread) plan(st *state) {
	t.moved()
	t.deadline, t.beat = time.Time{}, 0
	var f *Failure
	ctx := t.context("")
	switch st.Type {
	case "Task":
		t.wait = waitTask
		if st.Resource == resourceToken {
			t.wait = waitToken
		}
		if f = t.limits(st, ctx); f == nil && st.Resource == resourceStart {
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
func (t *thread) limits(st *state, ctx lookup) *Failure {
	timeout, beat := or(st.TimeoutSeconds, 0), or(st.HeartbeatSeconds, 0)
	var f *Failure
	if st.TimeoutSecondsPath != nil {
		if timeout, f = st.TimeoutSecondsPath.number("TimeoutSecondsPath", 1, t.input, ctx); f != nil {
			return f
		}
	}
	if st.HeartbeatSecondsPath != nil {
		if beat, f = st.HeartbeatSecondsPath.number("HeartbeatSecondsPath", 1, t.input, ctx); f != nil {
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
func (t *thread) pause(st *state, ctx lookup) *Failure {
	in, f := st.InputPath.selected(t.input, ctx)
	if f != nil {
		return f
	}
	seconds := or(st.Seconds, 0)
	if st.SecondsPath != nil {
		if seconds, f = st.SecondsPath.number("SecondsPath", 0, in, ctx); f != nil {
			return f
		}
	}
	if st.Timestamp == "" && st.TimestampPath == nil {
		t.waitFor(time.Duration(seconds) * time.Second)
		return nil
	}
	var v any = st.Timestamp
	if st.TimestampPath != nil {
		if v, f = st.TimestampPath.must(in, ctx); f != nil {
			return f
		}
	}
	at, ok := timestamp(v)
	if !ok {
		return &Failure{Name: errRuntime, Cause: fmt.Sprintf(
			"The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: %s == %s", st.TimestampPath.text, shown(v))}
	}
	t.since, t.deadline = t.run.engine.now(), at
	return nil
}

// parameters is what a Task's resource is called with.
func (t *thread) parameters(token string) (map[string]any, *Failure) {
	st, ctx := t.def(), t.context(token)
	in, f := st.InputPath.selected(t.input, ctx)
	if f != nil {
		return nil, f
	}
	v, f := st.Parameters.apply(in, ctx)
	if f == nil {
		f = tooLarge(v, t.state)
	}
	params, _ := v.(map[string]any)
	return params, f
}

// complete ends a state's effect with a result and moves the thread on.
func (t *thread) complete(result any) {
	st, ctx := t.def(), t.context("")
	out, f := st.ResultSelector.apply(result, ctx)
	if f == nil {
		out, f = st.ResultPath.put(t.input, out)
	}
	if f != nil {
		t.recover(f)
		return
	}
	if out, f = st.OutputPath.selected(out, ctx); f == nil {
		f = tooLarge(out, t.state)
	}
	switch {
	case f != nil:
		t.fail(f)
	case st.End:
		t.finish(out)
	default:
		t.enter(st.Next, out)
	}
}

// passed ends a Wait state, whose output is its input.
func (t *thread) passed() {
	st, ctx := t.def(), t.context("")
	out, f := st.InputPath.selected(t.input, ctx)
	if f == nil {
		out, f = st.OutputPath.selected(out, ctx)
	}
	switch {
	case f != nil:
		t.fail(f)
	case st.End:
		t.finish(out)
	default:
		t.enter(st.Next, out)
	}
}

// recover handles a failed effect: Retry, then Catch, else the thread fails.
func (t *thread) recover(f *Failure) {
	t.dropBranches()
	st := t.def()
	if delay, ok := t.retry(st, f); ok {
		t.moved()
		t.wait, t.beat = waitRetry, 0
		t.waitFor(delay)
		return
	}
	for _, c := range st.Catch {
		if !equals(c.ErrorEquals, f) {
			continue
		}
		out, bad := c.ResultPath.put(t.input, f.output())
		if bad == nil {
			bad = tooLarge(out, t.state)
		}
		if bad != nil {
			t.fail(bad)
			return
		}
		t.enter(c.Next, out)
		return
	}
	t.fail(f)
}

// fail ends a thread with a failure. A branch takes its siblings with it and
// fails its parent's state; the root fails the run.
func (t *thread) fail(f *Failure) {
	t.wait = waitEnded
	t.moved()
	if t.parent == nil {
		t.run.end(statusFailed, nil, f)
		return
	}
	p := t.parent
	p.recover(f)
}
