package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/access"
	s3blob "github.com/slipway-cd/slipway/pkg/blob/s3"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

func loginCommand(a *app) *cobra.Command {
	var stage, actor, user, file string
	var sso, loopback, workload bool
	c := &cobra.Command{
		Use: "login [PROVIDER]", Short: "Log in by an identity provider, or to an installation on AWS", GroupID: groupAdmin, Args: cobra.MaximumNArgs(1),
		Long: "Login makes an API token for an installation on AWS: it finds its stacks with the AWS credentials of this\n" +
			"machine, stores the token's hash in the table, and writes the token and the API's address to the config file.\n" +
			"\"slipway serve\" needs no login: its first start makes a token.\n\n" +
			"With --sso it logs in to the server of --server by one of its identity providers, with the client for the command\n" +
			"line that the provider's document names (cliClientId). It shows a page to open in any browser, or, if the provider\n" +
			"can't do that, one to open in a browser of this machine, and writes the token to the config file. Where the\n" +
			"provider is an LDAP directory, it asks for the mail address (--user) and the password instead, or reads the\n" +
			"password from its input, of which it is the first line.\n\n" +
			"With --user alone it logs in by the password that the server itself keeps of the user (slipway user password).\n\n" +
			"With --workload a program, such as a job of CI, logs in without a stored key: it shows the token that an issuer gave\n" +
			"to it, in SLIPWAY_WORKLOAD_TOKEN or in --token-file, and gets one of the service account that a trust rule names,\n" +
			"for an hour at most. PROVIDER is the rule, where several take the token.",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case workload && (sso || loopback || user != ""):
				return fault.New(fault.Invalid, "--workload logs in a program, and goes with --token-file alone")
			case workload:
				return loginWorkload(c, a, strings.Join(args, ""), file)
			case file != "":
				return fault.New(fault.Invalid, "--token-file is for login --workload")
			case !sso && !loopback && user != "" && len(args) == 0:
				return loginLocal(c, a, user)
			case sso:
				return loginSSO(c, a, strings.Join(args, ""), ssoFlags{loopback, user})
			case len(args) > 0 || loopback || user != "":
				return fault.New(fault.Invalid, "a provider is for login --sso and --workload")
			}
			return a.login(c.Context(), stage, actor)
		},
	}
	c.Flags().BoolVar(&sso, "sso", false, "log in by an identity provider of the server")
	c.Flags().BoolVar(&loopback, "loopback", false, "with --sso: have a browser of this machine come back to the command")
	c.Flags().StringVar(&user, "user", "", "the mail address to log in with: by the server's own password, or with --sso to an LDAP directory")
	c.Flags().BoolVar(&workload, "workload", false, "log in a program by the token that an issuer gave to it")
	c.Flags().StringVar(&file, "token-file", "", "with --workload: the file with that token; - is the input")
	c.Flags().StringVar(&stage, "stage", "prod", "stage of the installation")
	c.Flags().StringVar(&actor, "as", "admin", "who the token's bearer is, in the audit trail")
	return c
}

func (a *app) login(ctx context.Context, stage, actor string) error {
	sdk, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("load the AWS configuration: %w", err)
	}
	if _, err := findAccount(ctx, sdk); err != nil {
		return err
	}
	outputs := map[string]string{}
	for _, stack := range []string{"state", "compute"} {
		if err := readOutputs(ctx, sdk, "slipway-"+stage+"-"+stack, outputs); err != nil {
			return err
		}
	}
	t, text := access.Mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: plane.Account}, Name: "login", Actor: actor}, time.Now())
	table := dynamo.New(dynamodb.NewFromConfig(sdk), dynamo.Config{Table: outputs["TableName"], Blobs: s3blob.New(s3.NewFromConfig(sdk), outputs["BucketName"])})
	if err := table.PutToken(ctx, t); err != nil {
		return fmt.Errorf("store the token's hash in table %s: %w", outputs["TableName"], err)
	}
	s, err := a.caller.readConfig()
	if err != nil {
		return err
	}
	s.Server, s.Token = outputs["ApiUrl"], text
	if err := a.caller.writeConfig(s); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.shows.people(), "logged in to %s as %s\n", s.Server, actor)
	return err
}

// readOutputs adds the outputs of a stack.
func readOutputs(ctx context.Context, sdk aws.Config, stack string, into map[string]string) error {
	out, err := cloudformation.NewFromConfig(sdk).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	var refused smithy.APIError
	if errors.As(err, &refused) && refused.ErrorCode() == "ValidationError" {
		return fault.New(fault.NotFound, "there is no stack %s in %s; is Slipway deployed there? docs/aws.md says how", stack, sdk.Region)
	}
	if err != nil {
		return fmt.Errorf("read stack %s in %s: %w", stack, sdk.Region, err)
	}
	for _, o := range out.Stacks[0].Outputs {
		into[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return nil
}
