package execution

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// A rehearsal says of each node whether it would run, which only the run can
// know of some, and of a step who could take it. Nothing of it is kept.
func TestWhatARunWouldBe(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	kept, options := setup(t), builtin.Options(ref.Scope{})
	clock := func() time.Time { return now }
	saved := catalog.New(catalog.Config{Store: kept, Options: options, Now: clock})
	_, err := saved.Save(t.Context(), catalog.Draft{Scope: webScope(), Version: catalog.AnyVersion, YAML: []byte(`pipeline:
  identifier: p
  name: p
  variables: [{name: zone, type: String, value: eu}, {name: asked, type: String, value: <+input>}]
  stages:
    - stage:
        identifier: s
        name: s
        type: Custom
        spec:
          execution:
            steps:
              - step: {identifier: in, name: in, type: Wait, spec: {duration: 1m}, when: {stageStatus: Success, condition: <+pipeline.variables.zone> == "eu"}}
              - step: {identifier: out, name: out, type: Wait, spec: {duration: 1m}, when: {stageStatus: All, condition: <+pipeline.variables.asked> == "us"}}
              - step: {identifier: perhaps, name: perhaps, type: Wait, spec: {duration: 1m}, when: {stageStatus: Success, condition: <+execution.steps.in.status> == "SUCCEEDED"}}
              - step: {identifier: many, name: many, type: Wait, spec: {duration: <+repeat.item>}, strategy: {repeat: {items: [1m, 2m], maxConcurrency: 1}}}
              - step: {identifier: later, name: later, type: Wait, spec: {duration: 1m}, strategy: {repeat: {items: <+execution.steps.in.output.list>}}}
              - step: {identifier: none, name: none, type: Wait, spec: {duration: 1m}, strategy: {repeat: {times: 0}}}
              - step: {identifier: near, name: near, type: Http, spec: {url: <+execution.steps.in.output.url>, method: GET, delegateSelectors: [<+pipeline.variables.zone>]}}
            rollbackSteps:
              - step: {identifier: back, name: back, type: Wait, spec: {duration: 1m}}
`)}, audit.Author{Actor: "ann"})
	must(t, err)
	for _, d := range []store.Delegate{
		{ID: "d1", Name: "here", Scope: webScope(), TokenID: "t", Tags: []string{"EU"}, LastSeen: now},
		{ID: "d2", Name: "here", Scope: webScope(), TokenID: "t", Tags: []string{"eu"}, LastSeen: now},
		{ID: "d3", Name: "elsewhere", Scope: webScope(), TokenID: "t", Tags: []string{"us"}, LastSeen: now},
		{ID: "d4", Name: "gone", Scope: webScope(), TokenID: "t", Tags: []string{"eu"}, LastSeen: now.Add(-time.Hour)},
		{ID: "d5", Name: "another project's", Scope: ref.Scope{Account: "acme", Org: "default", Project: "x"}, TokenID: "t", Tags: []string{"eu"}, LastSeen: now},
	} {
		must(t, kept.PutDelegate(t.Context(), d))
	}
	s := service(kept, clock)
	s.Types = options.Types
	s.Launch = launch.New(launch.Config{Store: kept, Runner: idle{}, Options: options, Now: clock})
	r := launch.Request{Scope: webScope(), Pipeline: "p", By: audit.Author{Actor: "ann"}, Inputs: launch.Inputs{Values: map[string]string{"variables.asked": "eu"}}}
	got, err := s.Rehearse(t.Context(), r, s.Now(), Part{})
	must(t, err)
	want := `p yes
 s yes
  in yes
  out no
  perhaps unknown <+execution.steps.in.status>
  many yes at once 1
   many_0 yes
   many_1 yes
  later unknown <+execution.steps.in.output.list>
  none no
  near yes <+execution.steps.in.output.url> selectors eu delegates here
  back yes rollback
`
	if diff := cmp.Diff(want, shownAs(got.Root, "")); diff != "" {
		t.Errorf("what would run (-want +got):\n%s", diff)
	}
	if list, _, err := kept.ListExecutions(t.Context(), store.ExecutionFilter{Scope: webScope()}, store.Page{Limit: 10}); err != nil || len(list) > 0 {
		t.Errorf("there are %d executions (%v); want none", len(list), err)
	}
	part, err := s.Rehearse(t.Context(), r, s.Now(), Part{Node: "many"})
	must(t, err)
	if diff := cmp.Diff("many yes at once 1\n many_0 yes\n many_1 yes\n", shownAs(part.Root, "")); diff != "" {
		t.Errorf("a part of it (-want +got):\n%s", diff)
	}
	if part.Hash != got.Hash {
		t.Errorf("the plan of a part is %s; want that of the whole, %s", part.Hash, got.Hash)
	}
}

// shownAs is a rehearsal as a tree of lines, steps without delegates of their own
// in few words.
func shownAs(n *Rehearsed, indent string) string {
	name := n.Identifier
	if n.Identifier == "" {
		name = n.Name
	}
	line := fmt.Sprint(indent, name, " ", n.Runs)
	if len(n.Unknown) > 0 {
		line += " " + strings.Join(n.Unknown, " ")
	}
	if n.AtOnce > 0 {
		line += fmt.Sprint(" at once ", n.AtOnce)
	}
	if len(n.Selectors) > 0 {
		line += fmt.Sprint(" selectors ", strings.Join(n.Selectors, ","), " delegates ", strings.Join(n.Delegates, ","))
	}
	if n.Rollback {
		line += " rollback"
	}
	line += "\n"
	for _, c := range n.Children {
		line += shownAs(c, indent+" ")
	}
	return line
}
