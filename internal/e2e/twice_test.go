package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// A client's retry or a webhook that is delivered twice: requests with one
// idempotency key that come at the same time are one execution, and the server
// goes on, also when the execution ends as soon as it begins.
func TestRequestsWithOneKeyAtOnceAreOneExecution(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{})
	s.Apply(t, `pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, when: {pipelineStatus: Failure}, spec: {execution: {steps: [`+shell("a", "true")+`]}}}}]}`)
	for round := range 100 {
		answers := make([]string, 24)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = begin(t, s, fmt.Sprint("k", round)) })
		}
		wg.Wait()
		for _, a := range answers {
			if a != answers[0] || !strings.Contains(a, `"id"`) {
				t.Fatalf("round %d: answers %q and %q; want the same execution in all", round, answers[0], a)
			}
		}
	}
	if e := s.Run(t, "p", nil); e.Status != "Skipped" && e.Status != "Success" {
		t.Errorf("afterwards an execution ends as %s", e.Status)
	}
}

// begin starts the pipeline with a key, and gives the execution's id.
func begin(t *testing.T, s *e2e.Server, key string) string {
	t.Helper()
	at := s.URL + "/v1/pipelines/p/executions?" + url.Values{"org": {s.Org}, "project": {s.Project}}.Encode()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(`{}`))
	if err != nil {
		t.Error(err)
		return ""
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		return fmt.Sprint(resp.Status, " ", string(body), err)
	}
	id, _, _ := strings.Cut(string(body), `,`)
	return id
}
