// Package google gives a delegate what a Gcp connector stands for: an access
// token for Google Cloud, of a service account's key or of what the delegate
// finds around it (its workload identity, the machine's service account, or
// GOOGLE_APPLICATION_CREDENTIALS).
//
// What is asked with the token is the caller's.
package google

import (
	"context"
	"errors"
	"net/http"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// scope lets the token do what the account's roles let it do.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// RegistryUser is the user name with which an access token is the password of
// Container Registry and Artifact Registry.
const RegistryUser = "oauth2accesstoken"

// Access is a token and the project of the account that it belongs to.
type Access struct {
	Token   string
	Project string
}

// Login asks for an access token, which is good for an hour. Requests are sent
// over t; nil is net/http's default.
func Login(ctx context.Context, g task.Google, t http.RoundTripper) (Access, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: t})
	source, project, err := tokens(ctx, g)
	if err != nil {
		return Access{}, err
	}
	token, err := source.Token()
	if err != nil {
		return Access{}, refused(err)
	}
	return Access{Token: token.AccessToken, Project: project}, nil
}

func tokens(ctx context.Context, g task.Google) (oauth2.TokenSource, string, error) {
	if g.Key == "" {
		found, err := google.FindDefaultCredentials(ctx, scope)
		if err != nil {
			return nil, "", fault.New(fault.Invalid, "the delegate has no credentials of Google Cloud: %w", err).Causing(fault.Authentication)
		}
		return found.TokenSource, found.ProjectID, nil
	}
	cfg, err := google.JWTConfigFromJSON([]byte(g.Key), scope)
	if err != nil { // the error may repeat what it read
		return nil, "", fault.New(fault.Invalid, "the secret of the Gcp connector isn't the JSON key of a service account").Causing(fault.Authentication)
	}
	return cfg.TokenSource(ctx), project([]byte(g.Key)), nil
}

// refused is an error of the token's server for people.
func refused(err error) error {
	var e *oauth2.RetrieveError
	if errors.As(err, &e) {
		return fault.New(fault.Unavailable, "Google doesn't let the connector in: %s", reason(e.Body)).Causing(fault.Authentication)
	}
	return fault.New(fault.Unavailable, "ask Google for an access token: %w", err).Causing(fault.Connectivity, fault.RetryableTransientFailure)
}
