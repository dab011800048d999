package e2e_test

import (
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// What an account sets holds in its projects, in whichever process answers, and from the
// next request on.
func TestSettings(t *testing.T) {
	t.Parallel()
	onEveryHost(t, accountSettings)
}

func accountSettings(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	account := *s
	account.Org, account.Project = "", ""
	token := func(hours int) error {
		return s.Call(t.Context(), "POST", "/v1/tokens", map[string]any{"kind": "user", "name": "t", "hours": hours}, nil)
	}
	settings := func(server e2e.Server, keys string) error {
		return server.Call(t.Context(), "PUT", "/v1/entities", "setting: {identifier: settings, name: Settings, "+keys+"}", nil)
	}
	if err := token(49); err != nil {
		t.Error(err)
	}
	account.Apply(t, "setting: {identifier: settings, name: Settings, maxTokenLifetime: 2d, banner: {text: Down on Sunday}}")
	wantRefused(t, token(49), "the setting maxTokenLifetime of")
	if err := token(48); err != nil {
		t.Error(err)
	}
	wantRefused(t, settings(*s, "maxTokenLifetime: 3d"), "loosen what is set above")
	if err := settings(*s, "maxTokenLifetime: 1d"); err != nil {
		t.Error(err)
	}
	wantRefused(t, token(48), "lets a token last 1d at most")
	marked := func(id string) error {
		return s.Call(t.Context(), "POST", "/v1/executions/"+id+"/nodes/long/mark", map[string]any{"as": "Failed"}, nil)
	}
	s.Apply(t, one("slow", shell("long", "sleep 600"), ""))
	id := s.Begin(t, "slow", nil)
	if _, err := s.Until(t.Context(), id, func(e e2e.Execution) bool { return e.Root.Find("long").Status == "Running" }); err != nil {
		t.Fatal(err)
	}
	if err := settings(account, "allowMarkStepFailed: false, banner: {text: Down on Sunday}"); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, marked(id), "the setting allowMarkStepFailed of")
	if err := settings(account, "banner: {text: Down on Sunday}"); err != nil {
		t.Fatal(err)
	}
	if err := marked(id); err != nil {
		t.Error(err)
	}
	var who struct{ Banner struct{ Text string } }
	if err := s.Call(t.Context(), "GET", "/v1/whoami", nil, &who); err != nil || who.Banner.Text != "Down on Sunday" {
		t.Errorf("whoami tells %+v, %v", who, err)
	}
}
