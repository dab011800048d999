package e2e_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// The quotas of Step Functions that a pipeline could meet. Half of each must
// do.
// https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
const (
	quotaEvents  = 25_000     // of a run's history
	quotaPayload = 256 * 1024 // bytes of a state's input
)

// counts are what one execution cost of Step Functions.
type counts struct {
	transitions int // what AWS bills
	longest     int // history events of the run that has most
	payload     int // bytes of the largest input of a state
	runs        int
	depth       int // runs that wait for each other at most

	starts map[string][]string // the names of the runs that a run has started
}

func countRuns(t *testing.T, a *e2e.AWS) counts {
	t.Helper()
	c := counts{starts: map[string][]string{}}
	var list []types.ExecutionListItem
	runs := sfn.NewListExecutionsPaginator(a.SFN, &sfn.ListExecutionsInput{StateMachineArn: &a.Machine})
	for runs.HasMorePages() {
		page, err := runs.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, page.Executions...)
	}
	for _, run := range list {
		c.runs++
		c.add(t, a, run)
	}
	for _, run := range list {
		c.depth = max(c.depth, c.below(aws.ToString(run.Name)))
	}
	return c
}

func (c *counts) add(t *testing.T, a *e2e.AWS, run types.ExecutionListItem) {
	t.Helper()
	events := 0
	history := sfn.NewGetExecutionHistoryPaginator(a.SFN, &sfn.GetExecutionHistoryInput{ExecutionArn: run.ExecutionArn, MaxResults: 1000})
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
			if d := e.TaskScheduledEventDetails; d != nil && aws.ToString(d.ResourceType) == "states" {
				var started struct{ Name string }
				if err := json.Unmarshal([]byte(aws.ToString(d.Parameters)), &started); err != nil {
					t.Fatal(err)
				}
				c.starts[aws.ToString(run.Name)] = append(c.starts[aws.ToString(run.Name)], started.Name)
			}
		}
	}
	c.longest = max(c.longest, events)
}

// below counts the runs that wait for each other from one on.
func (c *counts) below(run string) int {
	most := 0
	for _, child := range c.starts[run] {
		most = max(most, c.below(child))
	}
	return most + 1
}

// stagesOf is a pipeline of stages, all at once, with steps that do nothing.
func stagesOf(id string, stages, each int) string {
	var list []string
	for s := range stages {
		var below []string
		for i := range each {
			below = append(below, shell(fmt.Sprintf("s%d", i), "# nothing"))
		}
		list = append(list, fmt.Sprintf("{stage: {identifier: st%[1]d, name: st%[1]d, type: Custom, spec: {execution: {steps: [%[2]s]}}}}", s, strings.Join(below, ", ")))
	}
	return fmt.Sprintf("pipeline: {identifier: %[1]s, name: %[1]s, stages: [{parallel: [%[2]s]}]}", id, strings.Join(list, ", "))
}

// nest is a pipeline of a step in groups in parallel blocks in groups, so deep.
func nest(id string, depth int) string {
	inner := shell("s", "# nothing")
	for i := range depth {
		inner = fmt.Sprintf("{parallel: [{stepGroup: {identifier: g%[1]d, name: g%[1]d, steps: [%[2]s]}}, %[3]s]}", i, inner, shell(fmt.Sprint("beside", i), "# nothing"))
	}
	return fmt.Sprintf("pipeline: {identifier: %[1]s, name: %[1]s, stages: [{stage: {identifier: st, name: st, type: Custom, spec: {execution: {steps: [%[2]s]}}}}]}", id, inner)
}

// hearsEnd waits until the event bus has been told that an execution has ended.
func hearsEnd(ctx context.Context, t *testing.T, a *e2e.AWS) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, e := range a.Bus.Events() {
			if strings.Contains(string(e), `"Execution Ended"`) {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatal("no event tells of the execution's end")
		case <-tick.C:
		}
	}
}

// pipelineCount is a pipeline and the most that it may take.
type pipelineCount struct {
	name     string
	pipeline string
	steps    int
	most     int // state transitions
	wide     int // children at once at most
	depth    int // runs: the pipeline's, its stage's, one for each further 200 steps, group or parallel block
}

var thousand = flag.Bool("thousand", false, "TestCountsOnAWS counts all pipelines of docs/cost.md, also those of a thousand steps")

// What pipelines cost of Step Functions and DynamoDB, by count: docs/cost.md has
// the table and the prices. A run drives at most 200 children, then another goes on, so
// that histories end; and only ids travel in state, some 90 bytes for each
// child that runs at once: a thousand at once are still below half.
//
// What 410 steps show is what 1,000 do: a run that begins, one that goes on and
// hands over in its turn, and one that ends, each beyond the first with the same
// cost. What travels grows with what runs at once, not with the steps in it: 20
// stages of 20 steps have the input of 20 stages of 50, and twice that of 10. The
// others of the table are counted by make counts.
func TestCountsOnAWS(t *testing.T) {
	t.Parallel()
	tests := []pipelineCount{
		{"10 steps", steps("p", 10, "# nothing"), 10, 22, 1, 2},
		{"nested 5 deep", nest("p", 5), 6, 125, 2, 12},
		{"410 steps", steps("p", 410, "# nothing"), 410, 450, 1, 4},
		{"10 stages of 10 steps at once", stagesOf("p", 10, 10), 100, 170, 10, 3},
	}
	if *thousand {
		tests = append(tests, pipelineCount{"100 steps", steps("p", 100, "# nothing"), 100, 114, 1, 2},
			pipelineCount{"20 stages of 20 steps at once", stagesOf("p", 20, 20), 400, 530, 20, 3},
			pipelineCount{"1000 steps", steps("p", 1000, "# nothing"), 1000, 1070, 1, 6},
			pipelineCount{"20 stages of 50 steps at once", stagesOf("p", 20, 50), 1000, 1130, 20, 3})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := e2e.StartAWS(t)
			a.Apply(t, tt.pipeline)
			before, saved := a.Host.Usage("api").Invocations, a.Calls.Spent("api")
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(tt.steps)*5*time.Second)
			defer cancel()
			look := time.Second + time.Duration(tt.steps)*4*time.Millisecond // at all nodes, which costs more than what is counted
			id := a.Begin(t, "p", nil)
			hearsEnd(ctx, t, a) // looking at its nodes would cost more than what is counted
			calls := a.Host.Usage("api").Invocations - before
			all := testaws.Spent{Reads: -saved.Reads, Writes: -saved.Writes}
			for _, f := range a.Functions() {
				s := a.Calls.Spent(f)
				all.Reads, all.Writes = all.Reads+s.Reads, all.Writes+s.Writes
			}
			if e, err := a.Every(ctx, look, id, e2e.Ended); err != nil || e.Status != "Success" {
				t.Fatalf("%v, the execution is %s: %s", err, e.Status, e.Message)
			}
			c := countRuns(t, a)
			t.Logf("%d steps in %s: %d machine runs %d deep, %d state transitions, at most %d history events and %d bytes of input",
				tt.steps, time.Since(began).Round(time.Second), c.runs, c.depth, c.transitions, c.longest, c.payload)
			for _, f := range []string{"engine", "api", "feed"} {
				used := a.Host.Usage(f)
				t.Logf("%s: %d invocations of %s, %d MB", f, used.Invocations, (used.Time / time.Duration(max(1, used.Invocations))).Round(time.Millisecond), used.MaxRSS>>20)
			}
			t.Logf("%d requests of the API, %d events, %.0f write units and %.0f read units of DynamoDB", calls, len(a.Bus.Events()), all.Writes, all.Reads)
			if 2*c.longest > quotaEvents || 2*c.payload > quotaPayload {
				t.Errorf("%d history events and %d bytes of input are more than half of %d and %d", c.longest, c.payload, quotaEvents, quotaPayload)
			}
			// A run of one child has some 30 events, a step has 6: those of Await.
			if most := 30 + 10*min(tt.steps, 200); c.longest > most {
				t.Errorf("the longest run has %d history events, want at most %d", c.longest, most)
			}
			if most := 512 + 128*tt.wide; c.payload > most {
				t.Errorf("a state's input has %d bytes, want at most %d; only ids may travel", c.payload, most)
			}
			if c.depth != tt.depth {
				t.Errorf("%d runs wait for each other, want %d", c.depth, tt.depth)
			}
			// One for each step, and eight at most for each run; more where a wait was
			// given up because the machine was busy.
			if c.transitions > tt.most {
				t.Errorf("%d state transitions, want at most %d", c.transitions, tt.most)
			}
			if got, most := a.Host.Usage("engine").Invocations, 3*c.runs+tt.steps; got > most {
				t.Errorf("%d invocations of the engine, want at most %d: one for each step", got, most)
			}
			if most := float64(12*c.runs + 24*tt.steps); all.Writes > most {
				t.Errorf("%.0f write units of DynamoDB, want at most %.0f", all.Writes, most)
			}
			if most := float64(24*c.runs + 20*tt.steps); all.Reads > most { // the end of each child is looked at
				t.Errorf("%.0f read units of DynamoDB, want at most %.0f", all.Reads, most)
			}
		})
	}
}
