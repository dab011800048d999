package google_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/google"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	c := testservers.NewCloud(t)
	to := testservers.Reroute{"oauth2.googleapis.com": c.URL}
	got, err := google.Login(t.Context(), task.Google{Key: c.Key}, to)
	if want := (google.Access{Token: testservers.CloudToken, Project: "acme-prod"}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for key, want := range map[string]string{
		strings.Replace(c.Key, "deployer@", "other@", 1): "Google doesn't let the connector in: invalid_grant Invalid JWT",
		`{"hunter2`: "isn't the JSON key of a service account",
	} {
		_, err := google.Login(t.Context(), task.Google{Key: key}, to)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v; want %s", err, want)
		}
		if types := fault.Failures(err); types[0] != fault.Authentication {
			t.Errorf("failure types %v", types)
		}
	}
}

// TestTheDelegatesOwnLogin asks a metadata server, which is found by its name
// in the environment.
func TestTheDelegatesOwnLogin(t *testing.T) {
	c := testservers.NewCloud(t)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(c.URL, "http://"))
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("HOME", t.TempDir())
	c.Metadata()
	got, err := google.Login(t.Context(), task.Google{}, nil)
	if want := (google.Access{Token: testservers.CloudToken, Project: "acme-prod"}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
