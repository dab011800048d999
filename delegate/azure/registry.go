package azure

import (
	"context"
	"net/http"
	"net/url"

	"github.com/slipway-cd/slipway/pkg/task"
)

// RegistryUser is the user name with which a registry's refresh token is a
// password.
const RegistryUser = "00000000-0000-0000-0000-000000000000"

// Registry asks a container registry for a refresh token, which is a password
// for some hours. server is its login server, e.g. acme.azurecr.io.
func Registry(ctx context.Context, a task.Azure, server string, t http.RoundTripper) (string, error) {
	token, err := Token(ctx, a, Management(a), t)
	if err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"access_token"}, "service": {server}, "access_token": {token}}
	if a.Tenant != "" {
		form.Set("tenant", a.Tenant)
	}
	return post(ctx, "https://"+server+"/oauth2/exchange", form, "refresh_token", t)
}

// RegistryAccess asks for a token with which a repository's metadata may be
// read, for Registry's refresh token.
func RegistryAccess(ctx context.Context, refresh, server, repository string, t http.RoundTripper) (string, error) {
	form := url.Values{
		"grant_type": {"refresh_token"}, "service": {server}, "scope": {"repository:" + repository + ":metadata_read"}, "refresh_token": {refresh},
	}
	return post(ctx, "https://"+server+"/oauth2/token", form, "access_token", t)
}
