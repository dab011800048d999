package email_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/email"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, email.Type())
}
