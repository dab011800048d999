package secretmanager_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/secretmanager"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// check compares a secret's value, or the error in place of it.
func check(t *testing.T, f task.FetchedSecret, want string, options ...func(*config.LoadOptions) error) {
	t.Helper()
	got, err := secretmanager.Fetch(t.Context(), f, options...)
	if message, fails := strings.CutPrefix(want, "error: "); fails || err != nil {
		if !fails || err == nil || !strings.Contains(err.Error(), message) || strings.Contains(err.Error(), "opensesame") {
			t.Errorf("got %q, %v; want %s", got, err, want)
		}
		return
	}
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// put keeps a secret in moto.
func put(t *testing.T, endpoint config.LoadOptionsFunc, account task.AWS, name, text string, binary []byte) {
	t.Helper()
	cfg, err := aws.Config(t.Context(), account, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	in := &secretsmanager.CreateSecretInput{Name: &name, SecretBinary: binary}
	if binary == nil {
		in.SecretString = &text
	}
	if _, err := secretsmanager.NewFromConfig(cfg).CreateSecret(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

func TestAWSSecrets(t *testing.T) {
	t.Parallel()
	endpoint := config.WithBaseEndpoint(testaws.Moto(t, testaws.NewHost(t)))
	keys := task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: "eu-central-1"}
	role := keys
	role.Role, role.RoleSeconds = "arn:aws:iam::210987654321:role/reader", 900
	put(t, endpoint, keys, "db", `{"password": "opensesame", "port": 5432, "nested": {"a": "b"}, "a.b": "dotted"}`, nil)
	put(t, endpoint, keys, "plain", "opensesame", nil)
	put(t, endpoint, keys, "binary", "", []byte("opensesame"))
	put(t, endpoint, role, "of the role's account", "opensesame", nil)
	for name, tt := range map[string]struct {
		secret task.AWSSecret
		want   string
	}{
		"a text":               {task.AWSSecret{AWS: keys, Name: "plain"}, "opensesame"},
		"bytes":                {task.AWSSecret{AWS: keys, Name: "binary"}, "opensesame"},
		"a key":                {task.AWSSecret{AWS: keys, Name: "db", Key: "password"}, "opensesame"},
		"a number":             {task.AWSSecret{AWS: keys, Name: "db", Key: "port"}, "5432"},
		"a key in a key":       {task.AWSSecret{AWS: keys, Name: "db", Key: "nested.a"}, "b"},
		"a key with a dot":     {task.AWSSecret{AWS: keys, Name: "db", Key: "a.b"}, "dotted"},
		"of the role":          {task.AWSSecret{AWS: role, Name: "of the role's account"}, "opensesame"},
		"a key that is absent": {task.AWSSecret{AWS: keys, Name: "db", Key: "user"}, `error: it has no key "user"`},
		"a key of no JSON":     {task.AWSSecret{AWS: keys, Name: "plain", Key: "x"}, `error: AWS's secret plain isn't JSON, so it has no key "x"`},
		"one that is absent":   {task.AWSSecret{AWS: keys, Name: "nope"}, "error: AWS has no secret nope in eu-central-1"},
		"of another account":   {task.AWSSecret{AWS: role, Name: "plain"}, "error: AWS has no secret plain in eu-central-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, task.FetchedSecret{Name: "s", AWS: &tt.secret}, tt.want, endpoint)
		})
	}
}

// vault is the part of Vault's API that is used, as its documentation has it:
// two engines, tokens, AppRoles and Kubernetes.
func vault(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, status int, doc any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(doc) // the client sees it
	}
	reads := func(data any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Vault-Token") != "token-1" || r.Header.Get("X-Vault-Namespace") != "team" {
				answer(w, http.StatusForbidden, map[string]any{"errors": []string{"permission denied"}})
				return
			}
			answer(w, http.StatusOK, map[string]any{"data": data})
		}
	}
	logsIn := func(key, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var in map[string]string
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in[key] != value {
				answer(w, http.StatusBadRequest, map[string]any{"errors": []string{"invalid role or secret ID"}})
				return
			}
			answer(w, http.StatusOK, map[string]any{"auth": map[string]any{"client_token": "token-1"}})
		}
	}
	secret := map[string]any{"password": "opensesame", "nested": map[string]any{"a": "b"}}
	mux.HandleFunc("GET /v1/kv/data/db/main", reads(map[string]any{"data": secret, "metadata": map[string]any{"version": 3}}))
	mux.HandleFunc("GET /v1/old/db/main", reads(secret))
	mux.HandleFunc("POST /v1/auth/approle/login", logsIn("secret_id", "s-1"))
	mux.HandleFunc("POST /v1/auth/cluster/login", logsIn("jwt", "jwt-1"))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestVaultSecrets(t *testing.T) {
	t.Parallel()
	url := vault(t)
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	base := task.VaultSecret{URL: url, Namespace: "team", Engine: "kv", Version: 2, Path: "/db/main", Key: "password", Token: "token-1"}
	for name, tt := range map[string]struct {
		change func(*task.VaultSecret)
		want   string
	}{
		"a token":                 {func(*task.VaultSecret) {}, "opensesame"},
		"the first engine":        {func(s *task.VaultSecret) { s.Engine, s.Version = "old", 1 }, "opensesame"},
		"a key in a key":          {func(s *task.VaultSecret) { s.Key = "nested.a" }, "b"},
		"an AppRole":              {func(s *task.VaultSecret) { s.Token, s.RoleID, s.SecretID = "", "r-1", "s-1" }, "opensesame"},
		"an agent's token":        {func(s *task.VaultSecret) { s.Token, s.SinkPath = "", file("token-1\n") }, "opensesame"},
		"a service account":       {func(s *task.VaultSecret) { s.Token, s.Kubernetes = "", account(file("jwt-1")) }, "opensesame"},
		"a key that is absent":    {func(s *task.VaultSecret) { s.Key = "user" }, `error: it has no key "user"`},
		"a path that is absent":   {func(s *task.VaultSecret) { s.Path = "db/other" }, "error: GET /v1/kv/data/db/other: status 404"},
		"another token":           {func(s *task.VaultSecret) { s.Token = "token-2" }, "error: permission denied"},
		"another AppRole":         {func(s *task.VaultSecret) { s.Token, s.RoleID, s.SecretID = "", "r-1", "s-2" }, "error: invalid role or secret ID"},
		"an agent without a file": {func(s *task.VaultSecret) { s.Token, s.SinkPath = "", "/nowhere/token" }, "error: read the delegate's token for Vault"},
		"no login":                {func(s *task.VaultSecret) { s.Token = "" }, "error: nothing says how to log in to Vault"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := base
			tt.change(&s)
			check(t, task.FetchedSecret{Name: "s", Vault: &s}, tt.want)
		})
	}
}

func account(path string) *task.VaultKubernetes {
	return &task.VaultKubernetes{Role: "deployer", TokenPath: path, Endpoint: "auth/cluster/login"}
}
