package errands

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/task"
)

// unitRollout is the command unit of a Rollout.
const unitRollout = "Rollout"

// rollout waits until a Rollout of Argo's fares as it is to, and has an action done to
// it then. Its agent says how it is whenever that has changed.
func (j *job) rollout(ctx context.Context) (task.Result, error) {
	want := j.spec.Rollout
	if want == nil {
		return task.Result{}, fault.New(fault.Invalid, "the task names no Rollout")
	}
	message, err := regexp.Compile(want.Message)
	if err != nil {
		return task.Result{}, fault.New(fault.Invalid, "healthMessage: %w", err)
	}
	begun := time.Now()
	app, err := j.one(ctx)
	if err != nil {
		return task.Result{}, err
	}
	until := begun.Add(j.within - max(2*time.Second, j.within/20))
	var seen protocol.Rollout
	for round, ended := 0, 0; ; round++ {
		now, err := j.seen(ctx, app, round, seen.Sum)
		if err != nil {
			return task.Result{}, err
		}
		if now.Sum != seen.Sum {
			j.say(unitRollout, "%s is %s: %s", want.Name, now.Health.Status, cmp.Or(now.Health.Message, "no message"))
		}
		met := want.Health == "" || now.Health.Status == want.Health && message.MatchString(now.Health.Message)
		ended++
		if now.Health.Status != seen.Health.Status || now.Health.Status != gitops.Healthy && now.Health.Status != gitops.Degraded {
			ended = 1
		}
		seen = now
		switch {
		case met:
			return j.acted(ctx, app, seen)
		case ended > 1 && seen.Health.Status == gitops.Healthy:
			return rolledOut(seen, fmt.Sprintf("%s is Healthy, and comes to no other end", want.Name))
		case ended > 1 && seen.Health.Status == gitops.Degraded:
			r, err := rolledOut(seen, fmt.Sprintf("%s is Degraded while %s is waited for: %s", want.Name, want.Health, seen.Health.Message))
			r.Status, r.FailureTypes = task.Failed, []fault.FailureType{fault.Unknown}
			return r, err
		case j.within > 0 && !want.Fail && time.Now().After(until):
			text := fmt.Sprintf("%s is %s when the time is up, not %s; nothing is done to it", want.Name, seen.Health.Status, want.Health)
			j.warn(unitRollout, "%s", text)
			return rolledOut(seen, text)
		}
	}
}

// acted has the action done that is asked for.
func (j *job) acted(ctx context.Context, app errand.App, seen protocol.Rollout) (task.Result, error) {
	want := j.spec.Rollout
	if want.Action == "" {
		return rolledOut(seen, fmt.Sprintf("%s is %s", want.Name, seen.Health.Status))
	}
	r, err := j.told(ctx, app, errand.Ask{Do: errand.DoAct})
	if err != nil {
		return task.Result{}, err
	}
	if r.Failed {
		return task.Result{}, fault.New(fault.Invalid, "Action '%s' failed: %s", want.Action, r.Message)
	}
	j.say(unitRollout, "%s: %s is done", want.Name, want.Action)
	return rolledOut(seen, fmt.Sprintf("%s was %s; %s is done", want.Name, seen.Health.Status, want.Action))
}

// seen is how the Rollout is, as soon as that isn't what is known, or after a while.
func (j *job) seen(ctx context.Context, app errand.App, round int, known string) (protocol.Rollout, error) {
	var out protocol.Rollout
	r, err := j.told(ctx, app, errand.Ask{Do: errand.DoRollout, Round: round, Seen: known})
	switch {
	case err != nil:
		return out, err
	case r.Failed:
		return out, fault.New(fault.Invalid, "%s", r.Message)
	}
	if err := json.Unmarshal(r.Data, &out); err != nil {
		return out, fmt.Errorf("decode how the Rollout is: %w", err)
	}
	return out, nil
}

// told asks something of an application's agent, and waits for the answer.
func (j *job) told(ctx context.Context, app errand.App, q errand.Ask) (protocol.Result, error) {
	q.Apps = []errand.Named{{Agent: app.Agent, Name: app.Name}}
	for pause := j.pace.First; ; pause = min(pause*3/2, j.pace.Last) {
		answer, err := j.ask(ctx, q)
		if err != nil {
			return protocol.Result{}, err
		}
		if len(answer.Apps) != 1 || answer.Apps[0].Request == nil {
			return protocol.Result{}, fault.New(fault.Internal, "the control plane has made no request")
		}
		one := answer.Apps[0].Request
		if one.Result != nil {
			return *one.Result, nil
		}
		q = errand.Ask{Do: errand.DoLook, Apps: []errand.Named{{Agent: app.Agent, Name: app.Name, Request: one.ID}}}
		select {
		case <-ctx.Done():
			return protocol.Result{}, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// rolledOut is a result that succeeded, with what expressions read of a Rollout.
func rolledOut(r protocol.Rollout, message string) (task.Result, error) {
	out := errand.Done{}
	out.GitOps.Applications = []errand.Seen{}
	out.GitOps.Rollout = &errand.SeenRollout{Status: r.Health.Status, Message: r.Health.Message, Strategy: r.Strategy, Step: r.Step, Weight: r.Weight}
	result, err := outputs(out)
	result.Message = message
	return result, err
}
