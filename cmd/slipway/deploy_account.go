package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// account is whom the AWS credentials belong to.
type account struct {
	id     string
	caller string // ARN
}

// findAccount checks that there are a region and credentials, and that AWS
// accepts them.
func findAccount(ctx context.Context, sdk aws.Config) (account, error) {
	if sdk.Region == "" {
		return account{}, fault.New(fault.Invalid, "no AWS region is set: set AWS_REGION, or \"region\" in the profile of ~/.aws/config")
	}
	if _, err := sdk.Credentials.Retrieve(ctx); err != nil {
		return account{}, fault.New(fault.Invalid, "there are no AWS credentials; set AWS_PROFILE, or log in with \"aws sso login\": %w", err)
	}
	who, err := sts.NewFromConfig(sdk).GetCallerIdentity(ctx, nil)
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return account{}, fault.New(fault.Invalid, "AWS refuses the credentials (%s): %s", refused.ErrorCode(), refused.ErrorMessage())
	}
	if err != nil {
		return account{}, fmt.Errorf("ask AWS in %s whose the credentials are: %w", sdk.Region, err)
	}
	return account{id: aws.ToString(who.Account), caller: aws.ToString(who.Arn)}, nil
}

// minBootstrap is the oldest version of the CDK's own stack that the
// synthesized stacks accept; each has a rule that says so.
const minBootstrap = 6

// bootstrapVersion is the version of the CDK's own stack in the account and
// region; 0 if it isn't there.
func bootstrapVersion(ctx context.Context, sdk aws.Config) (int, error) {
	outputs := map[string]string{}
	err := readOutputs(ctx, sdk, "CDKToolkit", outputs)
	if fault.CodeOf(err) == fault.NotFound {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(outputs["BootstrapVersion"])
	if err != nil {
		return 0, nil // a stack that failed half-way, or one of the CDK's first version
	}
	return version, nil
}

func notPrepared(version int, id, region string) error {
	found := "isn't prepared for the CDK"
	if version > 0 {
		found = fmt.Sprintf("is prepared for the CDK by version %d of its stack; %d is the oldest that will do", version, minBootstrap)
	}
	return fault.New(fault.Conflict, "account %s %s in %s; --bootstrap does that, with a bucket, a repository and roles in a stack CDKToolkit", id, found, region)
}

// stackOutputs are those of a stage's stacks.
func stackOutputs(ctx context.Context, sdk aws.Config, stage string) (map[string]string, error) {
	outputs := map[string]string{}
	for _, stack := range []string{"state", "compute"} {
		if err := readOutputs(ctx, sdk, "slipway-"+stage+"-"+stack, outputs); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}
