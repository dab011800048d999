package provisioner_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provisioner"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// What an expression gives is checked before anything begins: under a name that
// comes out empty, what was made would be lost.
func TestIdentifiersOfARun(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"web.prod-1_a":           "",
		strings.Repeat("a", 128): "",
		"":                       `is ""; want a name`,
		"null":                   `is "null"; want a name`,
		"web/prod":               `is "web/prod"; want 1 to 128 letters`,
		"web prod":               "want 1 to 128 letters",
		strings.Repeat("a", 129): "want 1 to 128 letters",
	} {
		p, err := provisioner.Of(yamldoc.Field[string]{Value: text})
		switch {
		case want == "" && (err != nil || p.Identifier != text):
			t.Errorf("%q: %v, %v", text, p, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || fault.Failures(err)[0] != fault.ConfigurationFailure):
			t.Errorf("%q: %v (%v); want %s", text, err, fault.Failures(err), want)
		}
	}
}
