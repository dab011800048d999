package api_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/catalog"
)

const secretText = `secret:
  type: SecretText
  name: db password
  identifier: db_password
  spec:
    secretManagerIdentifier: harnessSecretManager
    valueType: Inline
    value: hunter2 # the old one
`

func TestASecretsValueIsNeverGivenOut(t *testing.T) {
	t.Parallel()
	s := setup(t)
	if got := s.save(secretText); got.Change != catalog.Created || len(got.Warnings) > 0 {
		t.Errorf("first save: %+v", got)
	}
	if got := s.save(secretText); got.Change != catalog.Unchanged {
		t.Errorf("the same value again: %+v; want unchanged", got)
	}
	if got := s.save(strings.Replace(secretText, "hunter2", "hunter3", 1)); got.Change != catalog.Configured {
		t.Errorf("another value: %+v; want configured", got)
	}
	const path = "/v1/entities/secret/db_password" + scope
	for _, a := range []answer{
		s.ask("GET", path, ""),
		s.ask("GET", path, "", "Accept", "application/yaml"),
		s.ask("GET", "/v1/entities/secret"+scope, ""),
		s.ask("GET", "/v1/audit", ""),
	} {
		if a.want(200, nil); strings.Contains(string(a.body), "hunter") {
			t.Errorf("the value is in %s", a.body)
		}
	}
	var e api.Entity
	s.ask("GET", path, "").want(200, &e)
	if want := strings.Replace(secretText, "hunter2", `""`, 1); e.YAML != want {
		t.Errorf("the document is kept as\n%swant\n%s", e.YAML, want)
	}
	if got := s.save(e.YAML); got.Change != catalog.Unchanged {
		t.Errorf("saving what was given back: %+v; want that the value stays", got)
	}
}

func TestSecretFiles(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save(secretText)
	s.save("secret:\n  type: SecretFile\n  name: ca\n  identifier: ca\n  spec:\n    secretManagerIdentifier: harnessSecretManager\n")
	s.ask("PUT", "/v1/secrets/ca/file"+scope, "PEM", "Content-Type", "application/octet-stream").want(204, nil)
	s.ask("PUT", "/v1/secrets/db_password/file"+scope, "PEM").problem(409)
	s.ask("PUT", "/v1/secrets/nobody/file"+scope, "PEM").problem(404)
}
