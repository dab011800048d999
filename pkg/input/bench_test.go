package input_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/input"
)

// large is a pipeline of 10 stages with 100 steps each, every step with two
// inputs, and a set that gives one of them.
func large() (pipeline, set string) {
	var p, s strings.Builder
	fmt.Fprint(&p, "identifier: large\nstages:\n")
	fmt.Fprint(&s, "identifier: large\nstages:\n")
	for i := range 10 {
		head := "  - stage:\n      identifier: s%d\n      type: Custom\n      spec:\n        execution:\n          steps:\n"
		fmt.Fprintf(&p, head, i)
		fmt.Fprintf(&s, head, i)
		for j := range 100 {
			fmt.Fprintf(&p, "            - step: {identifier: t%d, type: Http, timeout: <+input>.default(1m), spec: {url: <+input>.regex(https://.*), method: GET}}\n", j)
			fmt.Fprintf(&s, "            - step: {identifier: t%d, type: Http, spec: {url: 'https://example.com/%d'}}\n", j, j)
		}
	}
	return p.String(), s.String()
}

func BenchmarkMerge1000Steps(b *testing.B) {
	p, s := large()
	pipeline, set := parse(b, "", p), parse(b, "set", s)
	for b.Loop() {
		m := input.Merge(pipeline, nil, input.Source{Doc: set}, input.Source{Doc: set})
		if err := m.Err(); err != nil {
			b.Fatal(err)
		}
	}
}
