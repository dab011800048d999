package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// counts are what one execution cost of Step Functions.
type counts struct {
	transitions int // what AWS bills
	longest     int // history events of the run that has most; AWS ends a run at 25,000
	payload     int // bytes of the largest input of a state; AWS takes 262,144
	runs        int
}

func countRuns(t *testing.T, a *e2e.AWS) counts {
	t.Helper()
	var c counts
	runs := sfn.NewListExecutionsPaginator(a.SFN, &sfn.ListExecutionsInput{StateMachineArn: &a.Machine})
	for runs.HasMorePages() {
		page, err := runs.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range page.Executions {
			c.runs++
			c.add(t, a, run)
		}
	}
	return c
}

func (c *counts) add(t *testing.T, a *e2e.AWS, run types.ExecutionListItem) {
	t.Helper()
	events := 0
	history := sfn.NewGetExecutionHistoryPaginator(a.SFN, &sfn.GetExecutionHistoryInput{ExecutionArn: run.ExecutionArn})
	for history.HasMorePages() {
		page, err := history.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			events++
			if strings.HasSuffix(string(e.Type), "StateEntered") {
				c.transitions++
				if d := e.StateEnteredEventDetails; d != nil && d.Input != nil {
					c.payload = max(c.payload, len(*d.Input))
				}
			}
		}
	}
	c.longest = max(c.longest, events)
}

// What a pipeline costs, by count: docs/cost.md has the table and the prices.
func TestCountsOnAWS(t *testing.T) {
	t.Parallel()
	atOnce <- struct{}{}
	t.Cleanup(func() { <-atOnce })
	a := e2e.StartAWS(t)
	a.Apply(t, steps("ten", 10, "# nothing"))
	before := map[string]int{}
	for _, f := range []string{"api", "engine"} {
		before[f] = a.Host.Usage(f).Invocations
	}
	run(t, a.Server, "ten", "Success", nil)
	c := countRuns(t, a)
	engine := a.Host.Usage("engine")
	t.Logf("10 steps: %d machine runs, %d state transitions, at most %d history events and %d bytes of input", c.runs, c.transitions, c.longest, c.payload)
	t.Logf("engine: %d invocations of %s, %d MB; api: %d with the test's own polls",
		engine.Invocations-before["engine"], (engine.Time / time.Duration(max(1, engine.Invocations))).Round(time.Millisecond), engine.MaxRSS>>20, a.Host.Usage("api").Invocations-before["api"])
	// Two containers (pipeline, stage), each with its run: some ten transitions; a step is Advance, Decide, Await.
	if perStep := float64(c.transitions-12) / 10; perStep > 6 {
		t.Errorf("a step costs %.1f state transitions, want at most 6", perStep)
	}
	if c.payload > 1024 {
		t.Errorf("a state's input has %d bytes; only ids may travel", c.payload)
	}
	// A run drives at most 200 steps: half of 25,000 events must do.
	if perStep := c.longest / 10; 200*perStep > 12_500 {
		t.Errorf("a step costs up to %d history events: 200 of them come to more than half of 25,000", perStep)
	}
}
