package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// unseen are the actions that no request of a function shows: what AWS does in
// its name, and what a transaction writes.
func unseen(action string) bool {
	return slices.Contains([]string{
		"kms:Decrypt", "kms:GenerateDataKey", // DynamoDB, S3 and the environment
		"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem", // in transactions
		"execute-api:ManageConnections", // the WebSocket gateway stands for itself
		"s3:GetObject", "s3:PutObject",  // only for what is too large for the table
		"sqs:SendMessage",
	}, action) || strings.HasPrefix(action, "logs:") || strings.HasPrefix(action, "xray:")
}

// spare are rights that no scenario here needs, with what does.
func spare() map[string]string {
	return map[string]string{
		"api states:SendTaskHeartbeat": "a task that runs for longer than a minute",
	}
}

// No function calls what its role in the synthesized template doesn't allow,
// and a role allows nothing that no function calls.
func TestRightsOnAWS(t *testing.T) { //nolint:tparallel // the scenarios share names
	t.Parallel()
	atOnce <- struct{}{}
	t.Cleanup(func() { <-atOnce })
	a := e2e.StartAWS(t)
	for name, scenario := range map[string]func(*testing.T, func(testing.TB) *e2e.Server){ //nolint:paralleltest // the scenarios share names
		"outputs and secrets": outputsAndSecrets, "abort": anAbortReachesGrandchildren, "decisions": peopleDecide, "abort by strategy": aStrategyAborts,
	} {
		t.Run(name, func(t *testing.T) {
			scenario(t, func(testing.TB) *e2e.Server { return a.Server })
		})
	}
	compareAll(t, a)
}

func compareAll(t *testing.T, a *e2e.AWS) {
	t.Helper()
	for _, function := range []string{"api", "engine", "connect"} {
		compareRights(t, function, a.Calls.Calls(function), a.Rights(function))
	}
}

func compareRights(t *testing.T, function string, calls, rights []string) {
	t.Helper()
	if len(calls) == 0 || len(rights) == 0 {
		t.Errorf("%s: %d calls, %d rights; want some of both", function, len(calls), len(rights))
	}
	for _, c := range calls {
		if !slices.Contains(rights, c) {
			t.Errorf("%s calls %s, which its role doesn't allow", function, c)
		}
	}
	for _, r := range rights {
		if !slices.Contains(calls, r) && !unseen(r) && spare()[function+" "+r] == "" {
			t.Errorf("%s may %s, which it never calls", function, r)
		}
	}
}
