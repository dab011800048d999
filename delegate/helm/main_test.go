package helm

import (
	"maps"
	"os"
	"testing"

	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/sandbox"
)

func TestMain(m *testing.M) {
	verbs := kubernetes.Verbs()
	maps.Copy(verbs, Verbs())
	sandbox.Answer(verbs)
	os.Exit(m.Run())
}
