package source

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// charts is the place of a source's chart: an HTTP server with an index, or a
// registry, whose address has no scheme.
func (s *Sources) chartsOf(ctx context.Context, r repository, src *gitops.Source) (task.ChartRepo, origin.HelmFlags, error) {
	who, err := s.login(ctx, r)
	place := task.ChartRepo{URL: r.URL, Username: who.user, Password: who.password, Over: r.over}
	if r.EnableOCI || !strings.Contains(r.URL, "://") {
		place.OCI = true
		place.URL = "oci://" + strings.TrimPrefix(strings.TrimRight(r.URL, "/"), "oci://")
	}
	return place, origin.HelmFlags{PlainHTTP: r.PlainHTTP, PassEverywhere: src.Helm != nil && src.Helm.PassCredentials}, err
}

// version is the version of a chart that a source means. One that is written out is
// not asked for.
func (s *Sources) version(ctx context.Context, src *gitops.Source, r repository, since time.Time) (string, error) {
	if src.Chart == "" {
		return "", fault.New(fault.Invalid, "%s is a repository of charts, and the source has no chart", r.URL)
	}
	want := src.TargetRevision
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(want, "v")); err == nil {
		return want, nil
	}
	question := strings.Join([]string{"chart", r.id, src.Chart, want}, "\n")
	a, err := s.ask(ctx, question, since, func(a *answer) {
		place, flags, err := s.chartsOf(ctx, r, src)
		if a.err = err; err == nil {
			a.revision, a.err = s.charts.Version(ctx, place, src.Chart, want, flags)
		}
	})
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "revision %q not found in %s: %w", want, r.URL, err)
	}
	if err != nil {
		return "", err
	}
	return a.revision, nil
}

// openChart gives the files of a chart, whose topmost folder is the chart's.
func (s *Sources) openChart(ctx context.Context, src *gitops.Source, r repository, version string) (*Files, error) {
	place, flags, err := s.chartsOf(ctx, r, src)
	if err != nil {
		return nil, err
	}
	m := &origin.Manifest{ID: src.Chart, Type: origin.HelmChart, Chart: &origin.Chart{Name: src.Chart, Version: version}, Store: task.Store{Charts: &place}}
	got, err := s.charts.Fetch(ctx, manifest.Source{Stage: "gitops", Log: io.Discard}, m, flags)
	if err != nil {
		return nil, err
	}
	stamp := src.Chart + "@" + version
	return &Files{URL: r.URL, Revision: version, root: stamp + ":.", objects: folder{got.Folder, stamp}, seen: map[string]string{}}, nil
}
