package e2e_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// An approval that looks again and again survives the end of the server
// between two looks and the end of the delegate in the middle of one.
func TestLookingSurvivesKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, addr := filepath.Join(dir, "marks"), freeAddr(t)
	serve := func() *process { return spawn(t, serveEnv+"="+filepath.Join(dir, "data"), addrEnv+"="+addr) }
	p := serve()
	s := client(p)
	token := delegateToken(t, s)
	delegate := func(name string) *process {
		return spawn(t, delegateEnv+"="+name, addrEnv+"="+s.URL, tokenEnv+"="+token)
	}
	first := delegate("first")
	// The second look hangs; the fourth finds an answer.
	script := fmt.Sprintf("echo look >> %[1]s; n=$(wc -l < %[1]s); [ $n -ne 2 ] || sleep 600; [ $n -lt 4 ] || state=ok", file)
	s.Apply(t, fmt.Sprintf(`pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom,
  spec: {execution: {steps: [{step: {identifier: a, name: a, type: CustomApproval, timeout: 1h, spec: {
    shell: Bash, source: {type: Inline, spec: {script: %q}}, outputVariables: [{name: state, value: state}],
    retryInterval: 2s, scriptTimeout: 20m, approvalCriteria: {type: Jexl, spec: {expression: '<+output.state> == "ok"'}}}}}]}}}}]}`, script))
	id := s.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	until := func(looks int) {
		t.Helper()
		if _, err := s.Until(ctx, id, func(e2e.Execution) bool { return marks(t, file)["look"] == looks }); err != nil {
			t.Fatalf("waiting for look %d: %v", looks, err)
		}
	}
	if e, err := s.Until(ctx, id, func(e e2e.Execution) bool { return e.Status == "ApprovalWaiting" }); err != nil {
		t.Fatalf("%v, %s: %s", err, e.Status, e.Message)
	}
	p.kill()
	serve()
	until(2)
	first.kill()
	delegate("second")
	e, err := s.Until(ctx, id, e2e.Ended)
	if err != nil || e.Status != "Success" || e.Root.Find("a").Attempt != 1 || marks(t, file)["look"] != 4 {
		t.Fatalf("%v, %s: %s, attempt %d, looks %v", err, e.Status, e.Message, e.Root.Find("a").Attempt, marks(t, file))
	}
}
