// Package aws gives a delegate what an Aws connector stands for: a
// configuration of the SDK with the connector's credentials, role, region and
// back-off, from which callers make the client that they need.
//
//	cfg, err := aws.Config(ctx, connector) // connector is a task.AWS
//	ecr.NewFromConfig(cfg)
//
// What is asked of AWS is the caller's, but for the login to ECR and the files of
// a bucket, which several need. The control plane's own AWS is pkg/wire/aws's.
package aws

import (
	"context"
	"math/rand/v2"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-cd/slipway/pkg/awshttp"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// attempts is how often a request is sent that fails, where the connector doesn't
// say: the SDK's own three are few for an account that others use, too. One that
// AWS throttles is sent more often: it has done nothing yet, and there will be room.
const (
	attempts          = 5
	throttledAttempts = 10
)

// roleFor is how long a role is assumed for where the connector doesn't say: what
// every role allows, also to who has assumed another before. The SDK assumes it
// again before that is over.
const roleFor = time.Hour

// Config makes the SDK's configuration of a connector. Nothing is asked of AWS
// before the first use. more is applied last, such as an endpoint.
func Config(ctx context.Context, a task.AWS, more ...func(*config.LoadOptions) error) (sdk.Config, error) {
	return configAs(ctx, a, session(""), more...)
}

// configAs is Config for a session with a name.
func configAs(ctx context.Context, a task.AWS, session string, more ...func(*config.LoadOptions) error) (sdk.Config, error) {
	options := []func(*config.LoadOptions) error{config.WithRetryer(func() sdk.Retryer { return newPatient() })}
	if a.Region != "" {
		options = append(options, config.WithRegion(a.Region))
	}
	if a.BackOff != nil {
		options = append(options, config.WithRetryMaxAttempts(a.BackOff.Retries+1), config.WithRetryer(func() sdk.Retryer { return retryer(*a.BackOff) }))
	}
	switch a.Auth {
	case task.AWSKeys:
		options = append(options, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(a.AccessKey, a.SecretKey, a.SessionToken)))
	case task.AWSOIDC:
		if a.Web == nil {
			return sdk.Config{}, fault.New(fault.Invalid, "the connector's type is OidcAuthentication, and no role has come with it")
		}
		options = append(options, config.WithCredentialsProvider(sdk.AnonymousCredentials{})) // those around the delegate aren't asked for
	case task.AWSInherit, task.AWSIRSA:
	default:
		return sdk.Config{}, fault.New(fault.Unsupported, "the AWS authentication %q can't be used", a.Auth)
	}
	cfg, err := config.LoadDefaultConfig(ctx, append(options, more...)...)
	if err != nil {
		return sdk.Config{}, fault.New(fault.Invalid, "load the delegate's AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return sdk.Config{}, fault.New(fault.Invalid, "neither the connector nor the delegate names a region of AWS")
	}
	cfg.HTTPClient = awshttp.Client(cfg.HTTPClient)
	switch a.Auth { //nolint:exhaustive // the others have theirs already
	case task.AWSOIDC:
		cfg.Credentials = web(cfg, *a.Web, session)
	case task.AWSIRSA:
		if cfg.Credentials, err = serviceAccount(cfg, session); err != nil {
			return sdk.Config{}, err
		}
	}
	if a.Role != "" {
		cfg.Credentials = sdk.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), a.Role, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = session
			o.Duration = duration(a)
			if a.ExternalID != "" {
				o.ExternalID = sdk.String(a.ExternalID)
			}
		}))
	}
	return cfg, nil
}

// duration is how long the role of another account is assumed for. Credentials
// that may be a role's themselves can't have it for longer.
func duration(a task.AWS) time.Duration {
	asked := time.Duration(a.RoleSeconds) * time.Second
	switch {
	case asked == 0:
		return roleFor
	case a.Auth == task.AWSOIDC || a.Auth == task.AWSIRSA:
		return min(asked, roleFor)
	}
	return asked
}

// serviceAccount is the role of the delegate's service account in EKS, by the
// token that EKS puts beside it.
func serviceAccount(cfg sdk.Config, session string) (sdk.CredentialsProvider, error) {
	env, err := config.NewEnvConfig()
	if err != nil {
		return nil, fault.New(fault.Invalid, "read AWS's part of the delegate's environment: %w", err)
	}
	if env.RoleARN == "" || env.WebIdentityTokenFilePath == "" {
		return nil, fault.New(fault.Invalid, "the connector's type is Irsa, but the delegate's service account has no role: AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE aren't set")
	}
	return sdk.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(cfg), env.RoleARN,
		stscreds.IdentityTokenFile(env.WebIdentityTokenFilePath),
		func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = session })), nil
}

// patient sends requests again where the connector doesn't say how often.
type patient struct{ *retry.Standard }

func newPatient() patient {
	return patient{retry.NewStandard(again, func(o *retry.StandardOptions) { o.MaxAttempts = throttledAttempts })}
}

// again has requests sent again, besides those for which the SDK does that, which AWS
// refuses for a reason that soon passes.
func again(o *retry.StandardOptions) {
	o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) sdk.Ternary {
		if soon(err) {
			return sdk.TrueTernary
		}
		return sdk.UnknownTernary
	}))
}

// RetryDelay is the time before the next attempt, or why there is none.
func (p patient) RetryDelay(attempt int, err error) (time.Duration, error) {
	if attempt >= attempts && !Throttled(err) {
		return 0, &retry.MaxAttemptsError{Attempt: attempt, Err: err}
	}
	return p.Standard.RetryDelay(attempt, err)
}

// retryer sends requests again as the connector says.
func retryer(b task.AWSBackOff) sdk.Retryer {
	return retry.NewStandard(again, func(o *retry.StandardOptions) {
		o.MaxAttempts = b.Retries + 1
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			return delay(b, attempt, rand.Int64N), nil
		})
	})
}

// delay is the time before the next attempt. random gives a number from 0 up
// to, but not including, its argument.
func delay(b task.AWSBackOff, attempt int, random func(int64) int64) time.Duration {
	if b.Strategy == "FixedDelayBackoffStrategy" {
		return time.Duration(b.Fixed) * time.Millisecond
	}
	limit := int64(b.Base) << min(max(attempt-1, 0), 30)
	limit = min(limit, int64(b.Max))
	if b.Strategy == "EqualJitterBackoffStrategy" {
		return time.Duration(limit/2+random(limit/2+1)) * time.Millisecond
	}
	return time.Duration(random(limit+1)) * time.Millisecond
}
