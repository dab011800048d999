// Package sam stands in for the program sam of the AWS Serverless Application
// Model, for tests: it takes the options that its published reference has, and
// refuses all others. A test program becomes it by Answer.
//
// What it builds is the template as it is; what it deploys goes through a bucket
// and a change set, as with sam.
package sam

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/slipway-cd/slipway/pkg/awshttp"
)

// Version is what it says to be.
const Version = "1.145.2"

// Waits is the variable that has it wait for a stack that changes, as other tools do
// which a test has it stand in for.
const Waits = "SLIPWAY_TEST_WAITS"

// answers is the variable that makes a test program sam.
const answers = "SLIPWAY_TEST_SAM"

// Install makes a folder with the program sam in it. The test's program must call
// Answer first of all.
func Install(tb testing.TB) string {
	tb.Helper()
	own, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", answers, own)
	if err := os.WriteFile(filepath.Join(dir, "sam"), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		tb.Fatal(err)
	}
	return dir
}

// Answer does what sam is asked for and ends the program, where it was started as
// sam; else it does nothing.
func Answer() {
	if os.Getenv(answers) == "" {
		return
	}
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// The options of a command: those that stand alone, those with a value, and those
// with any number.
type options struct{ flags, values, lists []string }

func build() options {
	return options{
		flags:  []string{"--use-container", "--skip-pull-image", "--cached", "--no-cached", "--parallel", "--no-parallel", "--debug", "--beta-features", "--no-beta-features", "--mount-symlinks", "--save-params", "--build-in-source", "--no-build-in-source"},
		values: []string{"--template-file", "--template", "-t", "--base-dir", "--build-dir", "--cache-dir", "--manifest", "--docker-network", "--region", "--profile", "--config-file", "--config-env", "--terraform-project-root-path", "--hook-name", "--mount-with", "--container-env-var-file"},
		lists:  []string{"--parameter-overrides", "--build-image", "--container-env-var", "--exclude", "--layer"},
	}
}

func deploy() options {
	return options{
		flags: []string{
			"--guided", "--no-execute-changeset", "--fail-on-empty-changeset", "--no-fail-on-empty-changeset", "--confirm-changeset", "--no-confirm-changeset", "--disable-rollback", "--no-disable-rollback",
			"--use-json", "--force-upload", "--no-progressbar", "--resolve-s3", "--resolve-image-repos", "--debug", "--save-params", "--no-resolve-s3",
		},
		values: []string{
			"--template-file", "--template", "-t", "--stack-name", "--s3-bucket", "--s3-prefix", "--image-repository", "--kms-key-id", "--role-arn", "--region", "--profile", "--config-file", "--config-env", "--on-failure", "--max-wait-duration", "--signing-profiles",
		},
		lists: []string{"--capabilities", "--parameter-overrides", "--tags", "--notification-arns", "--image-repositories", "--metadata"},
	}
}

func remove() options {
	return options{
		flags:  []string{"--no-prompts", "--debug", "--save-params"},
		values: []string{"--stack-name", "--region", "--profile", "--config-file", "--config-env", "--s3-bucket", "--s3-prefix"},
	}
}

// parse reads a command line, and refuses what isn't an option.
func (o options) parse(args []string) (map[string][]string, error) {
	out := map[string][]string{}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(o.flags, name) && !joined:
			out[name] = []string{}
		case slices.Contains(o.values, name):
			if !joined {
				if i++; i >= len(args) {
					return nil, fmt.Errorf("Option '%s' requires an argument.", name) //nolint:staticcheck // sam's words
				}
				value = args[i]
			}
			out[name] = append(out[name], value)
		case slices.Contains(o.lists, name):
			if joined {
				out[name] = append(out[name], value)
			}
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				out[name] = append(out[name], args[i])
			}
		default:
			return nil, fmt.Errorf("No such option: %s", args[i]) //nolint:staticcheck // sam's words
		}
	}
	return out, nil
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "--version":
		fmt.Println("SAM CLI, version " + Version)
		return nil
	case len(args) > 0 && args[0] == "build":
		o, err := build().parse(args[1:])
		if err != nil {
			return err
		}
		return built(o)
	case len(args) > 0 && args[0] == "deploy":
		o, err := deploy().parse(args[1:])
		if err != nil {
			return err
		}
		return deployed(ctx, o)
	case len(args) > 0 && args[0] == "delete":
		o, err := remove().parse(args[1:])
		if err != nil {
			return err
		}
		return removed(ctx, o)
	}
	return fmt.Errorf("No such command %q", args) //nolint:staticcheck // sam's words
}

func first(o map[string][]string, names ...string) string {
	for _, name := range names {
		if len(o[name]) > 0 {
			return o[name][0]
		}
	}
	return ""
}

func has(o map[string][]string, name string) bool { _, ok := o[name]; return ok }

const builtTemplate = ".aws-sam/build/template.yaml"

func built(o map[string][]string) error {
	name := first(o, "--template-file", "--template", "-t")
	if name == "" {
		name = "template.yaml"
	}
	doc, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("template file not found at %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(builtTemplate), 0o750); err != nil {
		return err
	}
	fmt.Println("Build Succeeded")
	return os.WriteFile(builtTemplate, doc, 0o600)
}

func deployed(ctx context.Context, o map[string][]string) error {
	name := first(o, "--template-file", "--template", "-t")
	if name == "" {
		name = "template.yaml"
		if _, err := os.Stat(builtTemplate); err == nil {
			name = builtTemplate
		}
	}
	doc, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("template file not found at %s: %w", name, err)
	}
	stack := first(o, "--stack-name")
	if stack == "" {
		return errors.New("Missing option '--stack-name'") //nolint:staticcheck // sam's words
	}
	bucket := first(o, "--s3-bucket")
	if bucket == "" && !has(o, "--resolve-s3") {
		return errors.New("Cannot skip both --resolve-s3 and --s3-bucket parameters") //nolint:staticcheck // sam's words
	}
	if bucket == "" {
		bucket = "aws-sam-cli-managed-default-samclisourcebucket"
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(first(o, "--region")))
	if err != nil {
		return err
	}
	cfg.HTTPClient = awshttp.Client(cfg.HTTPClient)
	if err := upload(ctx, cfg, bucket, stack, string(doc)); err != nil {
		return err
	}
	return change(ctx, cloudformation.NewFromConfig(cfg), stack, string(doc), o)
}

// removed deletes a stack and waits until it is gone.
func removed(ctx context.Context, o map[string][]string) error {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(first(o, "--region")))
	if err != nil {
		return err
	}
	cfg.HTTPClient = awshttp.Client(cfg.HTTPClient)
	client, stack := cloudformation.NewFromConfig(cfg), first(o, "--stack-name")
	if _, err := client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &stack}); err != nil {
		return err
	}
	for {
		now, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
		var api smithy.APIError
		switch {
		case errors.As(err, &api) && api.ErrorCode() == "ValidationError":
			fmt.Println("Deleted successfully")
			return nil
		case err != nil:
			return err
		case now.Stacks[0].StackStatus == types.StackStatusDeleteFailed:
			return fmt.Errorf("Failed to delete the stack: %s", stack) //nolint:staticcheck // sam's words
		}
		<-time.After(10 * time.Millisecond)
	}
}

// upload puts the template where sam does.
func upload(ctx context.Context, cfg sdk.Config, bucket, stack, doc string) error {
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{
		Bucket: &bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(cfg.Region)},
	})
	var owned *s3types.BucketAlreadyOwnedByYou
	var exists *s3types.BucketAlreadyExists
	if err != nil && !errors.As(err, &owned) && !errors.As(err, &exists) {
		return err
	}
	key := stack + "/template"
	_, err = client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(doc)})
	return err
}

// change makes a change set of the stack and executes it.
func change(ctx context.Context, client *cloudformation.Client, stack, doc string, o map[string][]string) error {
	in := &cloudformation.CreateChangeSetInput{StackName: &stack, TemplateBody: &doc, ChangeSetType: types.ChangeSetTypeCreate, ChangeSetName: sdk.String(fmt.Sprintf("samcli-deploy%d", time.Now().UnixNano()))}
	now, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	for err == nil && os.Getenv(Waits) != "" && strings.HasSuffix(string(now.Stacks[0].StackStatus), "E_IN_PROGRESS") {
		<-time.After(10 * time.Millisecond)
		now, err = client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	}
	if err == nil && now.Stacks[0].StackStatus != types.StackStatusReviewInProgress {
		in.ChangeSetType = types.ChangeSetTypeUpdate
	}
	for _, c := range o["--capabilities"] {
		in.Capabilities = append(in.Capabilities, types.Capability(c))
	}
	for _, p := range o["--parameter-overrides"] {
		key, value, _ := strings.Cut(p, "=")
		in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: &key, ParameterValue: &value})
	}
	for _, t := range o["--tags"] {
		key, value, _ := strings.Cut(t, "=")
		in.Tags = append(in.Tags, types.Tag{Key: &key, Value: &value})
	}
	_, err = client.CreateChangeSet(ctx, in)
	var again *types.AlreadyExistsException // by a request whose answer was lost: nobody else has the name
	if err != nil && !errors.As(err, &again) {
		return err
	}
	for {
		set, err := client.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: in.ChangeSetName, StackName: &stack})
		if err != nil {
			return err
		}
		if set.Status == types.ChangeSetStatusFailed {
			if has(o, "--no-fail-on-empty-changeset") {
				fmt.Println("No changes to deploy. Stack", stack, "is up to date")
				return nil
			}
			return fmt.Errorf("no changes to deploy: %s", sdk.ToString(set.StatusReason))
		}
		if set.Status == types.ChangeSetStatusCreateComplete {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	if _, err := client.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{ChangeSetName: in.ChangeSetName, StackName: &stack}); err != nil {
		return err
	}
	for {
		now, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
		if err != nil {
			return err
		}
		switch status := now.Stacks[0].StackStatus; {
		case status == types.StackStatusCreateComplete || status == types.StackStatusUpdateComplete:
			fmt.Println("Successfully created/updated stack -", stack)
			return nil
		case !strings.HasSuffix(string(status), "_IN_PROGRESS"):
			return fmt.Errorf("Failed to create/update the stack: %s, %s", stack, status) //nolint:staticcheck // sam's words
		}
		<-time.After(10 * time.Millisecond)
	}
}
