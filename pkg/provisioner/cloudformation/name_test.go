package cloudformation

import (
	"strings"
	"testing"
)

// Names are as long as CloudFormation has them, and those of stacks that are there
// as long as their ARNs.
func TestNamesOfStacks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "A-1": true, "web-": true, strings.Repeat("a", longestName): true,
		"arn:aws:cloudformation:eu-west-1:1:stack/web/id": true, "arn:" + strings.Repeat("x", longestARN-4): true,
		"": false, "1a": false, "-a": false, "a_b": false, "a b": false, strings.Repeat("a", longestName+1): false,
		"arn:": false, "arn:aws: x": false, "arn:" + strings.Repeat("x", longestARN-3): false,
	} {
		if got := isStack(name); got != want {
			t.Errorf("%.20q of %d characters: %t, want %t", name, len(name), got, want)
		}
	}
}
