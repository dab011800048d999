package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Flags decodes commandFlags, a list of {commandType, flag}. There is no
// kubectl behind a step, so a flag that has no meaning for it is refused (see
// task.ParseFlags). One that is an expression is checked when the step starts.
func Flags(r *yamldoc.Report, v yamldoc.Value, op task.KubernetesOp) []task.CommandFlag {
	var list []task.CommandFlag
	sound := true
	for item := range r.List(v) {
		f, ok := flag(r, item, op)
		list, sound = append(list, f), sound && ok
	}
	if sound && len(list) > 0 {
		if _, err := task.ParseFlags(op, list); err != nil { // flags that exclude each other
			report(r, v, err)
		}
	}
	return list
}

// flag decodes one entry; false if it isn't known to be right.
func flag(r *yamldoc.Report, item yamldoc.Value, op task.KubernetesOp) (task.CommandFlag, bool) {
	command := task.CommandApply
	switch op { //nolint:exhaustive // the others deploy, which is to apply
	case task.OpDelete:
		command = task.CommandDelete
	case task.OpPatch:
		command = task.CommandPatch
	case task.OpRollout:
		command = task.CommandRollout
	}
	var kind, text yamldoc.Field[string]
	var at yamldoc.Value
	for e := range r.Mapping(item) {
		switch e.Key {
		case "commandType":
			kind = r.Enum(e, command)
		case "flag":
			text, at = r.String(e), e
		default:
			r.Unknown(e, "commandType", "flag")
		}
	}
	if item.Is(yamldoc.Mapping) {
		r.Missing(item, "commandType", "flag")
	}
	f := task.CommandFlag{Command: kind.Value, Flag: step.Text(text)}
	if kind.Value != command || !text.Set || text.Expr != "" {
		return f, false
	}
	if err := task.CheckFlag(op, f.Command, f.Flag); err != nil {
		report(r, at, err)
		return f, false
	}
	return f, true
}

func report(r *yamldoc.Report, v yamldoc.Value, err error) {
	if fault.Is(err, fault.Unsupported) {
		r.Unsupported(v, "%s", err)
		return
	}
	r.Errorf(v, "WRONG_VALUE", "%s", err)
}
