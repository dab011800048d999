package mirror

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/amend"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Amended is the document of an application as a step wants it, for who saves it.
type Amended struct {
	Key     store.EntityKey
	Version int64 // that it was made from
	Before  []byte
	Text    []byte
	Change  errand.Change
	App     errand.App
	By      audit.Author
}

// Amend gives the document of the application that a task is about, with the task's
// change. Where that is empty it is what the stage found before it changed it; kept are
// the stage's checkpoints, by their keys.
func (m *Mirror) Amend(ctx context.Context, t store.Task, spec errand.Applications, q errand.Ask, kept func(key string) (json.RawMessage, bool)) (Amended, error) {
	var out Amended
	if t.Kind != errand.KindApplications || spec.Update == nil {
		return out, fault.New(fault.Forbidden, "task %s changes no application", t.ID)
	}
	found, _, err := m.meant(ctx, t.Scope, spec, q.Sets)
	if err != nil {
		return out, err
	}
	if len(found) != 1 || len(q.Apps) != 1 {
		return out, fault.New(fault.Forbidden, "task %s changes one application; found %d", t.ID, len(q.Apps))
	}
	one, err := among(found, q.Apps[0])
	if err != nil {
		return out, err
	}
	if one.set != "" {
		return out, fault.New(fault.Conflict, "application %s is made by the application set %s, which would take back what is changed of it; change the set, or what its generators read", one.app.Name, one.set)
	}
	saved, err := m.Store.Entity(ctx, one.key)
	if err != nil {
		return out, err
	}
	e, err := m.Store.Execution(ctx, t.Execution)
	if err != nil {
		return out, fault.Wrap(err, "execution %s", t.Execution)
	}
	out = Amended{Key: one.key, Version: saved.Version, Before: saved.YAML, App: one.app, Change: errand.Changed, By: audit.Author{Actor: e.Actor, Request: t.Execution}}
	switch before, there := kept(errand.Before(one.app.Agent, one.app.Name)); {
	case spec.Update.Empty() && !there:
		out.Text, out.Change = saved.YAML, errand.Untouched
	case spec.Update.Empty():
		var text string
		if err := json.Unmarshal(before, &text); err != nil {
			return out, fmt.Errorf("decode what application %s was: %w", one.app.Name, err)
		}
		out.Text, out.Change = []byte(text), errand.Restored
	default:
		if out.Text, err = amend.Application(saved.YAML, *spec.Update); err != nil {
			return out, fault.Wrap(err, "application %s", one.app.Name)
		}
	}
	if out.Change != errand.Untouched && string(out.Text) == string(saved.YAML) {
		out.Change = errand.Unchanged
	}
	return out, nil
}
