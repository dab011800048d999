package entity_test

import (
	"fmt"
	"strings"
	"testing"
)

// atBarriers is a parallel block of groups, each of which waits at the
// barriers that its text names.
func atBarriers(groups ...string) string {
	var b strings.Builder
	for i, names := range groups {
		fmt.Fprintf(&b, "{stepGroup: {identifier: g%d, name: g, steps: [", i)
		for j, name := range strings.Fields(names) {
			fmt.Fprintf(&b, "{stepGroup: {identifier: h%[1]d, name: h, steps: [{step: {identifier: w%[1]d, name: w, type: Barrier, spec: {barrierRef: %[2]s}}}]}}, ", j, name)
		}
		b.WriteString("]}}, ")
	}
	return "{parallel: [" + b.String() + "]}"
}

func times(n int, names string) []string {
	return strings.Split(strings.Repeat(names+";", n)[:n*(len(names)+1)-1], ";")
}

// Of a parallel block 40 members run at once: those that wait for somebody
// must leave a place for him.
func TestABlockMayWaitAtBarriersWithFortyMembers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps string
		stuck bool
	}{
		"as many as run at once":            {atBarriers(times(40, "one")...), false},
		"one more":                          {atBarriers(times(41, "one")...), true},
		"most don't wait":                   {"{parallel: [" + many(200) + atBarriers(times(40, "one")...) + "]}", false},
		"in a block in a block":             {"{parallel: [" + atBarriers(times(20, "one")...) + ", " + strings.ReplaceAll(atBarriers(times(21, "one")...), "identifier: g", "identifier: k") + "]}", true},
		"two barriers with a place between": {atBarriers(append(times(20, "one"), times(21, "two")...)...), false},
		"two barriers that take all places": {atBarriers(append(times(21, "one"), times(21, "two")...)...), true},
		"two barriers, one after the other": {atBarriers(times(30, "one two")...), false},
		"blocks of their own":               {"{parallel: [{stepGroup: {identifier: a, name: a, steps: [" + atBarriers(times(30, "one")...) + "]}}, {stepGroup: {identifier: b, name: b, steps: [" + atBarriers(times(30, "one")...) + "]}}]}", false},
		"many who needn't wait for anybody": {atBarriers("one"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := "pipeline: {identifier: p, name: p, orgIdentifier: default, projectIdentifier: default_project, flowControl: {barriers: [{identifier: one, name: one}, {identifier: two, name: two}]}, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [" + c.steps + "]}}}}]}"
			_, report := decode("p.yaml", []byte(doc), project)
			got := lines(report)
			if strings.Count(got, "more than 40 members of ") != map[bool]int{true: 1}[c.stuck] {
				t.Errorf("stuck is %t; got %q", c.stuck, got)
			}
		})
	}
}

// Steps that wait at one barrier from blocks of their own, as many as may be,
// and one more.
func TestStepsAtABarrierAreBounded(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{256: 0, 257: 1, 300: 1} {
		var stages strings.Builder
		for i := range 32 {
			fmt.Fprintf(&stages, "{stage: {identifier: s%d, name: s, type: Custom, spec: {execution: {steps: [%s]}}}}, ", i, atBarriers(times((n+31-i)/32, "one")...))
		}
		doc := "pipeline: {identifier: p, name: p, orgIdentifier: default, projectIdentifier: default_project, flowControl: {barriers: [{identifier: one, name: one}]}, stages: [{parallel: [" + stages.String() + "]}]}"
		_, report := decode("p.yaml", []byte(doc), project)
		if got := strings.Count(lines(report), `more than 256 steps wait at the barrier "one"`); got != want {
			t.Errorf("%d steps: told %d times; want %d", n, got, want)
		}
	}
}
