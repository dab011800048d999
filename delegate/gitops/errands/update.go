package errands

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/task"
)

// unitUpdate is the command unit of an application's document.
const unitUpdate = "Update application"

// update has the document of an application changed.
func (j *job) update(ctx context.Context) (task.Result, error) {
	app, err := j.one(ctx)
	if err != nil {
		return task.Result{}, err
	}
	answer, err := j.ask(ctx, errand.Ask{Do: errand.DoUpdate, Apps: []errand.Named{{Agent: app.Agent, Name: app.Name}}})
	if err != nil {
		return task.Result{}, err
	}
	if len(answer.Apps) != 1 {
		return task.Result{}, fault.New(fault.Internal, "the control plane tells of %d applications; want one", len(answer.Apps))
	}
	text := map[errand.Change]string{
		errand.Changed: "the document is changed", errand.Unchanged: "the document says so already",
		errand.Restored: "the document is as it was before the stage", errand.Untouched: "no earlier step of the stage has changed the document; it stays as it is",
	}[answer.Apps[0].Change]
	j.say(unitUpdate, "%s: %s", app.Name, text)
	r, err := done(answer.Apps)
	r.Message = app.Name + ": " + text
	return r, err
}

// one is the application that a step is about which names one.
func (j *job) one(ctx context.Context) (errand.App, error) {
	found, err := j.find(ctx)
	if err != nil {
		return errand.App{}, err
	}
	if len(found) != 1 {
		return errand.App{}, fault.New(fault.Invalid, "found %d applications; the step is about one", len(found))
	}
	return found[0], nil
}
