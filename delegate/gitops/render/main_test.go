package render_test

import (
	"os"
	"testing"

	"github.com/slipway-cd/slipway/delegate/gitops/render"
	"github.com/slipway-cd/slipway/delegate/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Answer(render.Verbs())
	os.Exit(m.Run())
}
