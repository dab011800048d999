package kubernetes

import (
	"os"
	"testing"

	"github.com/slipway-cd/slipway/delegate/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Answer(Verbs())
	os.Exit(m.Run())
}
