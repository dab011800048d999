package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// The documents of a set may need so much of others, and one more is too much.
func TestWhatASetIsCheckedAgainstIsBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	// Saving a set reads its pipeline twice: 16 times 2 times 2 MiB.
	pipeline := "pipeline: {name: p, identifier: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [{step: {identifier: w, name: w, type: Wait, spec: {duration: 1s}}}]}}}}]}\n#"
	pipeline += strings.Repeat("x", 2<<20-len(pipeline)-1) + "\n"
	sets := func(n int) api.DocumentSet {
		docs := api.DocumentSet{DryRun: true, Documents: []api.SetDocument{{Org: "default", Project: "web", File: "p.yaml", YAML: pipeline}}}
		for i := range n {
			docs.Documents = append(docs.Documents, api.SetDocument{
				Org: "default", Project: "web", File: "sets.yaml", YAML: fmt.Sprintf("inputSet: {name: i%d, identifier: i%d, pipeline: {identifier: p}}\n", i, i),
			})
		}
		return docs
	}
	var would api.SavedSet
	s.apply(sets(16)).want(http.StatusOK, &would)
	p := s.apply(sets(17)).problem(http.StatusRequestEntityTooLarge)
	if p.Code != fault.TooLarge || len(p.Details) != 1 || !strings.Contains(p.Details[0].Message, "more than 64 MiB") {
		t.Errorf("a set more is answered with %s: %v", p.Code, p.Details)
	}
}

// A large pipeline is checked against so many of its input sets at once. Of the
// others it is said that they weren't.
func TestInputSetsThatAreCheckedAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	c := serve(t)
	var tags strings.Builder
	for i := range 190_000 {
		fmt.Fprintf(&tags, "t%d: x, ", i)
	}
	large := strings.Replace(withInputs, "  identifier: deploy\n", "  identifier: deploy\n  tags: {"+tags.String()+"}\n", 1)
	c.saveAll(withInputs)
	for i := range 11 { // 10 times 190,000 nodes are fewer than 2,000,000, 11 times are more
		c.saveAll(set(fmt.Sprintf("s%02d", i), "tier", "silver", "1s"))
	}
	saved, err := c.Save(t.Context(), apiclient.Document{Scope: project(), YAML: []byte(strings.Replace(large, "name: tier", "name: level", 1))})
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]int{}
	for _, w := range saved.Warnings {
		codes[w.Code]++
	}
	if codes["INPUT_SET_OUTDATED"] != 10 || codes["NOT_CHECKED"] != 2 { // as sets, and as what fills the scripts
		t.Errorf("the warnings are %v", codes)
	}
	list, err := c.InputSets(t.Context(), project(), "deploy")
	if err != nil || len(list) != 11 {
		t.Fatalf("%d sets, %v", len(list), err)
	}
	for i, s := range list {
		if want := map[bool]string{true: "NOT_CHECKED"}[i == 10]; s.Valid || len(s.Wrong) != 1 || (s.Wrong[0].Code == "NOT_CHECKED") != (want != "") {
			t.Errorf("set %s: %t, %v", s.ID, s.Valid, s.Wrong)
		}
	}
}
