package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// semantics/pipeline §7.7: with isAutoRejectEnabled an approval rejects the
// older executions that wait at the same step, and no newer one.
func TestApprovalsRejectOlderOnes(t *testing.T) {
	t.Parallel()
	onEveryHost(t, approvalsRejectOlderOnes)
}

func approvalsRejectOlderOnes(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	s.Apply(t, one("p", strings.Replace(ask("ask"), "approvalMessage", "isAutoRejectEnabled: true, approvalMessage", 1), ""))
	var ids []string
	for range 3 {
		id := s.Begin(t, "p", nil)
		reaches(t, s, id, "ask", "ApprovalWaiting")
		ids = append(ids, id)
	}
	approve(t, s, ids[1], "ask")
	reaches(t, s, ids[1], "p", "Success")
	if e := reaches(t, s, ids[0], "p", "ApprovalRejected"); !strings.Contains(e.Message, "rejected by auto rejection: execution 2 of the pipeline was approved") {
		t.Errorf("the older one: %s", e.Message)
	}
	reaches(t, s, ids[2], "ask", "ApprovalWaiting")
	approve(t, s, ids[2], "ask")
	reaches(t, s, ids[2], "p", "Success")
}
