package aws

import (
	"context"
	"encoding/base64"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Login asks ECR for a user name and a password, which are good for twelve
// hours, for every registry that the credentials may read.
func Login(ctx context.Context, cfg sdk.Config) (user, password string, err error) {
	out, err := ecr.NewFromConfig(cfg).GetAuthorizationToken(ctx, &ecr.GetAuthorizationTokenInput{})
	if err != nil {
		return "", "", refused("ask ECR for a login", err)
	}
	if len(out.AuthorizationData) == 0 {
		return "", "", fault.New(fault.Unavailable, "ECR gave no login")
	}
	text, err := base64.StdEncoding.DecodeString(sdk.ToString(out.AuthorizationData[0].AuthorizationToken))
	if err != nil {
		return "", "", fault.New(fault.Unavailable, "ECR's login isn't base64")
	}
	user, password, ok := strings.Cut(string(text), ":")
	if !ok {
		return "", "", fault.New(fault.Unavailable, "ECR's login isn't a user name and a password")
	}
	return user, password, nil
}
