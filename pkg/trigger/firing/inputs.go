package firing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// inputsOf are the inputs that a trigger gives its pipeline. Expressions of
// the event are resolved, all others stay (semantics/pipeline §11.1).
func inputsOf(t *entity.Trigger, e trigger.Event) (launch.Inputs, error) {
	scope := e.Names()
	sets, err := setsOf(t, scope)
	if err != nil {
		return launch.Inputs{}, err
	}
	doc, err := resolved(t.Inputs, scope)
	if err != nil {
		return launch.Inputs{}, fmt.Errorf("the inputYaml: %w", err)
	}
	// The pipeline may have been changed since the trigger was saved.
	return launch.Inputs{Sets: sets, Document: doc, Lenient: true}, nil
}

// setsOf are the input sets' identifiers.
func setsOf(t *entity.Trigger, scope expr.Scope) ([]string, error) {
	var sets []string
	for _, f := range t.InputSets {
		v, err := expr.Interpolate(f.Value+f.Expr, scope)
		if err != nil {
			return nil, fmt.Errorf("the inputSetRefs: %w", err)
		}
		sets = append(sets, v.Text())
	}
	if body := t.InputSetList.Expr; strings.TrimSpace(body) != "" {
		v, err := expr.Evaluate(body, scope)
		if err != nil {
			return nil, fmt.Errorf("the inputSetRefs: %w", err)
		}
		switch v.Kind() {
		case expr.KindNull:
		case expr.KindList:
			for _, item := range v.Items() {
				sets = append(sets, item.Text())
			}
		default:
			for id := range strings.SplitSeq(v.Text(), ",") {
				sets = append(sets, strings.TrimSpace(id))
			}
		}
	}
	return slices.DeleteFunc(sets, func(id string) bool { return id == "" }), nil
}

// resolved gives a document with the texts that only the event's expressions
// are in replaced by their values. Others stay for the pipeline, which knows
// the event as well. So does a text whose value looks like an expression: the
// pipeline never reads a result as one. Otherwise who may push a branch could
// name a secret in it.
func resolved(n *yamldoc.Node, scope expr.Scope) (*yamldoc.Node, error) {
	if n == nil {
		return nil, nil
	}
	out := *n
	out.Items, out.Entries = slices.Clone(n.Items), slices.Clone(n.Entries)
	var err error
	for i, item := range out.Items {
		if out.Items[i], err = resolved(item, scope); err != nil {
			return nil, err
		}
	}
	for i, e := range out.Entries {
		if out.Entries[i].Value, err = resolved(e.Value, scope); err != nil {
			return nil, err
		}
	}
	if n.Kind != yamldoc.Scalar || !ofEvent(n.Value) {
		return &out, nil
	}
	v, err := expr.InterpolateKnown(n.Value, scope)
	if err != nil {
		return nil, fault.Wrap(err, "%s", n.Value)
	}
	if text := v.Text(); !strings.Contains(text, "<+") {
		out.Value, out.Tag = text, yamldoc.Str
	}
	return &out, nil
}

// ofEvent says whether a text has expressions, all of them the event's.
func ofEvent(text string) bool {
	paths := expr.References(text)
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(path []string) bool {
		return path[0] != "trigger" && path[0] != "eventPayload"
	})
}
