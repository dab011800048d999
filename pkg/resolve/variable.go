package resolve

import (
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// scopeVariable resolves variable.account.X, variable.org.X and variable.X.
// One that doesn't exist is null: it may have been deleted
// (semantics/pipeline §1.5).
func (d documents) scopeVariable(path []string) (expr.Value, int, error) {
	scope, used := d.scope, 2
	switch {
	case len(path) < 2:
		return expr.Null(), 0, unknown("variable needs a name; want variable.X, variable.org.X or variable.account.X")
	case len(path) > 2 && path[1] == "account":
		scope, used = ref.Scope{Account: scope.Account}, 3
	case len(path) > 2 && path[1] == "org":
		scope, used = ref.Scope{Account: scope.Account, Org: scope.Org}, 3
	}
	e, err := d.saved(ref.Variable, ref.Ref{Scope: scope, ID: path[used-1]})
	switch {
	case fault.Is(err, fault.NotFound):
		return expr.Null(), used, nil
	case err != nil:
		return expr.Null(), 0, err
	}
	return expr.String(e.Variable.Value.Text), used, nil
}
