package resolve

import (
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// must checks the value of a runtime input that couldn't be checked before it
// was resolved (semantics/pipeline §2.1). A value that turns out to be none
// stays so, and a secret's isn't known here.
func must(of string, v expr.Value, resolved func(text string) (string, error)) error {
	if of == "" || v.IsNull() || v.Secret() {
		return nil
	}
	in, err := expr.ParseInput(of)
	if err != nil {
		return err
	}
	for _, list := range [][]string{in.Allowed, in.One, in.Many} {
		for i := range list {
			if list[i], err = resolved(list[i]); err != nil {
				return err
			}
		}
	}
	if in.Regex, err = resolved(in.Regex); err != nil {
		return err
	}
	if err := in.Check(v.Text()); err != nil {
		return fault.New(fault.Invalid, "the value of %s: %w", of, err)
	}
	return nil
}
