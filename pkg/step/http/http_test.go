package http_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/http"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, http.Type())
}
