package entity

import (
	"slices"
	"strconv"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// FailureStrategy says what is done about some types of failure
// (semantics/pipeline §5.1).
type FailureStrategy struct {
	Errors []yamldoc.Field[string]
	Action Action
}

// Action is what a failure strategy does.
type Action struct {
	Type           yamldoc.Field[string]
	RetryCount     yamldoc.Field[int]
	RetryIntervals []yamldoc.Field[time.Duration]
	Condition      yamldoc.Field[string] // of Retry
	Timeout        yamldoc.Field[time.Duration]
	FailAll        yamldoc.Field[bool] // of StageRollback and PipelineRollback
	Then           *Action             // when the retries or the time of an intervention are used up
}

// The actions that have a spec; the others are told apart by name only.
const (
	actionRetry        = "Retry"
	actionIntervention = "ManualIntervention"
	actionRollback     = "StageRollback"
	actionUndo         = "PipelineRollback"
	actionGroupBack    = "StepGroupRollback"
	actionGroupAgain   = "RetryStepGroup"
	actionDefaults     = "ProceedWithDefaultValues"
)

func supportedActions() []string {
	return []string{
		"Ignore", "MarkAsSuccess", "MarkAsFailure", "Abort", actionRetry, actionRollback, actionIntervention,
		actionUndo, actionGroupBack, actionGroupAgain, actionDefaults,
	}
}

// level is where a failure strategy stands.
type level struct {
	node     string // stage, stepGroup or step
	stage    string // the stage's type
	rollback bool
	within   []string // the actions whose fallback this one is
}

// failureStrategies binds the strategies of a node.
func (d steps) failureStrategies(list *[]FailureStrategy, l level) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		types := document.Seen{}
		for item := range d.Items(v) {
			var one FailureStrategy
			d.Named(item, "failureStrategy")
			d.Fields(item, document.Keys{"onFailure": func(v yamldoc.Value) {
				d.Fields(v, document.Keys{
					"errors":      func(v yamldoc.Value) { one.Errors = d.errors(v, types) },
					"action":      d.action(&one.Action, l),
					"description": document.Nothing,
				})
				d.Need(v, "errors", "action")
			}})
			d.Need(item, "onFailure")
			*list = append(*list, one)
		}
	}
}

func (d steps) errors(v yamldoc.Value, types document.Seen) []yamldoc.Field[string] {
	var words []string
	for _, t := range fault.FailureTypes() {
		words = append(words, string(t))
	}
	var out []yamldoc.Field[string]
	all := false
	for item := range d.Items(v) {
		var f yamldoc.Field[string]
		d.Literal(&f, words...)(item)
		out = append(out, f)
		all = all || f.Value == string(fault.AllErrors)
		if first, ok := types.Again(f.Value, f.At); ok && f.Value != "" {
			d.Warnf(item, badStrategy, "%s has a strategy already, in line %d, which is the one that holds", f.Value, first.Line)
		}
	}
	if all && len(out) > 1 {
		d.Warnf(v, badStrategy, "AllErrors holds for every failure; the other types beside it change nothing")
	}
	d.Empty(v, "found no failure types: the strategy holds for no failure; want one, such as AllErrors")
	return out
}

// action binds an action.
func (d steps) action(a *Action, l level) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		typ := document.Peek(v, "type")
		d.Named(v, "action")
		d.Fields(v, document.Keys{
			"type": func(v yamldoc.Value) { d.actionType(v, a, l) },
			"spec": func(v yamldoc.Value) { d.actionSpec(v, typ, a, l) },
		})
		d.Need(v, "type")
		if typ == actionRetry || typ == actionIntervention || typ == actionGroupAgain {
			d.Need(v, "spec")
		}
	}
}

// actionType checks the rules of semantics/pipeline §5.2 on where an action may
// stand.
func (d steps) actionType(v yamldoc.Value, a *Action, l level) {
	f := &a.Type
	d.Literal(f, supportedActions()...)(v)
	switch typ := f.Value; {
	case (typ == actionGroupAgain || typ == actionGroupBack) && l.node != "stepGroup":
		d.Errorf(v, badStrategy, "%s is for a stepGroup only; this is a %s", typ, l.node)
	case (typ == actionRollback || typ == actionUndo) && l.stage == stageApproval:
		d.Errorf(v, badStrategy, "%s can't be used in an Approval stage: it has nothing to roll back", typ)
	case typ == actionRollback && l.stage == stagePipeline:
		d.Errorf(v, badStrategy, "%s can't be used in a Pipeline stage: the other pipeline rolls itself back", typ)
	case slices.Contains(l.within, typ):
		d.Errorf(v, badStrategy, "%s can't be the fallback of %s", typ, typ)
	case slices.Contains([]string{actionRollback, actionUndo, actionGroupBack, actionGroupAgain}, typ) && l.rollback:
		d.Warnf(v, badStrategy, "a step of rollbackSteps can't start a rollback; %s counts as MarkAsFailure there", typ)
	}
}

func (d steps) actionSpec(v yamldoc.Value, typ string, a *Action, l level) {
	l.within = append(slices.Clone(l.within), typ)
	switch typ {
	case actionRetry:
		d.Fields(v, document.Keys{
			"retryCount":     func(v yamldoc.Value) { a.RetryCount = d.retryCount(v) },
			"retryIntervals": func(v yamldoc.Value) { a.RetryIntervals = d.retryIntervals(v) },
			"condition":      d.Condition(&a.Condition),
			"onRetryFailure": d.fallback(a, l),
		})
		d.Need(v, "retryCount", "retryIntervals", "onRetryFailure")
	case actionIntervention:
		d.Fields(v, document.Keys{
			"timeout": func(v yamldoc.Value) {
				a.Timeout = d.Duration(v)
				d.Fixed(v, a.Timeout.Expr)
			},
			"onTimeout": d.fallback(a, l),
		})
		d.Need(v, "timeout", "onTimeout")
	case actionGroupAgain:
		d.Fields(v, document.Keys{
			"retryCount":     func(v yamldoc.Value) { a.RetryCount = d.retryCount(v) },
			"retryIntervals": func(v yamldoc.Value) { a.RetryIntervals = d.retryIntervals(v) },
		})
		d.Need(v, "retryCount", "retryIntervals")
	case actionRollback, actionUndo:
		d.Fields(v, document.Keys{"failAll": func(v yamldoc.Value) {
			a.FailAll = d.Bool(v)
			d.Fixed(v, a.FailAll.Expr)
		}})
	default:
		d.Fields(v, document.Keys{})
	}
}

func (d steps) fallback(a *Action, l level) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		a.Then = &Action{}
		d.Fields(v, document.Keys{"action": d.action(a.Then, l)})
		d.Need(v, "action")
	}
}

func (d steps) retryCount(v yamldoc.Value) yamldoc.Field[int] {
	f := d.Int(v)
	d.Fixed(v, f.Expr)
	if f.Set && f.Expr == "" && f.Value < 1 && isNumber(v) {
		d.Errorf(v, document.WrongValue, "found %d retries; want one at least", f.Value)
	}
	return f
}

func isNumber(v yamldoc.Value) bool {
	_, err := strconv.Atoi(v.Node.Value)
	return err == nil
}

func (d steps) retryIntervals(v yamldoc.Value) []yamldoc.Field[time.Duration] {
	var out []yamldoc.Field[time.Duration]
	for item := range d.Items(v) {
		f := d.Duration(item)
		d.Fixed(item, f.Expr)
		out = append(out, f)
	}
	d.Empty(v, "found no intervals: it is tried again at once; want one, such as 10s")
	return out
}
