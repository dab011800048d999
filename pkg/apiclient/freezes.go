package apiclient

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/freeze/calendar"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Freezes are the deployment freezes that count in a scope.
func Freezes(ctx context.Context, c *Client, scope ref.Scope) (calendar.Freezes, error) {
	return get[calendar.Freezes](ctx, c, path("freezes"), scoped(scope))
}

// FreezeCalendar is their windows in the next days as a calendar (RFC 5545).
func FreezeCalendar(ctx context.Context, c *Client, scope ref.Scope, days int) ([]byte, error) {
	q := scoped(scope)
	q.Set("days", strconv.Itoa(days))
	resp, err := c.send(ctx, request{method: http.MethodGet, path: path("freezes", "calendar.ics"), query: q})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "read the calendar: %w", err)
	}
	return text, nil
}
