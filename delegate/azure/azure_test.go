package azure_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/azure"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

func cloud(t *testing.T) (*testservers.Cloud, testservers.Reroute) {
	t.Helper()
	c := testservers.NewCloud(t)
	to := testservers.Reroute{}
	for _, host := range []string{"login.microsoftonline.com", "login.microsoftonline.us", "169.254.169.254", "acme.azurecr.io"} {
		to[host] = c.URL
	}
	return c, to
}

func TestTokens(t *testing.T) {
	t.Parallel()
	c, to := cloud(t)
	app := task.Azure{Tenant: testservers.CloudTenant, Client: testservers.CloudClient}
	with := func(change func(*task.Azure)) task.Azure {
		a := app
		change(&a)
		return a
	}
	tests := map[string]struct {
		a         task.Azure
		want, err string
	}{
		"a secret":                  {with(func(a *task.Azure) { a.Secret = testservers.Password }), testservers.CloudToken, ""},
		"a certificate":             {with(func(a *task.Azure) { a.Certificate = c.Certificate }), testservers.CloudToken, ""},
		"of the government's cloud": {with(func(a *task.Azure) { a.Certificate, a.Government = c.Certificate, true }), testservers.CloudToken, ""},
		"the machine's identity":    {task.Azure{Managed: true}, testservers.CloudToken, ""},
		"a user-assigned identity":  {task.Azure{Managed: true, Client: "-u1"}, testservers.CloudToken + "-u1", ""},
		"a wrong secret":            {with(func(a *task.Azure) { a.Secret = "wrong-one" }), "", "invalid_client AADSTS7000215: Invalid client secret provided."},
		"what isn't a certificate":  {with(func(a *task.Azure) { a.Certificate = "hunter2" }), "", "must be PEM"},
		"a tenant that isn't there": {task.Azure{Tenant: "none", Client: "c", Secret: "s"}, "", "status 404"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := azure.Token(t.Context(), tt.a, azure.Management(tt.a), to)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v; want %q, %s", got, err, tt.want, tt.err)
			}
			if err == nil {
				return
			}
			if types := fault.Failures(err); types[0] != fault.Authentication {
				t.Errorf("failure types %v", types)
			}
			if strings.Contains(err.Error(), "wrong-one") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v repeats a secret", err)
			}
		})
	}
}

func TestRegistryLogin(t *testing.T) {
	t.Parallel()
	c, to := cloud(t)
	c.Registry("acme.azurecr.io", testservers.NewImages(t, true))
	a := task.Azure{Tenant: testservers.CloudTenant, Client: testservers.CloudClient, Secret: testservers.Password}
	refresh, err := azure.Registry(t.Context(), a, "acme.azurecr.io", to)
	if err != nil || refresh != "refresh-token" {
		t.Fatalf("got %q, %v", refresh, err)
	}
	if token, err := azure.RegistryAccess(t.Context(), refresh, "acme.azurecr.io", "team/web", to); err != nil || token != "metadata-token" {
		t.Errorf("got %q, %v", token, err)
	}
}
