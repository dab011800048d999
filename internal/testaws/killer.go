package testaws

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	smithymiddleware "github.com/aws/smithy-go/middleware"
)

// Changing says whether an operation of AWS changes something.
func Changing(operation string) bool {
	return !strings.HasPrefix(operation, "Describe") && !strings.HasPrefix(operation, "List") && !strings.HasPrefix(operation, "Get")
}

// Killer is a delegate that is killed before or after one of the calls by which it
// changes something: from then on it calls nothing.
type Killer struct {
	At     int // which of those calls, from 1 on; 0: none
	Before bool

	// Calls are those that changed something, once the delegate is done.
	Calls []string

	mu   sync.Mutex
	dead bool
	kill context.CancelCauseFunc
}

var errKilled = errors.New("killed")

// Living is the context of what the delegate does, which ends when it is killed.
func (k *Killer) Living(ctx context.Context) context.Context {
	ctx, k.kill = context.WithCancelCause(ctx)
	return ctx
}

// Add puts the killer on the delegate's way to AWS.
func (k *Killer) Add(stack *smithymiddleware.Stack) error {
	return stack.Initialize.Add(smithymiddleware.InitializeMiddlewareFunc("killer", k.handle), smithymiddleware.After)
}

// comes says whether a call is made.
func (k *Killer) comes(operation string) (mine, made bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead || !Changing(operation) {
		return false, !k.dead
	}
	k.Calls = append(k.Calls, operation)
	mine = len(k.Calls) == k.At
	if mine && k.Before {
		k.dies()
	}
	return mine, !k.dead
}

func (k *Killer) dies() {
	k.dead = true
	k.kill(errKilled)
}

// Via puts the killer on the delegate's way to somebody else, whose operations are
// named by their requests.
func (k *Killer) Via(next http.RoundTripper, name func(*http.Request) string) http.RoundTripper {
	return roundTrips(func(r *http.Request) (*http.Response, error) {
		mine, made := k.comes(name(r))
		if !made {
			return nil, errKilled
		}
		answer, err := next.RoundTrip(r)
		if !mine {
			return answer, err
		}
		if err == nil {
			_ = answer.Body.Close() // nobody reads it
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.dies()
		return nil, errKilled
	})
}

// roundTrips is an http.RoundTripper.
type roundTrips func(r *http.Request) (*http.Response, error)

// RoundTrip sends a request.
func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// handle is a step of the SDK's way to AWS.
func (k *Killer) handle(ctx context.Context, in smithymiddleware.InitializeInput, next smithymiddleware.InitializeHandler) (smithymiddleware.InitializeOutput, smithymiddleware.Metadata, error) {
	mine, made := k.comes(middleware.GetOperationName(ctx))
	if !made {
		return smithymiddleware.InitializeOutput{}, smithymiddleware.Metadata{}, errKilled
	}
	out, meta, err := next.HandleInitialize(ctx, in)
	if mine {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.dies()
		return out, meta, errKilled
	}
	return out, meta, err
}
