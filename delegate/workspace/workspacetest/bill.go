package workspacetest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/config"
	smithymiddleware "github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// Bill begins to count what steps ask of the account themselves, without what their
// tools do.
func (m *Machine) Bill(page string, update bool) *testaws.Bill {
	own := &asked{}
	m.Accesses.Options = append(m.Accesses.Options, config.WithAPIOptions([]func(*smithymiddleware.Stack) error{own.watch}))
	return testaws.NewBill(page, update, own.names)
}

// asked are the operations that were asked for.
type asked struct {
	mu  sync.Mutex
	all []string
}

func (a *asked) names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.all)
}

func (a *asked) watch(stack *smithymiddleware.Stack) error {
	return stack.Initialize.Add(smithymiddleware.InitializeMiddlewareFunc("asked", a.note), smithymiddleware.After)
}

func (a *asked) note(ctx context.Context, in smithymiddleware.InitializeInput, next smithymiddleware.InitializeHandler) (smithymiddleware.InitializeOutput, smithymiddleware.Metadata, error) {
	a.mu.Lock()
	a.all = append(a.all, strings.ToLower(middleware.GetServiceID(ctx))+":"+middleware.GetOperationName(ctx))
	a.mu.Unlock()
	return next.HandleInitialize(ctx, in)
}
