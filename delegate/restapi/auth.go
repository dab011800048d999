package restapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// authorize adds the credentials to a request.
func (c *Client) authorize(ctx context.Context, req *http.Request) error {
	switch c.server.Auth {
	case task.AuthNone:
		return nil
	case task.AuthBasic:
		req.SetBasicAuth(c.server.Username, c.server.Password)
		return nil
	case task.AuthBearer:
		req.Header.Set("Authorization", "Bearer "+c.server.Token)
		return nil
	case task.AuthRefreshToken:
		if c.token == "" {
			token, err := c.refresh(ctx, c.server.OAuth)
			if err != nil {
				return err
			}
			c.token = token
		}
		req.Header.Set("Authorization", "Bearer "+c.token)
		return nil
	}
	return fault.New(fault.Unsupported, "the authentication %q isn't known to this delegate", c.server.Auth)
}

// refresh fetches an access token (RFC 6749 §6).
func (c *Client) refresh(ctx context.Context, o *task.OAuth) (string, error) {
	if o == nil {
		return "", fault.New(fault.Invalid, "the connector names no token URL")
	}
	if _, err := address.Web("the connector's token URL", o.TokenURL); err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {o.RefreshToken}, "client_id": {o.ClientID}}
	if o.ClientSecret != "" {
		form.Set("client_secret", o.ClientSecret)
	}
	if o.Scope != "" {
		form.Set("scope", o.Scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", fault.New(fault.Invalid, "the token URL can't be used: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", err
	}
	var answer struct {
		Token       string `json:"access_token"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Token == "" {
		return "", fault.New(fault.Unavailable, "no access token came from %s: status %d %s %s",
			o.TokenURL, resp.StatusCode, answer.Error, answer.Description).Causing(fault.Authentication)
	}
	return answer.Token, nil
}
