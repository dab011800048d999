package testaws

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
)

// UnderPolicy checks at the end of the test that all that was called by then is
// allowed by the policy of a page of the docs, its first JSON block, which people
// copy; or that it is one of the test's own operations.
func (w *World) UnderPolicy(page string, own ...string) {
	w.tb.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		w.tb.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(text)
	if block == nil {
		w.tb.Fatalf("%s has no policy", page)
	}
	var policy struct {
		Statement []struct{ Action []string }
	}
	if err := json.Unmarshal(block[1], &policy); err != nil {
		w.tb.Fatalf("the policy of %s: %v", page, err)
	}
	allowed := append(own, "sts:GetCallerIdentity") // which needs no right
	for _, s := range policy.Statement {
		allowed = append(allowed, s.Action...)
	}
	w.policed = func(w *World) {
		w.tb.Cleanup(func() {
			told := slices.Clone(allowed)
			for _, c := range w.Calls() {
				if !slices.Contains(told, c.Operation) {
					w.tb.Errorf("%s isn't in the policy of %s", c.Operation, page)
					told = append(told, c.Operation)
				}
			}
		})
	}
	w.policed(w)
}
