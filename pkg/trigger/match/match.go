// Package match says which triggers want an event: it compares one with where
// and to what a trigger listens, and with its conditions
// (semantics/pipeline §11.2).
//
// It is pure. What an event says is read by pkg/trigger, and what a fitting
// trigger starts is pkg/trigger/firing's.
package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/trigger"
)

// Concerns says whether a webhook listens to the kind of event and to where it
// happened. repository is the URL that its connector and repoName give; a
// Custom one has none.
func Concerns(w entity.Webhook, repository string, e trigger.Event) bool {
	if w.Host.Value != e.Source {
		return false
	}
	if e.Source == trigger.Custom {
		return true
	}
	if !slices.Contains(e.Types, w.Event.Value) {
		return false
	}
	want := trigger.Location(repository)
	return slices.ContainsFunc(e.Repository, func(u string) bool { return trigger.Location(u) == want })
}

// Webhook compares an event that concerns a webhook with its actions and
// conditions, all of which must hold (semantics/pipeline §11.2). Empty: they
// do; else it says what doesn't. The error is of a condition that can't be
// evaluated.
func Webhook(w entity.Webhook, e trigger.Event) (mismatch string, err error) {
	if m := action(w, e); m != "" {
		return m, nil
	}
	scope := e.Names()
	for _, c := range w.Payload {
		if m, err := condition(c, e, scope); m != "" || err != nil {
			return m, err
		}
	}
	for _, c := range w.Headers {
		if !strings.Contains(c.Key, "<+") {
			c.Key = fmt.Sprintf("<+trigger.header[%q]>", c.Key)
		}
		if m, err := condition(c, e, scope); m != "" || err != nil {
			return m, err
		}
	}
	return jexl(w.JEXL.Value+w.JEXL.Expr, scope)
}

// jexl evaluates a jexlCondition; none holds.
func jexl(body string, scope expr.Scope) (mismatch string, err error) {
	ok, err := expr.Condition(body, scope)
	if err != nil {
		return "", fmt.Errorf("the jexlCondition: %w", err)
	}
	if !ok {
		return "the jexlCondition is false", nil
	}
	return "", nil
}

// action compares the action; none wanted means any.
func action(w entity.Webhook, e trigger.Event) string {
	var want []string
	for _, f := range w.Actions {
		if f.Value == e.Action {
			return ""
		}
		want = append(want, f.Value)
	}
	if len(want) == 0 {
		return ""
	}
	return fmt.Sprintf("the action is %s; the trigger wants %s", e.Action, strings.Join(want, ", "))
}

// condition says in which way one isn't met.
func condition(c entity.Condition, e trigger.Event, scope expr.Scope) (string, error) {
	if c.Key == entity.ChangedFiles {
		return changedFiles(c, e)
	}
	actual, err := actual(c.Key, scope)
	if err != nil {
		return "", err
	}
	ok, err := holds(c, actual)
	if err != nil || ok {
		return "", err
	}
	return fmt.Sprintf("%s is %q, not %s", c.Key, shorten(actual), describe(c)), nil
}

// actual is the text that a condition compares. What isn't there is "null".
func actual(key string, scope expr.Scope) (string, error) {
	switch key {
	case entity.SourceBranch:
		key = "<+trigger.sourceBranch>"
	case entity.TargetBranch:
		key = "<+trigger.targetBranch>"
	}
	v, err := expr.Interpolate(key, scope)
	var unresolved *expr.Unresolved
	switch {
	case errors.As(err, &unresolved):
		return "null", nil
	case err != nil:
		return "", fmt.Errorf("the condition's key %s: %w", key, err)
	case v.IsNull():
		return "null", nil
	}
	return v.Text(), nil
}

// changedFiles holds if any file satisfies, or, of an operator that says not,
// if none violates.
func changedFiles(c entity.Condition, e trigger.Event) (string, error) {
	if !e.FilesKnown {
		return "changedFiles can't be compared: the delivery doesn't list all files that changed", nil
	}
	not := c.Operator == entity.NotEquals || c.Operator == entity.NotIn || c.Operator == entity.DoesNotContain
	for _, file := range e.Files {
		ok, err := holds(c, file)
		if err != nil {
			return "", err
		}
		switch {
		case ok && !not:
			return "", nil
		case !ok && not:
			return fmt.Sprintf("the changed file %q isn't %s", file, describe(c)), nil
		}
	}
	if not {
		return "", nil
	}
	return fmt.Sprintf("none of %d changed files is %s", len(e.Files), describe(c)), nil
}

func describe(c entity.Condition) string { return fmt.Sprintf("%s %q", c.Operator, c.Value) }

// shorten cuts a value that goes into a message.
func shorten(s string) string {
	const shown = 100
	if r := []rune(s); len(r) > shown {
		return string(r[:shown]) + "…"
	}
	return s
}
