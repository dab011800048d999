package aws

import (
	"context"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-cd/slipway/delegate/identity"
	"github.com/slipway-cd/slipway/pkg/task"
)

// early is how long before its end a role's session is replaced, so that no
// request is under way with one that ends.
const early = 5 * time.Minute

// webRole takes a role by a token of the task that needs it
// (sdk.CredentialsProvider). A session outlives tokens, and the SDK asks again
// when it ends.
type webRole struct {
	client  *sts.Client
	of      task.AWSWeb
	session string
}

// web are the credentials of a role that is taken with a token.
func web(cfg sdk.Config, of task.AWSWeb, session string) sdk.CredentialsProvider {
	return sdk.NewCredentialsCache(webRole{sts.NewFromConfig(cfg), of, session}, func(o *sdk.CredentialsCacheOptions) { o.ExpiryWindow = early })
}

// Retrieve asks STS. The token is the one of the task whose context it is.
func (w webRole) Retrieve(ctx context.Context) (sdk.Credentials, error) {
	token, err := identity.Token(ctx, w.of.Identity)
	if err != nil {
		return sdk.Credentials{}, err
	}
	return stscreds.NewWebIdentityRoleProvider(w.client, w.of.Role, signed(token), func(o *stscreds.WebIdentityRoleOptions) {
		o.RoleSessionName, o.Duration = w.session, roleFor
	}).Retrieve(ctx)
}

// signed is a token (stscreds.IdentityTokenRetriever).
type signed string

// GetIdentityToken is the token.
func (s signed) GetIdentityToken() ([]byte, error) { return []byte(s), nil }
