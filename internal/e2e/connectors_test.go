package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testservers"
)

// connect gives a server the connectors that an example refers to, each to a
// stand-in for its system.
func connect(t *testing.T, s *e2e.Server, example string) {
	t.Helper()
	systems := []struct {
		id, kind, url string
		start         func() string
	}{
		{"jira", "Jira", "jiraUrl", func() string { return testservers.NewJira(t).URL }},
		{"servicenow", "ServiceNow", "serviceNowUrl", func() string { return testservers.NewServiceNow(t).URL }},
		{"jenkins", "Jenkins", "jenkinsUrl", func() string { return testservers.NewJenkins(t).URL }},
		{"bamboo", "Bamboo", "bambooUrl", func() string { return testservers.NewBamboo(t).URL }},
	}
	for _, system := range systems {
		if !strings.Contains(example, "connectorRef: "+system.id+"\n") {
			continue
		}
		s.Apply(t, fmt.Sprintf(`secret:
  identifier: robot
  name: robot
  type: SecretText
  spec:
    secretManagerIdentifier: harnessSecretManager
    valueType: Inline
    value: %s
---
connector:
  identifier: %s
  name: %s
  type: %s
  spec:
    %s: %s
    auth: {type: UsernamePassword, spec: {username: %s, passwordRef: robot}}
`, testservers.Password, system.id, system.id, system.kind, system.url, system.start(), testservers.Username))
	}
}
