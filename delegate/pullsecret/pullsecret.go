// Package pullsecret makes the secrets that pull images, in the forms in
// which Kubernetes takes them (semantics/entities §2.2): of a user name and a
// password, or of what ECR, Google or Azure give for a connector's
// credentials.
//
// It stores and applies nothing; the agent puts what it makes where a task's
// payload or values file has a placeholder.
package pullsecret

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/azure"
	"github.com/slipway-cd/slipway/delegate/google"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Secret is a pull secret and the parts of it that must not be read either.
type Secret struct {
	Value string
	Parts []string
}

// Maker makes a secret.
type Maker func(ctx context.Context, p task.PullSecret) (Secret, error)

// New gives a Maker. options reach AWS's configuration, such as an endpoint.
func New(options ...func(*config.LoadOptions) error) Maker {
	return func(ctx context.Context, p task.PullSecret) (Secret, error) {
		user, password := p.Username, p.Password
		if p.ECR != nil {
			cfg, err := aws.Config(ctx, *p.ECR, options...)
			if err != nil {
				return Secret{}, err
			}
			r, err := aws.Login(ctx, cfg)
			if err != nil {
				return Secret{}, err
			}
			user, password, p.Registry = r.User, r.Password, cmp.Or(p.Registry, r.URL)
		}
		switch {
		case p.Google != nil:
			access, err := google.Login(ctx, *p.Google, nil)
			if err != nil {
				return Secret{}, err
			}
			user, password = google.RegistryUser, access.Token
		case p.Azure != nil:
			token, err := azure.Registry(ctx, *p.Azure, strings.TrimPrefix(p.Registry, "https://"), nil)
			if err != nil {
				return Secret{}, err
			}
			user, password = azure.RegistryUser, token
		}
		return encode(p, user, password)
	}
}

// login is a registry's part of a Docker client's configuration.
type login struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Email    string `json:"email,omitempty"`
	Auth     string `json:"auth"`
}

func encode(p task.PullSecret, user, password string) (Secret, error) {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	logins := map[string]login{p.Registry: {Username: user, Password: password, Auth: auth}}
	var doc []byte
	var err error
	switch p.Form {
	case task.PullDockerCfg:
		doc, err = json.Marshal(logins) //nolint:gosec // that is what it is for
	case task.PullDockerConfigJSON:
		doc, err = json.Marshal(map[string]any{"auths": logins})
	default:
		return Secret{}, fault.New(fault.Invalid, "unknown form of a pull secret %q", p.Form)
	}
	if err != nil {
		return Secret{}, fmt.Errorf("encode the pull secret of %s: %w", p.Registry, err)
	}
	return Secret{Value: base64.StdEncoding.EncodeToString(doc), Parts: []string{password, auth}}, nil
}
