package e2e_test

import (
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// The user, the key and the port of a login come from a secret, whose key is
// another secret. What happens on the host is delegate/shell's to test.
func TestScriptOnAnotherHost(t *testing.T) {
	t.Parallel()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := json.Marshal(string(pem.EncodeToMemory(block)))
	if err != nil {
		t.Fatal(err)
	}
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true})
	s.Apply(t, `secret:
  identifier: pem
  name: pem
  type: SecretText
  spec:
    secretManagerIdentifier: harnessSecretManager
    valueType: Inline
    value: `+string(key)+`
---
secret:
  identifier: login
  name: login
  type: SSHKey
  spec: {port: 1, auth: {type: SSH, spec: {credentialType: KeyReference, spec: {userName: ada, key: pem}}}}
---
pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [
  {step: {identifier: a, name: a, type: ShellScript, spec: {shell: Bash, onDelegate: false, executionTarget: {host: 127.0.0.1, connectorRef: login}, source: {type: Inline, spec: {script: pwd}}}}}]}}}}]}
`)
	e := s.Run(t, "p", nil)
	if want := "host 127.0.0.1:1 is out of reach"; e.Status != "Failed" || !strings.Contains(e.Message, want) {
		t.Errorf("%s: %s; want Failed: …%s", e.Status, e.Message, want)
	}
}
