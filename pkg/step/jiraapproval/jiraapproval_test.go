package jiraapproval_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/jiraapproval"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, jiraapproval.Type())
}
