package api_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
)

func TestHealthTellsOfALowDisk(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, c := range []struct {
		disk func() (int64, int64, error)
		want *api.Disk
	}{
		{nil, nil},
		{func() (int64, int64, error) { return api.LowDisk, 1 << 40, nil }, &api.Disk{Free: api.LowDisk, Total: 1 << 40}},
		{func() (int64, int64, error) { return api.LowDisk - 1, 1 << 40, nil }, &api.Disk{Free: api.LowDisk - 1, Total: 1 << 40, Low: true}},
	} {
		s.cfg.Disk = c.disk
		s.Server = api.New(s.cfg)
		var got api.Health
		s.ask("GET", "/v1/health", "").want(200, &got)
		if (got.Disk == nil) != (c.want == nil) || c.want != nil && *got.Disk != *c.want || got.Version != "test" {
			t.Errorf("health is %+v, disk %+v; want %+v", got, got.Disk, c.want)
		}
	}
}
