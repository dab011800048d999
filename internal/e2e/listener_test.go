package e2e_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// An EventListener step waits for an event that meets its criteria, of its own
// webhook and project; the success criteria are asked first, and what meets
// none changes nothing.
func TestStepsListen(t *testing.T) {
	t.Parallel()
	onEveryHost(t, stepsListen)
}

func stepsListen(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	listen := `{step: {identifier: heard, name: heard, type: EventListener, timeout: 10m, spec: {webhookIdentifier: scans,
  successCriteria: '<+event.payload.id> == <+pipeline.variables.id> && <+event.payload.good>', failureCriteria: '<+event.payload.id> == <+pipeline.variables.id>',
  outputVariables: [{name: n, type: Number, value: '<+event.payload.n>'}, {name: all, type: String, value: '<+event.payload>'}]}}}`
	s.Apply(t, "pipeline: {identifier: p, name: p, variables: [{name: id, type: String, value: <+input>}], stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: ["+
		listen+", "+shell("use", `[ "<+execution.steps.heard.output.outputVariables.n>" = 3 ]`)+"]}}}}]}")
	hears := func(body string, steps, ended int) {
		t.Helper()
		code, got := tell(t, s, "scans", body, s.Token)
		if code != http.StatusOK || strings.Count(got, `"execution"`) != steps || strings.Count(got, `"ended":true`) != ended {
			t.Errorf("%s: %d %s; want it heard by %d steps, of which it ends %d", body, code, got, steps, ended)
		}
	}
	begin := func(id string) string {
		made := s.Begin(t, "p", map[string]string{"variables.id": id})
		reaches(t, s, made, "heard", "WaitStepRunning")
		return made
	}
	good, bad, gone := begin("good"), begin("bad"), begin("gone")
	if code, _ := tell(t, s, "scans", "{}", ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	if code, got := tell(t, s, "others", `{"id": "good", "good": true}`, s.Token); code != http.StatusOK || strings.Contains(got, `"execution"`) {
		t.Errorf("another webhook: %d %s", code, got)
	}
	hears(`"hello"`, 3, 0)
	hears(`{"id": "else"}`, 3, 0)
	hears(`{"id": "good", "good": true, "n": "3"}`, 3, 1)
	reaches(t, s, good, "p", "Success")
	hears(`{"id": "bad", "good": false}`, 2, 1)
	if e, err := s.Until(t.Context(), bad, e2e.Ended); err != nil || !strings.Contains(e.Message, "an event has met the failureCriteria") {
		t.Errorf("%v, the failure is %q", err, e.Message)
	}
	if err := s.Call(t.Context(), "POST", "/v1/executions/"+gone+"/nodes/heard/mark", map[string]string{"as": "Failed"}, nil); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, gone, "p", "Failed")
	hears(`{"id": "gone", "good": true}`, 0, 0)
	forged := begin("forged")
	hears(`{"id": "forged", "good": true, "x": [{"$secret": "secret:::token"}]}`, 1, 1)
	if e, err := s.Until(t.Context(), forged, e2e.Ended); err != nil || e.Status != "Failed" || !strings.Contains(e.Message, "$secret") {
		t.Errorf("an event that refers to a secret: %v, the execution is %s: %q", err, e.Status, e.Message)
	}
}

// tell sends an event to the steps that listen to a webhook.
func tell(t *testing.T, s *e2e.Server, webhook, body, key string) (int, string) {
	t.Helper()
	url := s.URL + "/webhooks/listen/" + webhook + "?orgIdentifier=" + s.Org + "&projectIdentifier=" + s.Project
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(got)
}
