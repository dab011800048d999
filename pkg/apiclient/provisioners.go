package apiclient

import (
	"context"
	"net/http"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Provisioners asks for what is kept of provisioners.
type Provisioners struct{ Client *Client }

// List lists what steps of a project have made by provisioners.
func (p Provisioners) List(ctx context.Context, scope ref.Scope, page Page) ([]api.Provisioner, string, error) {
	l, err := get[api.ProvisionerList](ctx, p.Client, path("provisioners"), page.in(scoped(scope)))
	return l.Provisioners, l.NextPageToken, err
}

// ProvisionerKey names a provisioner.
type ProvisionerKey struct {
	Scope      ref.Scope
	Kind       task.Kind
	Identifier string
	Workspace  string
}

func (k ProvisionerKey) request(method string) request {
	q := scoped(k.Scope)
	set(q, "workspace", k.Workspace)
	return request{method: method, path: path("provisioners", string(k.Kind), k.Identifier), query: q}
}

// Get tells what executions have done by a provisioner.
func (p Provisioners) Get(ctx context.Context, k ProvisionerKey) (api.ProvisionerHistory, error) {
	return call[api.ProvisionerHistory](ctx, p.Client, k.request(http.MethodGet))
}

// Forget forgets what executions have done by a provisioner.
func (p Provisioners) Forget(ctx context.Context, k ProvisionerKey) error {
	_, err := call[struct{}](ctx, p.Client, k.request(http.MethodDelete))
	return err
}
