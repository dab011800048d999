// Package azure gives a delegate what an Azure connector stands for: access
// tokens of Microsoft Entra for an application with a secret or a certificate,
// or for the managed identity of what the delegate runs on, and a login to a
// container registry.
//
// What else is asked with the tokens is the caller's.
package azure

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// metadata is where a machine of Azure asks for its own tokens.
const metadata = "http://169.254.169.254/metadata/identity/oauth2/token"

// Management is the address of the API of a cloud's resources.
func Management(a task.Azure) string {
	if a.Government {
		return "https://management.usgovcloudapi.net"
	}
	return "https://management.azure.com"
}

func loginServer(a task.Azure) string {
	if a.Government {
		return "https://login.microsoftonline.us"
	}
	return "https://login.microsoftonline.com"
}

// Token asks for an access token for a resource, such as Management's address.
// Requests are sent over t; nil is net/http's default.
func Token(ctx context.Context, a task.Azure, resource string, t http.RoundTripper) (string, error) {
	if a.Managed {
		return managed(ctx, a, resource, t)
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {a.Client}, "scope": {strings.TrimSuffix(resource, "/") + "/.default"}}
	at := loginServer(a) + "/" + url.PathEscape(a.Tenant) + "/oauth2/v2.0/token"
	if a.Certificate == "" {
		form.Set("client_secret", a.Secret)
	} else {
		assertion, err := assertion(a, at)
		if err != nil {
			return "", err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	}
	return post(ctx, at, form, "access_token", t)
}

// managed asks for a token of the identity of what the delegate runs on.
func managed(ctx context.Context, a task.Azure, resource string, t http.RoundTripper) (string, error) {
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {resource}}
	if a.Client != "" {
		query.Set("client_id", a.Client)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, metadata+"?"+query.Encode(), nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Metadata", "true")
	return send(req, "access_token", t)
}

// post sends a form and reads a token out of the answer.
func post(ctx context.Context, at string, form url.Values, key string, t http.RoundTripper) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return "", fault.New(fault.Invalid, "the address %s: %w", at, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return send(req, key, t)
}

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 1 << 20

func send(req *http.Request, key string, t http.RoundTripper) (string, error) {
	host := req.URL.Host
	resp, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return "", fault.New(fault.Unavailable, "ask %s for a token: %w", host, err).Causing(fault.Connectivity, fault.RetryableTransientFailure)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", fault.New(fault.Unavailable, "read a token of %s: %w", host, err).Causing(fault.Connectivity)
	}
	var doc map[string]json.RawMessage
	var token, code, text string
	if json.Unmarshal(body, &doc) == nil {
		_ = json.Unmarshal(doc[key], &token)
		_ = json.Unmarshal(doc["error"], &code)
		_ = json.Unmarshal(doc["error_description"], &text)
	}
	if token == "" {
		return "", fault.New(fault.Unavailable, "%s gave no token: status %d %s %s", host, resp.StatusCode, code, firstLine(text)).Causing(fault.Authentication)
	}
	return token, nil
}

// firstLine cuts off what Microsoft adds for its own support.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}
