package builtin_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A timeout that ends a step before tasks are drained is told on save, also in a
// template; what isn't known then isn't.
func TestTimeoutsThatAreTooShortForDraining(t *testing.T) {
	t.Parallel()
	const why = "it waits until tasks behind a load balancer are drained, which takes 5m0s unless their target group says otherwise [SHORT_DURATION]]"
	for step, want := range map[string]string{
		"type: EcsCanaryDelete, timeout: 5m, spec: {}":       "[7:42 spec.timeout: warning: found 5m0s; EcsCanaryDelete may well take 6m0s: " + why,
		"type: EcsCanaryDeploy, timeout: 5m59s, spec: {}":    "[7:42 spec.timeout: warning: found 5m59s; EcsCanaryDeploy may well take 6m0s: " + why,
		"type: EcsCanaryDelete, timeout: 6m, spec: {}":       "[]",
		"type: EcsCanaryDelete, spec: {}":                    "[]", // ten minutes
		"type: EcsCanaryDelete, timeout: <+input>, spec: {}": "[]",
		"type: EcsRollingRollback, timeout: 5m, spec: {}":    "[]",
	} {
		docs, report := yamldoc.Parse("", []byte("template:\n  identifier: t\n  name: t\n  versionLabel: v1\n  type: Step\n  orgIdentifier: default\n  spec: {"+step+"}\n"))
		entity.Decode(docs[0], report, builtin.Options(project()))
		if diff := cmp.Diff(want, fmt.Sprint(report.Findings())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
}
