package secretmanager

import (
	"context"
	"net/http"
	"os"
	"strings"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// vault is a server as one secret needs it.
type vault struct {
	task.VaultSecret

	client *restapi.Client
}

func fetchVault(ctx context.Context, s task.VaultSecret) (string, error) {
	v := vault{s, restapi.New(task.Server{URL: s.URL, Auth: task.AuthNone}, nil)}
	token, err := v.token(ctx)
	if err != nil {
		return "", err
	}
	path := "/v1/" + strings.Trim(s.Engine, "/") + "/"
	if s.Version != 1 {
		path += "data/"
	}
	a, err := v.client.Do(ctx, restapi.Request{Method: http.MethodGet, Path: path + strings.Trim(s.Path, "/"), Header: v.header(token)})
	if err != nil {
		return "", err
	}
	doc, err := expr.FromJSON(a.Body)
	if err != nil {
		return "", fault.New(fault.Unavailable, "Vault's answer isn't JSON").Causing(fault.Unknown)
	}
	data, _ := doc.Field("data")
	if s.Version != 1 {
		data, _ = data.Field("data")
	}
	return part(data, s.Key)
}

// Vault is a server that has let somebody in.
type Vault struct {
	// Policies are those of the token, by their names.
	Policies []string

	vault
	token string
}

// OpenVault logs in as a secret of Vault's says, and asks Vault what that is worth.
// Requests are sent over t; nil is net/http's default.
func OpenVault(ctx context.Context, s task.VaultSecret, t http.RoundTripper) (*Vault, error) {
	v := vault{s, restapi.New(task.Server{URL: s.URL, Auth: task.AuthNone}, t)}
	token, err := v.token(ctx)
	if err != nil {
		return nil, err
	}
	var doc struct{ Data struct{ Policies []string } }
	if err := v.client.JSON(ctx, restapi.Request{Method: http.MethodGet, Path: "/v1/auth/token/lookup-self", Header: v.header(token)}, &doc); err != nil {
		return nil, err
	}
	return &Vault{Policies: doc.Data.Policies, vault: v, token: token}, nil
}

// EngineVersion is that of the engine of the secret: 1 or 2.
func (v *Vault) EngineVersion(ctx context.Context) (int, error) {
	var doc struct {
		Data struct {
			Options struct{ Version string }
		}
	}
	path := "/v1/sys/internal/ui/mounts/" + strings.Trim(v.Engine, "/")
	if err := v.client.JSON(ctx, restapi.Request{Method: http.MethodGet, Path: path, Header: v.header(v.token)}, &doc); err != nil {
		return 0, err
	}
	if doc.Data.Options.Version == "2" {
		return 2, nil
	}
	return 1, nil
}

func (v vault) header(token string) http.Header {
	h := http.Header{"X-Vault-Request": {"true"}}
	if v.Namespace != "" {
		h.Set("X-Vault-Namespace", v.Namespace)
	}
	if token != "" {
		h.Set("X-Vault-Token", token)
	}
	return h
}

// token is what proves who asks.
func (v vault) token(ctx context.Context) (string, error) {
	switch {
	case v.Token != "":
		return v.Token, nil
	case v.RoleID != "":
		return v.login(ctx, "auth/approle/login", map[string]string{"role_id": v.RoleID, "secret_id": v.SecretID})
	case v.SinkPath != "":
		return readToken(v.SinkPath)
	case v.Kubernetes != nil:
		jwt, err := readToken(v.Kubernetes.TokenPath)
		if err != nil {
			return "", err
		}
		return v.login(ctx, v.Kubernetes.Endpoint, map[string]string{"role": v.Kubernetes.Role, "jwt": jwt})
	}
	return "", fault.New(fault.Invalid, "nothing says how to log in to Vault")
}

func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fault.New(fault.Unavailable, "read the delegate's token for Vault: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func (v vault) login(ctx context.Context, path string, body map[string]string) (string, error) {
	a, err := v.client.Do(ctx, restapi.Request{Method: http.MethodPost, Path: "/v1/" + strings.Trim(path, "/"), JSON: body, Header: v.header("")})
	if err != nil {
		return "", err
	}
	doc, err := expr.FromJSON(a.Body)
	if err != nil {
		return "", fault.New(fault.Unavailable, "Vault's answer isn't JSON").Causing(fault.Unknown)
	}
	auth, _ := doc.Field("auth")
	token, _ := auth.Field("client_token")
	if token.IsNull() {
		return "", fault.New(fault.Unavailable, "Vault gave no token").Causing(fault.Authentication)
	}
	return token.Text(), nil
}
