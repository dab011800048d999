package expr_test

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/expr"
)

// names is a Scope of plain values by their first name.
type names map[string]expr.Value

func (n names) Lookup(path []string) (expr.Value, int, error) {
	v, ok := n[path[0]]
	if !ok {
		return expr.Null(), 0, expr.ErrUnknown
	}
	return v, 1, nil
}

func (names) Call(string, []expr.Value) (expr.Value, error) { return expr.Null(), expr.ErrUnknown }

func ExampleInterpolate() {
	s := names{"service": expr.FromAny(map[string]any{"name": "shop", "replicas": 3})}
	text, _ := expr.Interpolate("deploy <+service.name> x <+service.replicas>", s)
	typed, _ := expr.Interpolate("<+service.replicas>", s)
	_, err := expr.Interpolate("deploy <+sevice.name>", s)
	fmt.Println(text.Text())
	fmt.Println(typed.Kind(), typed.Text())
	fmt.Println(err)
	// Output:
	// deploy shop x 3
	// a number 3
	// expression <+sevice.name> at offset 9 can't be resolved: unknown name
}

func ExampleEvaluate() {
	s := names{"regions": expr.String("eu,us")}
	v, _ := expr.Evaluate("<+regions>.split(',')", s)
	fmt.Println(v.Text())
	// Output: ["eu","us"]
}

func ExampleCondition() {
	s := names{"branch": expr.String("main")}
	ok, _ := expr.Condition(`<+branch> == "main" && <+unknown> == null`, s)
	fmt.Println(ok)
	// Output: true
}

func ExampleParseInput() {
	in, _ := expr.ParseInput("<+input>.default(dev).allowedValues(dev,prod)")
	fmt.Println(in.Default, in.Allowed, in.Check("qa"))
	// Output: dev [dev prod] "qa" isn't one of dev, prod
}
