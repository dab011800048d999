package queue_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/queue"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, queue.Type())
}
