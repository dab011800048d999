package apiclient

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Settings are the settings as they hold in a scope.
func Settings(ctx context.Context, c *Client, scope ref.Scope) ([]setting.Holds, error) {
	l, err := get[struct {
		Settings []setting.Holds `json:"settings"`
	}](ctx, c, path("settings"), scoped(scope))
	return l.Settings, err
}
