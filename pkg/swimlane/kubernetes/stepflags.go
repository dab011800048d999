package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// stepFlags decodes commandFlags, a list of {commandType, flag}. There is no
// kubectl behind a step, so a flag that has no meaning for it is refused (see
// ParseFlags). One that is an expression is checked when the step starts.
func stepFlags(d *document.Decoder, v yamldoc.Value, op Op) []CommandFlag {
	var list []CommandFlag
	sound := true
	for item := range d.Items(v) {
		f, ok := stepFlag(d, item, op)
		list, sound = append(list, f), sound && ok
	}
	if sound && len(list) > 0 {
		if _, err := ParseFlags(op, list); err != nil { // flags that exclude each other
			refused(d, v, err)
		}
	}
	return list
}

// stepFlag decodes one entry; false if it isn't known to be right.
func stepFlag(d *document.Decoder, item yamldoc.Value, op Op) (CommandFlag, bool) {
	command := CommandApply
	switch op { //nolint:exhaustive // the others deploy, which is to apply
	case OpDelete:
		command = CommandDelete
	case OpPatch:
		command = CommandPatch
	case OpRollout:
		command = CommandRollout
	}
	var kind, text yamldoc.Field[string]
	var at yamldoc.Value
	d.Fields(item, document.Keys{
		"commandType": d.Word(&kind, command),
		"flag":        func(e yamldoc.Value) { text, at = d.String(e), e },
	})
	d.Need(item, "commandType", "flag")
	f := CommandFlag{Command: kind.Value, Flag: step.Text(text)}
	if kind.Value != command || !text.Set || text.Expr != "" {
		return f, false
	}
	if err := CheckFlag(op, f.Command, f.Flag); err != nil {
		refused(d, at, err)
		return f, false
	}
	return f, true
}
