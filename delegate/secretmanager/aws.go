package secretmanager

import (
	"context"
	"errors"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/smithy-go"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

func fetchAWS(ctx context.Context, s task.AWSSecret, options ...func(*config.LoadOptions) error) (string, error) {
	cfg, err := aws.Config(ctx, s.AWS, options...)
	if err != nil {
		return "", err
	}
	out, err := secretsmanager.NewFromConfig(cfg).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: sdk.String(s.Name)})
	if err != nil {
		return "", awsError(s, err)
	}
	text := sdk.ToString(out.SecretString)
	if out.SecretString == nil {
		text = string(out.SecretBinary)
	}
	if s.Key == "" {
		return text, nil
	}
	doc, err := expr.FromJSON([]byte(text))
	if err != nil { // whose text would show a part of the secret
		return "", fault.New(fault.Invalid, "AWS's secret %s isn't JSON, so it has no key %q", s.Name, s.Key).Causing(fault.Unknown)
	}
	return part(doc, s.Key)
}

// awsError says what to do about an answer of AWS.
func awsError(s task.AWSSecret, err error) error {
	if missing := (*types.ResourceNotFoundException)(nil); errors.As(err, &missing) {
		return fault.New(fault.NotFound, "AWS has no secret %s in %s", s.Name, s.AWS.Region).Causing(fault.Unknown)
	}
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException" {
		return fault.New(fault.Forbidden, "ask AWS for the secret %s: %w", s.Name, err).Causing(fault.Authorization)
	}
	return fault.New(fault.Unavailable, "ask AWS for the secret %s: %w", s.Name, err)
}
