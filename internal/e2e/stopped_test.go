package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// Somebody stops the state machine of an execution by hand: the event reaches
// its function, the plan says why, and nothing is left running.
func TestAStoppedMachineOnAWS(t *testing.T) {
	t.Parallel()
	a := e2e.StartAWS(t)
	a.Apply(t, one("p", shell("long", "sleep 600"), ""))
	id := a.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	if _, err := a.Until(ctx, id, func(e e2e.Execution) bool { return e.Root.Find("long").Status == "Running" }); err != nil {
		t.Fatal(err)
	}
	stopByHand(ctx, t, a, id)
	e, err := a.Until(ctx, id, e2e.Ended)
	if err != nil || e.Status != "Errored" || !strings.Contains(e.Message, "its state machine ended before it did") {
		t.Errorf("%v, the execution is %s: %s", err, e.Status, e.Message)
	}
	if long := e.Root.Find("long"); long.Status != "Aborted" {
		t.Errorf("the step is %s", long.Status)
	}
}

// stopByHand stops the machine run of an execution's pipeline.
func stopByHand(ctx context.Context, t *testing.T, a *e2e.AWS, id string) {
	t.Helper()
	runs, err := a.SFN.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &a.Machine, StatusFilter: types.ExecutionStatusRunning})
	if err != nil {
		t.Fatal(err)
	}
	var own []types.ExecutionListItem
	for _, r := range runs.Executions {
		if strings.HasPrefix(aws.ToString(r.Name), id) {
			own = append(own, r)
		}
	}
	if len(own) != 2 {
		t.Fatalf("%d runs are under way; want the pipeline's and the stage's", len(own))
	}
	root := own[0] // the first that began
	if own[1].StartDate.Before(*root.StartDate) {
		root = own[1]
	}
	if _, err := a.SFN.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: root.ExecutionArn, Error: aws.String("Operator"), Cause: aws.String("by hand")}); err != nil {
		t.Fatal(err)
	}
}
