package e2e_test

import (
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// onEveryHost runs a scenario on one machine and on AWS: the same documents
// must lead to the same end.
func onEveryHost(t *testing.T, scenario func(t *testing.T, start func(testing.TB) *e2e.Server)) {
	t.Helper()
	t.Run("one machine", func(t *testing.T) {
		t.Parallel()
		scenario(t, func(tb testing.TB) *e2e.Server {
			tb.Helper()
			return e2e.Start(tb, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
		})
	})
	t.Run("AWS", func(t *testing.T) {
		t.Parallel()
		scenario(t, func(tb testing.TB) *e2e.Server {
			tb.Helper()
			return e2e.StartAWS(tb).Server
		})
	})
}
