package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// failed is the error of a call that AWS refused, or that never reached it, with
// the failure types that a failure strategy goes by. who is asked for the caller
// as AWS knows it.
func failed(ctx context.Context, call string, err error, who func(context.Context) string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", call, context.Cause(ctx))
	}
	code, types := kindOf(err)
	text := describe(call, err)
	if types[0] == fault.Authorization {
		if caller := who(ctx); caller != "" {
			text += "; the caller is " + caller
		}
	}
	return refusal(code, text, err).Causing(types...)
}

// Refused is Failed for who has no Access: what was asked for stands in place of
// the call, and the caller isn't known.
func Refused(what string, err error) error {
	code, types := kindOf(err)
	return refusal(code, describe(what, err), err).Causing(types...)
}

// refusal is an error with a text of its own and the request's id, which still is
// what AWS said, for who looks for a code.
func refusal(code fault.Code, text string, err error) *fault.Error {
	e := fault.New(code, "%w", err)
	if e.Message = text; requestID(err) != "" {
		e.Message += " (request " + requestID(err) + ")"
	}
	return e
}

// Is says whether AWS answered with one of some codes.
func Is(err error, codes ...string) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode())
}

// describe is what AWS said, without what the SDK wraps around it.
func describe(call string, err error) string {
	if lacks, ok := errors.AsType[smithy.InvalidParamsError](err); ok {
		return call + ": " + missing(lacks)
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return call + ": " + err.Error()
	}
	if api.ErrorMessage() == "" {
		return call + ": " + api.ErrorCode()
	}
	text := call + ": " + api.ErrorCode() + ": " + api.ErrorMessage()
	if _, types := kindOf(err); types[0] == fault.Authorization {
		if where := hint(api.ErrorMessage()); where != "" {
			text += "; " + where
		}
	}
	return text
}

// missing is what a request lacks, which the SDK says without asking AWS: the
// members by their paths in the call's input.
func missing(err smithy.InvalidParamsError) string {
	var lines []string
	for _, one := range err.Errs() {
		reason, field, _ := strings.Cut(strings.TrimSuffix(one.Error(), "."), ", ")
		_, path, _ := strings.Cut(field, ".")
		lines = append(lines, reason+" "+path)
	}
	return strings.Join(lines, ", ")
}

func requestID(err error) string {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.ServiceRequestID()
	}
	return ""
}

// kindOf sorts errors of AWS.
func kindOf(err error) (fault.Code, []fault.FailureType) {
	var api smithy.APIError
	if _, ok := errors.AsType[smithy.InvalidParamsError](err); ok {
		return fault.Invalid, []fault.FailureType{fault.ConfigurationFailure}
	}
	switch {
	case Throttled(err):
		return fault.Unavailable, []fault.FailureType{fault.RetryableTransientFailure}
	case !errors.As(err, &api) && isCredentials(err):
		return fault.Unavailable, []fault.FailureType{fault.Authentication}
	case !errors.As(err, &api):
		return fault.Unavailable, []fault.FailureType{fault.Connectivity, fault.RetryableTransientFailure}
	}
	for _, k := range kinds() {
		if k.has(api) {
			return k.code, k.types
		}
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.HTTPStatusCode() >= 500 {
		return fault.Unavailable, []fault.FailureType{fault.RetryableTransientFailure, fault.Connectivity}
	}
	return fault.Unavailable, []fault.FailureType{fault.Unknown}
}

// kind is what the codes with some beginnings mean.
type kind struct {
	begin []string
	part  []string // or what is anywhere in them
	said  string   // or what the message says
	code  fault.Code
	types []fault.FailureType
}

func (k kind) has(err smithy.APIError) bool {
	for _, b := range k.begin {
		if strings.HasPrefix(err.ErrorCode(), b) {
			return true
		}
	}
	for _, p := range k.part {
		if strings.Contains(err.ErrorCode(), p) {
			return true
		}
	}
	return k.said != "" && strings.Contains(err.ErrorMessage(), k.said)
}

func kinds() []kind {
	return []kind{
		{
			begin: []string{"AccessDenied", "UnauthorizedOperation", "AuthorizationError", "Forbidden"}, said: "is not authorized to perform",
			code: fault.Unavailable, types: []fault.FailureType{fault.Authorization},
		},
		{
			begin: []string{
				"ExpiredToken", "InvalidClientTokenId", "UnrecognizedClient", "SignatureDoesNotMatch", "InvalidSignature", "InvalidAccessKeyId",
				"IncompleteSignature", "MissingAuthenticationToken", "AuthFailure", "InvalidIdentityToken", "InvalidToken", "RequestExpired",
			},
			code: fault.Unavailable, types: []fault.FailureType{fault.Authentication},
		},
		{
			begin: passing(), said: crowded, // another call changes it just now
			code: fault.Unavailable, types: []fault.FailureType{fault.RetryableTransientFailure},
		},
		{
			begin: []string{"Invalid", "Validation", "ClientException", "InsufficientCapabilities", "MalformedPolicy", "RequestTooLarge", "RequestEntityTooLarge"},
			code:  fault.Invalid, types: []fault.FailureType{fault.ConfigurationFailure},
		},
		{
			begin: []string{"ServiceQuotaExceeded", "CodeStorageExceeded", "RESOURCE:", "Insufficient", "TooMany"}, part: []string{"LimitExceeded", "LimitReached"},
			code: fault.Unavailable, types: []fault.FailureType{fault.ResourceLimitsFailure},
		},
		{
			begin: []string{"NoSuch"}, part: []string{"NotFound"},
			code: fault.NotFound, types: []fault.FailureType{fault.ConfigurationFailure},
		},
	}
}

func isCredentials(err error) bool {
	text := err.Error()
	return strings.Contains(text, "get identity: get credentials") || strings.Contains(text, "failed to retrieve credentials") || strings.Contains(text, "static credentials are empty")
}

// Throttled says whether AWS refused a call because there were too many.
func Throttled(err error) bool {
	if exceeded := (ratelimit.QuotaExceededError{}); errors.As(err, &exceeded) {
		return true
	}
	if Is(err, "LimitExceededException") { // which the SDK sends again, but there is no more room later
		return false
	}
	for _, r := range retry.DefaultThrottles {
		if r.IsErrorThrottle(err).Bool() {
			return true
		}
	}
	return false
}

// passing are the codes by which AWS refuses a call because another one is at work on
// the same thing: Auto Scaling's, and Application Auto Scaling's.
func passing() []string { return []string{"ResourceContention", "ConcurrentUpdateException"} }

// crowded is what ECS says, by the code of any wrong request, where other calls register
// task definitions of the same family.
const crowded = "Too many concurrent attempts to create a new revision"

// fresh is what services say of what was just made, and hasn't come to them yet: roles,
// what these may do, instance profiles and launch templates.
func fresh() []string {
	return []string{
		"cannot be assumed by Lambda", "The provided execution role does not have permissions", // of Lambda
		"Unable to assume the service linked role", "ECS was unable to assume the role",
		"Invalid IAM Instance Profile", "The specified launch template, with template ID", // of Auto Scaling
	}
}

// soon says whether AWS refused a call, which has done nothing, for a reason that
// passes within seconds.
func soon(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	said := func(text string) bool { return strings.Contains(api.ErrorMessage(), text) }
	return slices.Contains(passing(), api.ErrorCode()) || said(crowded) || slices.ContainsFunc(fresh(), said)
}
