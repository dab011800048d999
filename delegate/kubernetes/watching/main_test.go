package watching_test

import (
	"os"
	"testing"

	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Answer(kubernetes.Verbs())
	os.Exit(m.Run())
}
