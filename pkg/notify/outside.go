package notify

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/notify/message"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/target"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// outside lists the messages that are due after a trigger has started nothing,
// by the rules that its pipeline has now. A pipeline that isn't there any more,
// or can't be read, has none.
func (n *Notifier) outside(ctx context.Context, e feed.Event, types []string) (store.Execution, []delivery, error) {
	d := e.Detail
	x := store.Execution{Scope: ref.Scope{Account: d.Account, Org: d.Org, Project: d.Project}, Pipeline: d.Pipeline}
	doc, err := n.pipeline(ctx, x)
	switch {
	case err != nil && hopeless(err):
		n.Log.WarnContext(ctx, "nobody was told of a trigger that failed", "pipeline", d.Pipeline, "trigger", d.Trigger.ID, "error", err)
		return x, nil, nil
	case err != nil:
		return x, nil, err
	}
	if name := doc.Get("name"); name != nil {
		e.Detail.PipelineName = name.Value
	}
	var out []delivery
	for _, rule := range entity.NotificationRules(doc, x.Scope, yamldoc.NewReport("")) {
		for _, typ := range types {
			if !message.Meets(rule, typ, "", "") {
				continue
			}
			some, err := n.deliveries(ctx, delivery{execution: x, pipeline: doc, event: e, rule: rule, typ: typ})
			if err != nil {
				return x, nil, err
			}
			out = append(out, some...)
		}
	}
	return x, out, nil
}

// pipeline is a pipeline's document as it is now, with what templates bring.
func (n *Notifier) pipeline(ctx context.Context, x store.Execution) (*yamldoc.Node, error) {
	e, err := n.Entities.Entity(ctx, store.EntityKey{Scope: x.Scope, Kind: ref.Pipeline, ID: x.Pipeline})
	if err != nil {
		return nil, err
	}
	reader := target.Reader{Entities: n.Entities, Scope: x.Scope}
	return reader.Document(ctx, e)
}

// texts resolves texts in a message's context: those with more names are for
// templates, whose expressions may be blank.
func (n *Notifier) texts(ctx context.Context, d delivery, texts map[string]string, names map[string]expr.Value) (engine.Texts, error) {
	blank := names != nil
	switch {
	case d.pipeline != nil:
		key := store.EntityKey{Scope: d.execution.Scope, Kind: ref.Pipeline, ID: d.execution.Pipeline}
		return n.Engine.Reader.ResolveOutside(ctx, key, d.pipeline, texts, names, blank)
	case blank:
		return n.Engine.Reader.ResolveBlank(ctx, d.execution.ID, d.node, texts, names)
	}
	return n.Engine.Reader.ResolveKnown(ctx, d.execution.ID, d.node, texts)
}

// trigger tells what a message says of the trigger that failed; one that is
// gone is known by its identifier.
func (n *Notifier) trigger(ctx context.Context, d delivery, origin *message.Origin) error {
	if d.event.Detail.Trigger == nil {
		return nil
	}
	origin.Trigger = "" // nothing was started
	e, err := n.Entities.Entity(ctx, store.EntityKey{Scope: d.execution.Scope, Kind: ref.Trigger, Env: d.execution.Pipeline, ID: d.event.Detail.Trigger.ID})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	docs, report := yamldoc.Parse("trigger", e.YAML)
	if len(docs) != 1 || report.Failed() {
		return nil
	}
	text := func(path ...string) string {
		if v := docs[0].Get(string(ref.Trigger)).At(path...); v != nil && v.Kind == yamldoc.Scalar {
			return v.Value
		}
		return ""
	}
	origin.TriggerName, origin.TriggerSource, origin.TriggerSubtype = text("name"), text("source", "type"), text("source", "spec", "type")
	return nil
}
