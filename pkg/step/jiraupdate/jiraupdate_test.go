package jiraupdate_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/jiraupdate"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, jiraupdate.Type())
}
