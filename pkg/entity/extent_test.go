package entity_test

import (
	"fmt"
	"strings"
	"testing"
)

// many is a list of Wait steps.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{step: {identifier: s%d, name: s, type: Wait, spec: {duration: 1s}}}, ", i)
	}
	return b.String()
}

func TestWhatIsWrittenOutHasItsBoundsOnSave(t *testing.T) {
	t.Parallel()
	const members, nodes, iterations, axes = "members at once; the limit is 256", "more than 20000 nodes", "iterations; the limit is 256", "axes; the limit is 20"
	step := func(strategy string) string {
		return "{step: {identifier: x, name: x, type: Wait, spec: {duration: 1s}, strategy: " + strategy + "}}"
	}
	group := func(id, strategy, steps string) string {
		return "{stepGroup: {identifier: " + id + ", name: g, strategy: " + strategy + ", steps: [" + steps + "]}}"
	}
	matrix := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "a%d: [1], ", i)
		}
		return "{matrix: {" + b.String() + "}}"
	}
	for name, c := range map[string]struct{ steps, want string }{
		"as many members as may be":     {"{parallel: [" + many(256) + "]}", ""},
		"a member more":                 {"{parallel: [" + many(257) + "]}", "257 " + members},
		"members of a block in a block": {"{parallel: [{parallel: [" + many(200) + "]}, {insert: {identifier: i, name: i, steps: [" + strings.ReplaceAll(many(57), "identifier: s", "identifier: t") + "]}}]}", "257 " + members},
		"as many iterations":            {step("{repeat: {times: 256}}"), ""},
		"an iteration more":             {step("{repeat: {times: 257}}"), "257 " + iterations},
		"by an expression":              {step("{repeat: {times: <+pipeline.variables.n>}}"), ""},
		"as many axes":                  {step(matrix(20)), ""},
		"an axis more":                  {step(matrix(21)), "21 " + axes},
		"four nested loops of 256":      {group("a", "{parallelism: 256}", group("b", "{parallelism: 256}", group("c", "{parallelism: 256}", step("{parallelism: 256}")))), nodes},
		"of an expression's loop none":  {group("a", "{parallelism: <+pipeline.variables.n>}", group("b", "{parallelism: 256}", many(200))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := "pipeline: {identifier: p, name: p, orgIdentifier: default, projectIdentifier: default_project, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [" + c.steps + "]}}}}]}"
			_, report := decode("p.yaml", []byte(doc), project)
			got := lines(report)
			if c.want == "" && strings.Contains(got, "TOO_MANY") || c.want != "" && !strings.Contains(got, c.want) {
				t.Errorf("got %q; want %q", got, c.want)
			}
		})
	}
}

// The bound itself: 1 pipeline, 1 stage, 1 loop, 1 step that is written out
// alone, and 200 times a group with 98 more.
func TestTheLastNodeOfAnExecution(t *testing.T) {
	t.Parallel()
	for extra, want := range map[int]bool{197: false, 198: true} {
		// 2 + (1 + 200 * (1 + 98)) + extra = 20000 for 197.
		doc := "pipeline: {identifier: p, name: p, orgIdentifier: default, projectIdentifier: default_project, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [" +
			"{stepGroup: {identifier: g, name: g, strategy: {parallelism: 200}, steps: [" + many(98) + "]}}, " + strings.ReplaceAll(many(extra), "identifier: s", "identifier: t") + "]}}}}]}"
		_, report := decode("p.yaml", []byte(doc), project)
		if got := lines(report); strings.Contains(got, "TOO_MANY") != want {
			t.Errorf("%d steps beside the loop: %q; refused wanted: %v", extra, got, want)
		}
	}
}
