package kubernetes

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// stepFlags decodes commandFlags, a list of {commandType, flag}. There is no
// kubectl behind a step, so a flag that has no meaning for it is refused (see
// ParseFlags). One that is an expression is checked when the step starts.
func stepFlags(d *document.Decoder, v yamldoc.Value, op Op) []origin.CommandFlag {
	var list []origin.CommandFlag
	sound := true
	for item := range d.Items(v) {
		f, ok := stepFlag(d, item, op)
		list, sound = append(list, f), sound && ok
	}
	if sound && len(list) > 0 {
		if _, err := ParseFlags(op, list); err != nil { // flags that exclude each other
			d.Failed(v, err)
		}
	}
	return list
}

// stepFlag decodes one entry; false if it isn't known to be right.
func stepFlag(d *document.Decoder, item yamldoc.Value, op Op) (origin.CommandFlag, bool) {
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
	f := origin.CommandFlag{Command: kind.Value, Flag: step.Text(text)}
	if kind.Value != command || !text.Set || text.Expr != "" {
		return f, false
	}
	if err := CheckFlag(op, f.Command, f.Flag); err != nil {
		d.Failed(at, err)
		return f, false
	}
	return f, true
}

// HelmCommandFlags decodes commandFlags of Helm, a list of {commandType, flag}
// (semantics/entities §2.3). Helm is a library here, so a flag that means
// nothing to it is refused (see ParseHelmFlags).
func HelmCommandFlags(d *document.Decoder, list *[]origin.CommandFlag) document.Rule {
	return commandFlags(d, list, origin.CheckHelmFlag, origin.HelmFetch, origin.HelmTemplate, origin.HelmPull, origin.HelmInstall, origin.HelmUpgrade, origin.HelmRollback, origin.HelmHistory,
		origin.HelmDelete, origin.HelmUninstall, origin.HelmList, origin.HelmAdd, origin.HelmUpdate, origin.HelmVersion, origin.HelmTest)
}

// commandFlags decodes flags of commands; check says what is wrong with one.
// One that has an expression is checked once that is resolved.
func commandFlags(d *document.Decoder, list *[]origin.CommandFlag, check func(command, flag string) error, commands ...string) document.Rule {
	return func(v yamldoc.Value) {
		for item := range d.Items(v) {
			var command, flag yamldoc.Field[string]
			var at yamldoc.Value
			d.Fields(item, document.Keys{
				"commandType": d.Word(&command, commands...),
				"flag":        func(e yamldoc.Value) { flag, at = d.String(e), e },
			})
			d.Need(item, "commandType", "flag")
			if slices.Contains(commands, command.Value) && flag.Set && flag.Expr == "" {
				d.Failed(at, check(command.Value, flag.Value))
			}
			*list = append(*list, origin.CommandFlag{Command: command.Value, Flag: step.Text(flag)})
		}
	}
}
