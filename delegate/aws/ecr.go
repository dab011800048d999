package aws

import (
	"context"
	"encoding/base64"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Registry is a registry that one has logged in to.
type Registry struct {
	URL            string // of the credentials' own account
	User, Password string
}

// Login asks ECR for a user name and a password, which are good for twelve
// hours, for every registry that the credentials may read.
func Login(ctx context.Context, cfg sdk.Config) (Registry, error) {
	out, err := ecr.NewFromConfig(cfg).GetAuthorizationToken(ctx, &ecr.GetAuthorizationTokenInput{})
	if err != nil {
		return Registry{}, fault.New(fault.Unavailable, "ask ECR for a login: %w", err)
	}
	if len(out.AuthorizationData) == 0 {
		return Registry{}, fault.New(fault.Unavailable, "ECR gave no login")
	}
	text, err := base64.StdEncoding.DecodeString(sdk.ToString(out.AuthorizationData[0].AuthorizationToken))
	if err != nil {
		return Registry{}, fault.New(fault.Unavailable, "ECR's login isn't base64")
	}
	user, password, ok := strings.Cut(string(text), ":")
	if !ok {
		return Registry{}, fault.New(fault.Unavailable, "ECR's login isn't a user name and a password")
	}
	return Registry{URL: sdk.ToString(out.AuthorizationData[0].ProxyEndpoint), User: user, Password: password}, nil
}

// ECRHost is the address of an account's registry.
func ECRHost(account, region string) string {
	return account + ".dkr.ecr." + region + "." + suffix(region)
}

// suffix is how the names of AWS's hosts end in a region.
func suffix(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}
