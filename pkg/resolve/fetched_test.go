package resolve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/template"
)

// vaultEntities are the secrets and managers of these tests, by kind and
// identifier; those of the account begin with "account".
var vaultEntities = map[string]string{ //nolint:gochecknoglobals // documents
	"secret db": `secret: {identifier: db, type: SecretText, spec: {secretManagerIdentifier: vault, valueType: CustomSecretManagerValues,
  value: '{"environmentVariables": [{"name": "path", "type": "String", "value": "kv/<+project.identifier>"}]}'}}`,
	"secret plain":         `secret: {identifier: plain, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: ""}}`,
	"secret default":       `secret: {identifier: default, type: SecretText, spec: {secretManagerIdentifier: vault, valueType: CustomSecretManagerValues}}`,
	"secret account.token": `secret: {identifier: token, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: ""}}`,
	"secret other":         custom("vault", "other", "x"),
	"secret fixed":         custom("vault", "key", "another"),
	"secret lost":          custom("nowhere", "path", "x"),
	"secret wrong":         custom("hub", "path", "x"),
	"secret circle":        custom("vault", "path", `<+secrets.getValue(\"circle\")>`),
	"secret jumped":        custom("jump", "path", "x"),
	"secret jumpKey":       `secret: {identifier: jumpKey, type: SSHKey, spec: {port: 2222, auth: {type: SSH, spec: {credentialType: KeyReference, spec: {userName: ada, key: plain}}}}}`,
	"connector vault": `connector: {identifier: vault, type: CustomSecretManager, spec: {onDelegate: true, timeout: 20, delegateSelectors: [near],
  template: {templateRef: account.vault, templateInputs: {environmentVariables: [{name: path, type: String, value: kv/all, useAsDefault: true}, {name: key, type: String, value: pass}]}}}}`,
	"connector jump": `connector: {identifier: jump, type: CustomSecretManager, spec: {onDelegate: false, host: jump.example.com, connectorRef: jumpKey, workingDirectory: /w,
  template: {templateRef: account.vault, templateInputs: {environmentVariables: [{name: key, type: String, value: k}]}}}}`,
	"connector aws":   `connector: {identifier: aws, type: AwsSecretManager, spec: {credential: {type: ManualConfig, spec: {accessKey: account.token, secretKey: plain}}, region: eu-central-1, delegateSelectors: [eu]}}`,
	"connector role":  `connector: {identifier: role, type: AwsSecretManager, spec: {credential: {type: AssumeSTSRole, spec: {roleArn: "arn:aws:iam::123456789012:role/r", externalId: "42", assumeStsRoleDuration: 900}}, region: eu-central-1}}`,
	"connector kv":    `connector: {identifier: kv, type: Vault, spec: {vaultUrl: "https://vault", secretEngineName: kv, secretEngineVersion: 1, namespace: team, authToken: account.token}}`,
	"connector roles": `connector: {identifier: roles, type: Vault, spec: {vaultUrl: "https://vault", secretEngineName: kv, accessType: APP_ROLE, appRoleId: r-1, secretId: plain}}`,
	"connector pod":   `connector: {identifier: pod, type: Vault, spec: {vaultUrl: "https://vault", secretEngineName: kv, accessType: K8s_AUTH, vaultK8sAuthRole: deployer}}`,
	"connector agent": `connector: {identifier: agent, type: Vault, spec: {vaultUrl: "https://vault", secretEngineName: kv, accessType: VAULT_AGENT, sinkPath: /token}}`,
	"secret inAWS":    `secret: {identifier: inAWS, type: SecretText, spec: {secretManagerIdentifier: aws, valueType: Reference, value: "db#password"}}`,
	"secret mixed":    `secret: {identifier: mixed, type: SecretText, spec: {secretManagerIdentifier: vault, valueType: Reference, value: "db"}}`,
	"connector hub":   `connector: {identifier: hub, type: DockerRegistry, spec: {}}`,
}

func custom(manager, name, value string) string {
	return `secret: {type: SecretText, spec: {secretManagerIdentifier: ` + manager + `, valueType: CustomSecretManagerValues, value: '{"environmentVariables": [{"name": "` +
		name + `", "type": "String", "value": "` + value + `"}]}'}}`
}

type vault struct{ store.Entities }

// Entity finds one of vaultEntities.
func (vault) Entity(_ context.Context, k store.EntityKey) (store.Entity, error) {
	name := k.ID
	if k.Scope.Org == "" {
		name = "account." + name
	}
	doc, ok := vaultEntities[string(k.Kind)+" "+name]
	if !ok {
		return store.Entity{}, fault.New(fault.NotFound, "no %s", k.ID)
	}
	return store.Entity{Key: k, YAML: []byte(doc)}, nil
}

func vaultScope(t *testing.T) *resolve.Scope {
	t.Helper()
	return vaultWith(t, `{type: Inline, spec: {script: '`+vaultScript+`'}}`)
}

const vaultScript = `secret=$(get <+spec.environmentVariables.path> <+secrets.getValue("token")>)`

// vaultWith is vaultScope where the script of the account's template has a source.
func vaultWith(t *testing.T, source string) *resolve.Scope {
	t.Helper()
	p, err := planning.Build(planning.Source{Pipeline: pipelineOf(t, pipelineYAML)})
	if err != nil {
		t.Fatal(err)
	}
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Root.Children[0], Entities: vault{}, Now: time.Unix(1000, 0),
		Files:     files{contents: map[string]string{"acme:/vault.sh": vaultScript, "acme/default/web:/vault.sh": "echo stolen"}},
		State:     func(plan.NodeID) plan.State { return plan.State{} },
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
		Templates: func(_ context.Context, name ref.Ref, _ string) (template.Version, error) {
			if name.ID != "vault" || name.Scope.Org != "" {
				return template.Version{}, fault.New(fault.NotFound, "there is no template %s", name.ID)
			}
			return template.Version{Label: "v1", Doc: parse(t, `{type: SecretManager, spec: {shell: Bash, onDelegate: true, delegateSelectors: [jq],
  source: `+source+`,
  environmentVariables: [{name: path, type: String, value: <+input>}, {name: key, type: String, value: <+input>}]}}`)}, nil
		},
	})
}

// A secret that another manager keeps is handed out as a placeholder with how
// a delegate fetches it. The same secret again is the same placeholder.
func TestSecretsThatAreFetched(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*resolve.Scope{
		"inline": vaultScope(t),
		// The account's template means the account's file, and not the project's.
		"a file": vaultWith(t, `{type: Harness, spec: {file: /vault.sh}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isFetched(t, s)
		})
	}
	_, err := vaultWith(t, `{type: Harness, spec: {file: /none.sh}}`).Text(`<+secrets.getValue("db")>`)
	if err == nil || !strings.Contains(err.Error(), "the file store has no file acme:/none.sh") {
		t.Errorf("a script that isn't there gave %v", err)
	}
}

func isFetched(t *testing.T, s *resolve.Scope) {
	t.Helper()
	text, err := s.Text(`<+secrets.getValue("db")> <+secrets.getValue("db")> <+secrets.getValue("plain")>`)
	if err != nil {
		t.Fatal(err)
	}
	secrets, pulls := s.Secrets(), s.LateSecrets()
	var token, plain string
	for placeholder, name := range secrets {
		switch name {
		case "secret:acme:token":
			token = placeholder
		case "secret:acme/default/web:plain":
			plain = placeholder
		}
	}
	if len(secrets) != 2 || len(pulls) != 1 {
		t.Fatalf("secrets %v, fetched %v", secrets, pulls)
	}
	for placeholder, p := range pulls {
		if want := placeholder + " " + placeholder + " " + plain; text != want {
			t.Errorf("the text is %q, want %q", text, want)
		}
		want := task.LateSecret{Selectors: []string{"jq", "near"}, Fetched: &task.FetchedSecret{
			Name: "db", Timeout: 20 * time.Second, Script: &task.Shell{
				Shell: "Bash", Script: "secret=$(get kv/web " + token + ")", Env: map[string]string{"path": "kv/web", "key": "pass"},
				Outputs: []task.ShellOutput{{Name: "secret", Variable: "secret", Secret: true}},
			},
		}}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Errorf("how it is fetched (-want +got):\n%s", diff)
		}
	}
}

func TestHowSecretsAreFetched(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"default": "kv/all",
		"other":   `error: secret "other" of the manager "vault": its template has no input "other"`,
		"fixed":   `error: the connector fixes the input "key"; the secret can't change it`,
		"lost":    `error: the manager "nowhere" of secret "lost" isn't in acme/default/web`,
		"wrong":   "error: connector hub is of type DockerRegistry; want one of CustomSecretManager, AwsSecretManager, Vault",
		"circle":  `error: the input "path": `,
		"jumped":  "jump.example.com:2222 as ada in /w",
	}
	for id, want := range tests {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := vaultScope(t)
			_, err := s.Text(`<+secrets.getValue("` + id + `")>`)
			if message, fails := strings.CutPrefix(want, "error: "); fails || err != nil {
				if !fails || err == nil || !strings.Contains(err.Error(), message) {
					t.Errorf("%v; want %s", err, want)
				}
				return
			}
			for _, p := range s.LateSecrets() {
				got := p.Fetched.Script.Env["path"]
				if r := p.Fetched.Script.Remote; r != nil {
					got = r.Host + ":2222 as " + r.User + " in " + p.Fetched.Script.WorkingDirectory
				}
				if got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
}

// Secrets of AWS and of Vault are named by a reference, or by an expression.
func TestReferencesToSecrets(t *testing.T) {
	t.Parallel()
	keys := task.AWS{Auth: task.AWSKeys, AccessKey: "TOKEN", SecretKey: "PLAIN", Region: "eu-central-1"}
	assumed := task.AWS{Auth: task.AWSInherit, Region: "eu-central-1", Role: "arn:aws:iam::123456789012:role/r", ExternalID: "42", RoleSeconds: 900}
	tests := map[string]struct {
		want  task.FetchedSecret
		fails string
	}{
		"inAWS":                       {want: task.FetchedSecret{AWS: &task.AWSSecret{AWS: keys, Name: "db", Key: "password"}}},
		"awssecretsmanager://role/db": {want: task.FetchedSecret{AWS: &task.AWSSecret{AWS: assumed, Name: "db"}}},
		"hashicorpvault://kv/a/b#c":   {want: task.FetchedSecret{Vault: &task.VaultSecret{URL: "https://vault", Namespace: "team", Engine: "kv", Version: 1, Path: "a/b", Key: "c", Token: "TOKEN"}}},
		"hashicorpvault://roles/a":    {want: task.FetchedSecret{Vault: &task.VaultSecret{URL: "https://vault", Engine: "kv", Version: 2, Path: "a", Key: "value", RoleID: "r-1", SecretID: "PLAIN"}}},
		"hashicorpvault://agent/a":    {want: task.FetchedSecret{Vault: &task.VaultSecret{URL: "https://vault", Engine: "kv", Version: 2, Path: "a", Key: "value", SinkPath: "/token"}}},
		"hashicorpvault://pod/a": {want: task.FetchedSecret{Vault: &task.VaultSecret{URL: "https://vault", Engine: "kv", Version: 2, Path: "a", Key: "value", Kubernetes: &task.VaultKubernetes{
			Role: "deployer", TokenPath: "/var/run/secrets/kubernetes.io/serviceaccount/token", Endpoint: "auth/kubernetes/login",
		}}}},
		"mixed":                         {fails: "it has the value type Reference; secrets of a CustomSecretManager have CustomSecretManagerValues"},
		"hashicorpvault://nope/a":       {fails: `the manager "nope"`},
		"azurevault://kv/a":             {fails: `secrets that are named as "azurevault://kv/a" aren't supported yet; want awssecretsmanager:// or hashicorpvault://`},
		"account.hashicorpvault://kv/a": {fails: `the manager "kv" of secret`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := vaultScope(t)
			_, err := s.Text(`<+secrets.getValue("` + name + `")>`)
			if err != nil || tt.fails != "" {
				if err == nil || tt.fails == "" || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%v; want %s", err, tt.fails)
				}
				return
			}
			for _, p := range s.LateSecrets() {
				doc, err := json.Marshal(p.Fetched)
				if err != nil {
					t.Fatal(err)
				}
				for placeholder, secret := range s.Secrets() {
					word := strings.ToUpper(secret[strings.LastIndex(secret, ":")+1:])
					doc = bytes.ReplaceAll(doc, []byte(placeholder), []byte(word))
				}
				var got task.FetchedSecret
				if err := json.Unmarshal(doc, &got); err != nil {
					t.Fatal(err)
				}
				tt.want.Name = name
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("how it is fetched (-want +got):\n%s", diff)
				}
			}
		})
	}
}
