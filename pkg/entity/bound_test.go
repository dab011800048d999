package entity_test

import (
	"strings"
	"testing"
)

// A document of the largest size, wrong all over, is answered in a moment:
// suggestions for what nobody will read aren't looked for. Without that bound
// it takes ten seconds.
func BenchmarkManyWrongSteps(b *testing.B) {
	text := "pipeline:\n  stages: [{stage: {type: Custom, spec: {execution: {steps: [" +
		strings.Repeat("{step: {type: K8sRollingDeployy}},", 40_000) + "]}}}}]\n"
	for b.Loop() {
		if _, report := decode("f", []byte(text), project); len(report.Findings()) != 1001 {
			b.Fatal("the findings aren't bounded")
		}
	}
}
