package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/azure"
	"github.com/slipway-cd/slipway/delegate/google"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// aws asks AWS who the connector is.
func (x *exam) aws(ctx context.Context, p probe.AWS) {
	// A region is needed only to find the nearest STS.
	options := append([]func(*config.LoadOptions) error{
		config.WithDefaultRegion("us-east-1"), config.WithHTTPClient(awsClient(x.cfg.Patience)), config.WithRetryer(func() sdk.Retryer { return sdk.NopRetryer{} }),
	}, x.cfg.AWS...)
	p.AWS.BackOff = nil
	cfg, err := aws.Config(ctx, p.AWS, options...)
	if err != nil {
		x.fail(probe.CheckConfiguration, "%s", err)
		return
	}
	c := &connection{patience: x.cfg.Patience}
	who, err := sts.NewFromConfig(cfg).GetCallerIdentity(httptrace.WithClientTrace(ctx, c.trace()), &sts.GetCallerIdentityInput{})
	if unsent := (*smithyhttp.RequestSendError)(nil); errors.As(err, &unsent) && !withoutCredentials(err) {
		c.tell(x, unsent, true)
		return
	}
	if !withoutCredentials(err) {
		c.tell(x, nil, true)
	}
	if err != nil {
		x.refusedByAWS(ctx, p.AWS, err)
		return
	}
	x.pass(probe.CheckLogin, "account %s, %s, region %s", sdk.ToString(who.Account), sdk.ToString(who.Arn), cfg.Region)
	if !p.Secrets {
		return
	}
	one := int32(1)
	_, err = secretsmanager.NewFromConfig(cfg).ListSecrets(ctx, &secretsmanager.ListSecretsInput{MaxResults: &one})
	switch code := awsCode(err); {
	case err == nil:
		x.pass(probe.CheckPermission, "it may list the secrets of Secrets Manager in %s", cfg.Region)
	case x.broken():
	case strings.HasPrefix(code, "AccessDenied"):
		x.lack("it may not list secrets (secretsmanager:ListSecrets), which reading one by its name (secretsmanager:GetSecretValue) doesn't need; that isn't tested")
	default:
		x.fail(probe.CheckPermission, "ask Secrets Manager for secrets: %s", err)
	}
}

// awsClient sends the SDK's requests over connections of their own. The SDK wants
// one of its own, to which it adds the authorities of AWS_CA_BUNDLE.
func awsClient(patience time.Duration) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = patience }).
		WithTransportOptions(func(t *http.Transport) {
			t.DisableKeepAlives, t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = true, patience, patience
		})
}

func awsCode(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return ""
}

// withoutCredentials says that the delegate's surroundings gave none, as the SDK
// puts it: AWS wasn't asked at all.
func withoutCredentials(err error) bool {
	return err != nil && awsCode(err) == "" && (strings.Contains(err.Error(), "ec2imds") || strings.Contains(err.Error(), "static credentials are empty"))
}

// refusedByAWS notes why AWS doesn't say who the connector is.
func (x *exam) refusedByAWS(ctx context.Context, a task.AWS, err error) {
	code := awsCode(err)
	said := code
	var e smithy.APIError
	if errors.As(err, &e) {
		said = fmt.Sprintf("%s: %s", code, e.ErrorMessage())
	}
	switch {
	case late(ctx, err):
		x.fail(probe.CheckAnswer, "AWS took longer than %s", longest)
	case a.Web != nil && x.refusedByIssuer(*a.Web, code, said):
	case strings.HasPrefix(code, "AccessDenied") && a.Role != "":
		x.fail(probe.CheckPermission, "the role %s can't be assumed (%s); its trust policy has to name who asks, and the external id if it wants one", a.Role, said)
	case code != "":
		x.fail(probe.CheckLogin, "AWS doesn't let the connector in (%s); correct its keys", said)
	case a.Auth != task.AWSKeys && a.Web == nil:
		x.fail(probe.CheckLogin, "the connector uses the delegate's own credentials, and there are none (environment, instance or task role, service account): %s", err)
	default:
		x.fail(probe.CheckLogin, "%s", err)
	}
}

// refusedByIssuer notes why AWS doesn't take the token of a connector of
// OidcAuthentication; false: it has, and refuses something else.
func (x *exam) refusedByIssuer(w task.AWSWeb, code, said string) bool {
	has := func(words string) bool { return strings.Contains(said, words) }
	switch {
	case code == "IDPCommunicationError" || has("retrieve verification key"):
		x.fail(probe.CheckReach, "AWS can't fetch the keys of this server's issuer of tokens (%s): the URL that the server was given (slipway serve --url) has to be reachable from the internet, with a certificate that everybody trusts", said)
	case has("No OpenIDConnect provider"):
		x.fail(probe.CheckLogin, "the account of the role %s knows no issuer of this name (%s); make an IAM OIDC identity provider there with the URL that AWS names", w.Role, said)
	case has("token audience"):
		x.fail(probe.CheckLogin, "the IAM OIDC identity provider isn't for the audience %s (%s); add it to the provider's client ids", identity.AWSAudience, said)
	case code == "InvalidIdentityToken" || strings.HasPrefix(code, "ExpiredToken"):
		x.fail(probe.CheckLogin, "AWS doesn't take the token of this server (%s); see that the server's clock is right and that its URL is the provider's, letter by letter", said)
	case strings.HasPrefix(code, "AccessDenied") && has("AssumeRoleWithWebIdentity"):
		x.fail(probe.CheckPermission, "the role %s can't be assumed (%s); its trust policy has to allow sts:AssumeRoleWithWebIdentity for the subject %s, and sts:TagSession if the connector has sessionTagKeys", w.Role, said, w.Subject)
	default:
		return false
	}
	return true
}

// google asks Google Cloud for a token.
func (x *exam) google(ctx context.Context, g task.Google) {
	access, err := google.Login(ctx, g, x.net)
	switch {
	case x.broken():
	case err == nil && access.Project != "":
		x.pass(probe.CheckLogin, "Google Cloud gives a token, of project %s", access.Project)
	case err == nil:
		x.pass(probe.CheckLogin, "Google Cloud gives a token")
	case fault.Is(err, fault.Invalid):
		x.fail(probe.CheckConfiguration, "%s", err)
	case late(ctx, err):
		x.fail(probe.CheckAnswer, "Google Cloud took longer than %s", longest)
	default:
		x.fail(probe.CheckLogin, "%s", err)
	}
}

// azure asks Microsoft Entra for a token.
func (x *exam) azure(ctx context.Context, a task.Azure) {
	_, err := azure.Token(ctx, a, azure.Management(a), x.net)
	switch {
	case x.broken():
	case err == nil && a.Managed:
		x.pass(probe.CheckLogin, "the machine of the delegate has an identity of Azure")
	case err == nil:
		x.pass(probe.CheckLogin, "Microsoft Entra gives application %s of tenant %s a token", a.Client, a.Tenant)
	case fault.Is(err, fault.Invalid):
		x.fail(probe.CheckConfiguration, "%s", err)
	case late(ctx, err):
		x.fail(probe.CheckAnswer, "Microsoft Entra took longer than %s", longest)
	default:
		x.fail(probe.CheckLogin, "%s", err)
	}
}
