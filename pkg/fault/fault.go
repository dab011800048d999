// Package fault is the vocabulary of errors: a code that the API maps to a
// status, a sentence that a person can act on, the Harness failure types that
// failure strategies match on, and the places in a document that are wrong.
//
// It knows nothing of HTTP, YAML or storage; it has no dependencies.
package fault

import (
	"errors"
	"fmt"
)

// Code says what kind of thing went wrong. The API maps each code to one
// status; docs/errors.md lists every code with its cause and cure.
type Code string

// The codes. None of them is ever renamed: clients compare them.
const (
	// Invalid: the input is wrong; Details name the places.
	Invalid Code = "INVALID"
	// NotFound: the named thing doesn't exist in the named scope.
	NotFound Code = "NOT_FOUND"
	// Conflict: the thing is in a state that forbids the action.
	Conflict Code = "CONFLICT"
	// Frozen: a deployment freeze is active.
	Frozen Code = "FROZEN"
	// PolicyDenied: a governance policy is against it; Details have its messages.
	PolicyDenied Code = "POLICY_DENIED"
	// StaleVersion: somebody else changed the entity since it was read.
	StaleVersion Code = "STALE_VERSION"
	// Referenced: the entity can't be deleted while others name it.
	Referenced Code = "REFERENCED"
	// Unauthenticated: no token, or one that isn't known.
	Unauthenticated Code = "UNAUTHENTICATED"
	// ExpiredToken: the token's time is over.
	ExpiredToken Code = "EXPIRED_TOKEN"
	// Forbidden: the caller is known and may not do this.
	Forbidden Code = "FORBIDDEN"
	// Unsupported: Harness has it and Slipway doesn't yet.
	Unsupported Code = "UNSUPPORTED"
	// UnresolvedExpression: a <+...> that names nothing.
	UnresolvedExpression Code = "UNRESOLVED_EXPRESSION"
	// LeaseLost: a delegate speaks for a task that it no longer holds.
	LeaseLost Code = "LEASE_LOST"
	// TooLarge: the input is over a documented limit.
	TooLarge Code = "TOO_LARGE"
	// TooMany: the caller has more under way than it may; later there is room.
	TooMany Code = "TOO_MANY_REQUESTS"
	// StorageFull: nothing can be saved before there is room on the disk.
	StorageFull Code = "STORAGE_FULL"
	// Unavailable: a part that is needed can't be reached; trying later may help.
	Unavailable Code = "UNAVAILABLE"
	// Internal: a bug or a broken machine. The text is never shown to users.
	Internal Code = "INTERNAL"
)

// Codes lists every code, for the documentation's test and the API's table.
func Codes() []Code {
	return []Code{
		Invalid, NotFound, Conflict, Frozen, PolicyDenied, StaleVersion, Referenced, Unauthenticated, ExpiredToken, Forbidden,
		Unsupported, UnresolvedExpression, LeaseLost, TooLarge, TooMany, StorageFull, Unavailable, Internal,
	}
}

// FailureType is Harness's classification of a step's failure, spelled as in
// failureStrategies[].onFailure.errors (semantics/pipeline §5.1).
type FailureType string

// The failure types of semantics/pipeline §5.1. AllErrors matches any of them
// and is never the type of a failure itself.
const (
	AllErrors                 FailureType = "AllErrors"
	Unknown                   FailureType = "Unknown"
	Authentication            FailureType = "Authentication"
	Connectivity              FailureType = "Connectivity"
	Timeout                   FailureType = "Timeout"
	Authorization             FailureType = "Authorization"
	Verification              FailureType = "Verification"
	DelegateProvisioning      FailureType = "DelegateProvisioning"
	PolicyEvaluationFailure   FailureType = "PolicyEvaluationFailure"
	InputTimeoutError         FailureType = "InputTimeoutError"
	ApprovalRejection         FailureType = "ApprovalRejection"
	DelegateRestart           FailureType = "DelegateRestart"
	UserMarkedFailure         FailureType = "UserMarkedFailure"
	InfrastructureFailure     FailureType = "InfrastructureFailure"
	PluginImageFailure        FailureType = "PluginImageFailure"
	ResourceLimitsFailure     FailureType = "ResourceLimitsFailure"
	ConfigurationFailure      FailureType = "ConfigurationFailure"
	RetryableTransientFailure FailureType = "RetryableTransientFailure"
)

// FailureTypes lists every failure type that a strategy may name.
func FailureTypes() []FailureType {
	return []FailureType{
		AllErrors, Unknown, Authentication, Connectivity, Timeout, Authorization, Verification,
		DelegateProvisioning, PolicyEvaluationFailure, InputTimeoutError, ApprovalRejection,
		DelegateRestart, UserMarkedFailure, InfrastructureFailure, PluginImageFailure,
		ResourceLimitsFailure, ConfigurationFailure, RetryableTransientFailure,
	}
}

// Detail is one wrong place of a document.
type Detail struct {
	File     string `json:"file,omitempty"`
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity,omitempty"` // "error" or "warning"
	Code     string `json:"code,omitempty"`     // finer than the error's code, e.g. UNKNOWN_KEY
	Message  string `json:"message"`
}

// Error is an error that a person can act on.
type Error struct {
	Code     Code
	Message  string
	Details  []Detail
	Failures []FailureType // empty: derived from the code by Failures
	cause    error
}

// New makes an error with a code. The format may wrap a cause with %w.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// Wrap says where an error happened: the sentence, ": " and its own. It keeps the
// code and the failure types.
func Wrap(err error, format string, args ...any) *Error {
	e := New(CodeOf(err), "%s: %w", fmt.Sprintf(format, args...), err)
	var inner *Error
	if errors.As(err, &inner) {
		e.Failures = inner.Failures
	}
	return e
}

// Told is an error with the messages of its details, a line each.
func Told(err error) string {
	text := err.Error()
	var e *Error
	if errors.As(err, &e) {
		for _, d := range e.Details {
			text += "\n" + d.Message
		}
	}
	return text
}

// Error is the sentence, without the code.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause, if the error was made with %w.
func (e *Error) Unwrap() error { return e.cause }

// With adds wrong places and returns the same error.
func (e *Error) With(details ...Detail) *Error {
	e.Details = append(e.Details, details...)
	return e
}

// Causing sets the failure types and returns the same error.
func (e *Error) Causing(types ...FailureType) *Error {
	e.Failures = types
	return e
}

// CodeOf finds the code of an error through its wrapping. An error without
// one is Internal; nil has the empty code.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// Passing says whether an error may be gone at the next try although nobody
// has changed what was asked.
func Passing(err error) bool {
	switch CodeOf(err) {
	case Internal, Unavailable, TooMany, StorageFull:
		return true
	case Invalid, NotFound, Conflict, Frozen, PolicyDenied, StaleVersion, Referenced, Unauthenticated, ExpiredToken, Forbidden, Unsupported, UnresolvedExpression, LeaseLost, TooLarge:
	}
	return false
}

// Is says whether err carries the code.
func Is(err error, code Code) bool { return CodeOf(err) == code }

// Failures gives the failure types of an error, for failure strategies. A
// failure may carry several; a strategy matches if it names any of them.
func Failures(err error) []FailureType {
	var e *Error
	if errors.As(err, &e) && len(e.Failures) > 0 {
		return e.Failures
	}
	switch CodeOf(err) {
	case Invalid, NotFound, Unsupported, UnresolvedExpression, TooLarge:
		return []FailureType{ConfigurationFailure, Unknown}
	case Unauthenticated, ExpiredToken:
		return []FailureType{Authentication}
	case Forbidden:
		return []FailureType{Authorization}
	case PolicyDenied:
		return []FailureType{PolicyEvaluationFailure}
	case Unavailable, TooMany, StorageFull:
		return []FailureType{Connectivity, RetryableTransientFailure}
	case Conflict, Frozen, StaleVersion, Referenced, LeaseLost, Internal:
		return []FailureType{Unknown}
	}
	return []FailureType{Unknown}
}
