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

// No function calls what its role in the synthesized template doesn't allow.
// What this scenario doesn't need of its rights is only logged: interrupts and
// repairs have their own.
func TestRightsOnAWS(t *testing.T) {
	t.Parallel()
	atOnce <- struct{}{}
	t.Cleanup(func() { <-atOnce })
	var a *e2e.AWS
	outputsAndSecrets(t, func(tb testing.TB) *e2e.Server {
		tb.Helper()
		a = e2e.StartAWS(tb)
		return a.Server
	})
	for _, function := range []string{"api", "engine", "connect"} {
		calls, rights := a.Calls.Calls(function), a.Rights(function)
		if len(calls) == 0 || len(rights) == 0 {
			t.Errorf("%s: %d calls, %d rights; want some of both", function, len(calls), len(rights))
		}
		for _, c := range calls {
			if !slices.Contains(rights, c) {
				t.Errorf("%s calls %s, which its role doesn't allow", function, c)
			}
		}
		for _, r := range rights {
			if !slices.Contains(calls, r) && !unseen(r) {
				t.Logf("%s may %s, which this scenario doesn't need", function, r)
			}
		}
	}
}
