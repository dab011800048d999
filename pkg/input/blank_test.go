package input_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestABlankValueOfAnInputSetIsAskedForAgain(t *testing.T) {
	t.Parallel()
	parse := func(text string) *yamldoc.Node {
		docs, report := yamldoc.Parse("", []byte(text))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		return docs[0]
	}
	doc := parse(`variables: [{name: tier, type: String, value: "<+input>.allowedValues(gold,silver)"}]`)
	blank := parse(`variables: [{name: tier, type: String, value: ""}]`)
	set := input.Merge(doc, nil, input.Source{Doc: blank, Set: true})
	if len(set.Wrong) != 0 || len(set.Missing) != 1 {
		t.Errorf("of an input set %v is wrong and %v is missing; want nothing, and the input", set.Wrong, set.Missing)
	}
	given := input.Merge(doc, nil, input.Source{Doc: blank})
	if len(given.Wrong) != 1 {
		t.Errorf("of what a person gives %v is wrong; want that the empty text isn't allowed", given.Wrong)
	}
	full := parse(`variables: [{name: tier, type: String, value: gold}]`)
	both := input.Merge(doc, nil, input.Source{Doc: full, Set: true}, input.Source{Doc: blank, Set: true})
	if got := both.Doc.Get("variables").Items[0].Get("value").Value; got != "gold" {
		t.Errorf("the value is %q; want that of the set before", got)
	}
}
