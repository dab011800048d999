package api_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
)

// A function makes the API at each cold start: what an endpoint's description
// costs is for its first request.
func TestEndpointsAreDescribedLate(t *testing.T) { //nolint:paralleltest // it counts all allocations
	allocs := testing.AllocsPerRun(5, func() { api.New(api.Config{}) })
	if described := testing.AllocsPerRun(1, func() { _, _ = api.New(api.Config{}).OpenAPI() }); allocs*10 > described {
		t.Errorf("making the API takes %.0f allocations, want at most a tenth of the %.0f of describing it", allocs, described)
	}
}
