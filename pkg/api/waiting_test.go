package api_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
)

func TestWhatWaitsForPeopleIsListed(t *testing.T) {
	t.Parallel()
	c := serve(t)
	e := c.run(asking)
	list := func() []execution.Waiting {
		var l execution.WaitingList
		if status := c.send("GET", "/v1/waiting"+scope, "", &l); status != 200 {
			t.Fatalf("the list has the status %d", status)
		}
		return l.Waiting
	}
	asked := false
	err := c.Watch(t.Context(), e.ID, func(tree api.ExecutionTree) {
		if tree.Status != plan.ApprovalWaiting || asked {
			return
		}
		asked = true
		got := list()
		if len(got) != 1 || got[0].For != plan.ApprovalWaiting || got[0].Execution != e.ID || got[0].Pipeline != "ask" || got[0].Name != "Ask" ||
			got[0].Sequence != 1 || got[0].Step != "Go on" || got[0].Message != "go?" || got[0].Since.IsZero() {
			t.Errorf("what waits is %+v", got)
		}
		for status, want := range map[string]int{"ApprovalWaiting": 1, "Running": 0} {
			var found api.ExecutionList
			c.send("GET", "/v1/executions"+scope+"&status="+status, "", &found)
			if len(found.Executions) != want || want == 1 && found.Executions[0].Status != plan.ApprovalWaiting {
				t.Errorf("the list by %s has %+v; want %d", status, found.Executions, want)
			}
		}
		c.send("POST", "/v1/executions/"+e.ID+"/nodes/go/approval", `{"action":"APPROVE"}`, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := list(); !asked || len(got) != 0 {
		t.Errorf("after the approval there waits %+v", got)
	}
	if status := c.send("GET", "/v1/waiting?org=default&project=default_project&limit=51", "", nil); status != 400 && status != 422 {
		t.Errorf("a limit that is too large has the status %d", status)
	}
}
