package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/api"
)

// A connector is tested by a delegate, before it is saved or after.
func TestConnectorsAreTested(t *testing.T) {
	t.Parallel()
	onEveryHost(t, connectorsAreTested)
}

func connectorsAreTested(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	images := testservers.NewImages(t, true)
	s := start(t)
	const connector = "connector: {identifier: images, name: images, type: DockerRegistry, spec: {dockerRegistryUrl: %q, providerType: Other, auth: {type: UsernamePassword, spec: {username: %s, passwordRef: %s}}%s}}\n"
	s.Apply(t, fmt.Sprintf("secret: {identifier: robot, name: robot, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: %s}}\n---\n"+
		"secret: {identifier: wrong, name: wrong, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: opensesame}}\n---\n"+connector,
		testservers.Password, images.URL, testservers.Username, "robot", ""))
	var started api.StartedTest
	if err := s.Call(t.Context(), http.MethodPost, "/v1/connectors/images/test", nil, &started); err != nil {
		t.Fatal(err)
	}
	if got := tested(t, s, started.Execution); got.Status != "SUCCESS" || got.Delegate == nil || !strings.Contains(checks(got), "login ok: "+images.URL+" lets user") {
		t.Errorf("a saved connector: %s\n%s", got.Status, checks(got))
	}
	for _, tt := range []struct{ name, doc, status, want string }{
		{"a wrong password", fmt.Sprintf(connector, images.URL, testservers.Username, "wrong", ""), "FAILURE", "login failed: " + images.URL + " doesn't let user robot@example.com in"},
		{"a delegate that isn't there", fmt.Sprintf(connector, images.URL, testservers.Username, "robot", ", delegateSelectors: [moon]"), "NO_DELEGATE", "lacks [moon]"},
	} {
		began := time.Now()
		if err := s.Call(t.Context(), http.MethodPost, "/v1/connectors:test", tt.doc, &started); err != nil {
			t.Fatal(err)
		}
		got := tested(t, s, started.Execution)
		if string(got.Status) != tt.status || !strings.Contains(checks(got), tt.want) || strings.Contains(checks(got), "opensesame") {
			t.Errorf("%s, in %s: %s\n%s", tt.name, time.Since(began), got.Status, checks(got))
		}
	}
}

// tested waits for the end of a test.
func tested(t *testing.T, s *e2e.Server, execution string) api.ConnectorTest {
	t.Helper()
	finish(t, s, execution)
	var got api.ConnectorTest
	if err := s.Call(context.WithoutCancel(t.Context()), http.MethodGet, "/v1/executions/"+execution+"/test", nil, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// checks are those of a test, a line each.
func checks(c api.ConnectorTest) string {
	var b strings.Builder
	for _, check := range c.Checks {
		fmt.Fprintf(&b, "%s %s: %s\n", check.Name, map[bool]string{true: "ok", false: "failed"}[check.OK], check.Message)
	}
	return cmp.Or(b.String(), c.Message)
}
