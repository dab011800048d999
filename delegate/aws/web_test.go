package aws_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/identity"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// tokens are those of a task: each that is asked for says which it is.
func tokens(ctx context.Context, of string) context.Context {
	var mu sync.Mutex
	n := 0
	return identity.With(ctx, func(_ context.Context, name string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("%s.%s.%d", of, name, n), nil
	})
}

func byToken() task.AWS {
	return task.AWS{
		Auth: task.AWSOIDC, Region: "us-east-1",
		Web: &task.AWSWeb{Role: "arn:aws:iam::210987654321:role/deployer", Identity: "aws", Subject: "account:default:org:shop:project:web"},
	}
}

// who asks AWS who the access is.
func who(ctx context.Context, cfg sdk.Config) (string, error) {
	out, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	return sdk.ToString(out.Arn), nil
}

// assumed are the parameters of the calls that take roles.
func assumed(t *testing.T, w *testaws.World) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, c := range w.Calls() {
		if strings.HasPrefix(c.Operation, "sts:Assume") {
			in := map[string]any{}
			c.Decode(t, &in)
			in["operation"] = c.Operation
			out = append(out, in)
		}
	}
	return out
}

// A role is taken by the task's token and nothing else, for an hour, under the
// execution's name; when its session ends, by a fresh token of the task that
// works then.
func TestARoleIsTakenByAToken(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	all := aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint)}}
	first := tokens(t.Context(), "first")
	access, err := all.Get(first, byToken(), "x1")
	if err != nil {
		t.Fatal(err)
	}
	const want = "arn:aws:sts::210987654321:assumed-role/deployer/slipway-x1"
	for range 2 {
		if got, err := who(first, access.Config); err != nil || got != want {
			t.Errorf("AWS knows %q, %v; want %q", got, err, want)
		}
	}
	ended, ok := access.Credentials.(*sdk.CredentialsCache)
	if !ok {
		t.Fatalf("the credentials are %T", access.Credentials)
	}
	ended.Invalidate()
	if got, err := who(tokens(t.Context(), "second"), access.Config); err != nil || got != want {
		t.Errorf("AWS knows %q, %v; want %q", got, err, want)
	}
	call := func(token string) map[string]any {
		return map[string]any{
			"operation": "sts:AssumeRoleWithWebIdentity", "RoleArn": "arn:aws:iam::210987654321:role/deployer", "RoleSessionName": "slipway-x1",
			"WebIdentityToken": token, "DurationSeconds": float64(3600),
		}
	}
	if d := cmp.Diff([]map[string]any{call("first.aws.1"), call("second.aws.1")}, assumed(t, w)); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

// The role of another account is taken by the first, with the external id, and
// for no longer than AWS allows that.
func TestARoleOfAnotherAccountByAToken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ asked, want int }{"as long as can be": {0, 3600}, "more than can be": {43200, 3600}, "less": {900, 900}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testaws.NewWorld(t)
			a := byToken()
			a.Role, a.ExternalID, a.RoleSeconds = "arn:aws:iam::333333333333:role/target", "42", tt.asked
			ctx := tokens(t.Context(), "t1")
			cfg, err := aws.Config(ctx, a, config.WithBaseEndpoint(w.Endpoint))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := who(ctx, cfg); err != nil || got != "arn:aws:sts::333333333333:assumed-role/target/slipway-delegate" {
				t.Errorf("AWS knows %q, %v", got, err)
			}
			want := []map[string]any{
				{
					"operation": "sts:AssumeRoleWithWebIdentity", "RoleArn": "arn:aws:iam::210987654321:role/deployer", "RoleSessionName": "slipway-delegate",
					"WebIdentityToken": "t1.aws.1", "DurationSeconds": float64(3600),
				},
				{
					"operation": "sts:AssumeRole", "RoleArn": "arn:aws:iam::333333333333:role/target", "RoleSessionName": "slipway-delegate",
					"ExternalId": "42", "DurationSeconds": float64(tt.want),
				},
			}
			if d := cmp.Diff(want, assumed(t, w)); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
		})
	}
}

// Twenty tasks of an execution take a role once.
func TestTasksShareARole(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	all := aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint)}}
	var running sync.WaitGroup
	for n := range 20 {
		running.Go(func() {
			ctx := tokens(t.Context(), fmt.Sprint(n))
			access, err := all.Get(ctx, byToken(), "x1")
			if err == nil {
				_, err = who(ctx, access.Config)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if n := len(assumed(t, w)); n != 1 {
		t.Errorf("the role was taken %d times, want once", n)
	}
	other := byToken()
	other.Web.Identity = "with other tags"
	ctx := tokens(t.Context(), "other")
	access, err := all.Get(ctx, other, "x1")
	if err == nil {
		_, err = who(ctx, access.Config)
	}
	if n := len(assumed(t, w)); err != nil || n != 2 {
		t.Errorf("another identity: the role was taken %d times, %v; want twice", n, err)
	}
}

func TestATokenThatAWSRefuses(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]fault.FailureType{
		"InvalidIdentityToken": fault.Authentication, "ExpiredTokenException": fault.Authentication, "AccessDenied": fault.Authorization,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			w := testaws.NewWorld(t)
			w.Fail("sts:AssumeRoleWithWebIdentity", testaws.Fault{Code: code, Message: "no", Times: -1})
			all := aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint), config.WithRetryer(func() sdk.Retryer { return sdk.NopRetryer{} })}}
			ctx := tokens(t.Context(), "t1")
			access, err := all.Get(ctx, byToken(), "x1")
			if err != nil {
				t.Fatal(err)
			}
			_, err = who(ctx, access.Config)
			failed := access.Failed(ctx, "sts:GetCallerIdentity", err)
			if got := fault.Failures(failed); len(got) != 1 || got[0] != want || strings.Contains(failed.Error(), "t1.aws") {
				t.Errorf("%v with %v; want %s", failed, got, want)
			}
		})
	}
}

// Where there is no task nothing is asked of AWS, and not with what is around
// the delegate either.
func TestNoTokenNoRole(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	cfg, err := aws.Config(t.Context(), byToken(), config.WithBaseEndpoint(w.Endpoint))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := who(t.Context(), cfg); !fault.Is(err, fault.Unsupported) || len(w.Calls()) != 0 {
		t.Errorf("AWS knows %q, %v, by %v", got, err, w.Calls())
	}
}
