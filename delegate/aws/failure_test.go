package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// answered is an error as the SDK gives it.
func answered(status int, code, message string) error {
	return &smithy.OperationError{ServiceID: "ECS", OperationName: "CreateService", Err: &awshttp.ResponseError{
		RequestID: "r-1", ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: &smithy.GenericAPIError{Code: code, Message: message},
		},
	}}
}

// lacking is the SDK's error of a request that lacks members.
func lacking(members ...string) error {
	lacks := smithy.InvalidParamsError{Context: "RegisterTaskDefinitionInput"}
	for _, name := range members {
		lacks.Add(smithy.NewErrParamRequired(name))
	}
	return &smithy.OperationError{ServiceID: "ECS", OperationName: "RegisterTaskDefinition", Err: lacks}
}

func TestWhatARequestLacks(t *testing.T) {
	t.Parallel()
	err := failed(t.Context(), "ecs:RegisterTaskDefinition", lacking("Family", "ContainerDefinitions"), nil)
	if got, want := err.Error(), "ecs:RegisterTaskDefinition: missing required field Family, missing required field ContainerDefinitions"; got != want {
		t.Errorf("it says %q; want %q", got, want)
	}
}

// What a failure strategy goes by.
func TestFailureTypes(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]fault.FailureType{
		"AccessDeniedException": fault.Authorization, "UnauthorizedOperation": fault.Authorization, "AccessDenied": fault.Authorization,
		"ExpiredTokenException": fault.Authentication, "InvalidClientTokenId": fault.Authentication, "SignatureDoesNotMatch": fault.Authentication,
		"LimitExceededException": fault.ResourceLimitsFailure, "CodeStorageExceededException": fault.ResourceLimitsFailure, "ServiceQuotaExceededException": fault.ResourceLimitsFailure,
		"VcpuLimitExceeded": fault.ResourceLimitsFailure, "ENILimitReachedException": fault.ResourceLimitsFailure, "InsufficientInstanceCapacity": fault.ResourceLimitsFailure, "TooManyTargetGroups": fault.ResourceLimitsFailure,
		"InsufficientCapabilitiesException": fault.ConfigurationFailure, "LoadBalancerNotFound": fault.ConfigurationFailure, "ChangeSetNotFound": fault.ConfigurationFailure, "NoSuchKey": fault.ConfigurationFailure,
		"InvalidAMIID.NotFound": fault.ConfigurationFailure, "InvalidToken": fault.Authentication, "ResourceContention": fault.RetryableTransientFailure, "ConcurrentUpdateException": fault.RetryableTransientFailure,
		"InvalidParameterValueException": fault.ConfigurationFailure, "ValidationError": fault.ConfigurationFailure, "InvalidParameterException": fault.ConfigurationFailure,
		"ThrottlingException": fault.RetryableTransientFailure, "TooManyRequestsException": fault.RetryableTransientFailure, "RequestLimitExceeded": fault.RetryableTransientFailure, "SlowDown": fault.RetryableTransientFailure,
		"SomethingElse": fault.Unknown,
	} {
		err := failed(t.Context(), "ecs:CreateService", answered(400, code, "no"), func(context.Context) string { return "arn:aws:sts::1:x" })
		if got := fault.Failures(err)[0]; got != want {
			t.Errorf("%s is %s; want %s", code, got, want)
		}
		if text := err.Error(); !strings.HasPrefix(text, "ecs:CreateService: "+code+": no") || !strings.HasSuffix(text, "(request r-1)") {
			t.Errorf("%s says %q", code, text)
		}
		if !Is(err, code) {
			t.Errorf("%s isn't found in %v", code, err)
		}
		if named := strings.Contains(err.Error(), "arn:aws:sts::1:x"); named != (want == fault.Authorization) {
			t.Errorf("%s: the caller is named: %v", code, named)
		}
	}
	for name, c := range map[string]struct {
		err  error
		want fault.FailureType
	}{
		"a broken service":           {answered(500, "InternalError", "oops"), fault.RetryableTransientFailure},
		"a request without a member": {lacking("Family", "ContainerDefinitions"), fault.ConfigurationFailure},
		"no connection":              {errors.New("dial tcp: no such host"), fault.Connectivity},
		"no credentials":             {errors.New("operation error ECS: CreateService, get identity: get credentials: failed to refresh cached credentials, no EC2 IMDS role found"), fault.Authentication},
		"a crowded family":           {answered(400, "ClientException", "Too many concurrent attempts to create a new revision of the specified family."), fault.RetryableTransientFailure},
		"by the message":             {answered(400, "ClientException", "User: x is not authorized to perform: iam:PassRole"), fault.Authorization},
	} {
		if got := fault.Failures(failed(t.Context(), "x", c.err, func(context.Context) string { return "" }))[0]; got != c.want {
			t.Errorf("%s is %s; want %s", name, got, c.want)
		}
	}
}

// A task that was ended from outside has no failure of AWS's.
func TestAnEndedTask(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(executor.ErrCancelled)
	if err := failed(ctx, "ecs:CreateService", fmt.Errorf("canceled, %w", ctx.Err()), nil); !errors.Is(err, executor.ErrCancelled) {
		t.Errorf("error %v; want the cause", err)
	}
}

func TestTagsAndTokens(t *testing.T) {
	t.Parallel()
	w := task.Work{Target: task.Target{Service: "account.web", Environment: "pröd#1", Infrastructure: strings.Repeat("x", 300)}, Execution: "e1"}
	tags := new(Accesses).Tags(w)
	if tags["slipway:service"] != "account.web" || tags["slipway:environment"] != "pröd_1" || len(tags["slipway:infrastructure"]) != 256 || tags["slipway:execution"] != "e1" {
		t.Errorf("tags %v", tags)
	}
	if none := (&Accesses{Untagged: true}).Tags(w); len(none) > 0 {
		t.Errorf("without tags there are %v", none)
	}
	a := task.Assignment{Execution: "e", Node: "n", Attempt: 1}
	first := Token(a, "create")
	again := a
	again.Attempt = 2
	if len(first) != 32 || first != Token(a, "create") || first == Token(again, "create") || first == Token(a, "run") {
		t.Errorf("tokens %s %s %s", first, Token(again, "create"), Token(a, "run"))
	}
	if got := session(strings.Repeat("a/", 50)); len(got) != 64 || strings.Contains(got, "/") || !strings.HasPrefix(got, "slipway-a_") {
		t.Errorf("session %q", got)
	}
}

// What AWS refuses only for now is sent again, also where the connector says how often.
func TestRefusedForNow(t *testing.T) {
	t.Parallel()
	for _, r := range []interface{ IsErrorRetryable(err error) bool }{newPatient(), retryer(task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 1})} {
		for message, want := range map[string]bool{
			"Too many concurrent attempts to create a new revision of the specified family.":                                                                     true,
			"The role defined for the function cannot be assumed by Lambda.":                                                                                     true,
			"You must use a valid fully-formed launch template. Value (web) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name": true,
			"The role arn:aws:iam::1:role/x is invalid.":                                                                                                         false,
		} {
			if got := r.IsErrorRetryable(answered(400, "InvalidParameterValueException", message)); got != want {
				t.Errorf("%T sends a call again of which AWS says %q: %v; want %v", r, message, got, want)
			}
		}
		if !r.IsErrorRetryable(answered(400, "ConcurrentUpdateException", "There is already a pending update.")) || r.IsErrorRetryable(answered(400, "ValidationException", "no")) {
			t.Errorf("%T doesn't go by the code", r)
		}
	}
}
