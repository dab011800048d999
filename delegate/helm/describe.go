package helm

import (
	"context"
	"encoding/json"
	"fmt"

	v2 "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// describe reads what a chart says of itself, and where it was found.
func (s *session) describe(ctx context.Context) (task.Result, error) {
	m := s.p.Target.Manifest
	if m == nil || m.Type != origin.HelmChart {
		return task.Result{}, fault.New(fault.Invalid, "there is no Helm chart to describe")
	}
	download, err := s.p.Download()
	if err != nil {
		return task.Result{}, err
	}
	files, err := s.charts.Fetch(ctx, s.source(), m, download)
	if err != nil {
		return task.Result{}, err
	}
	var about v2.Metadata
	err = s.sandbox.Run(ctx, sandbox.Work{
		Verb: verbDescribe, What: "reading the chart of " + m.ID, Log: s.env.Log(unitFetch), Request: chart.Job{Manifest: bare(m), Files: files},
	}, &about)
	if err != nil {
		return task.Result{}, err
	}
	found := lookup.ChartFound{
		Manifest: m.ID, CommitID: files.Commit, Name: about.Name, Description: about.Description, Version: about.Version,
		APIVersion: about.APIVersion, AppVersion: about.AppVersion, KubeVersion: about.KubeVersion,
	}
	if g := m.Store.Git; g != nil {
		found.Metadata = lookup.ChartPlace{URL: g.URL, BasePath: g.Paths[0], CommitID: files.Commit, Branch: g.Branch}
	}
	if r := m.Store.Charts; r != nil {
		found.Metadata.URL = r.URL
	}
	say(s.env.Log(unitFetch), "Chart %s %s, application %s", about.Name, about.Version, about.AppVersion)
	doc, err := json.Marshal(map[string]any{"output": map[string]any{"chart": found}})
	if err != nil {
		return task.Result{}, fmt.Errorf("encode the chart: %w", err)
	}
	return task.Result{Status: task.Succeeded, Outputs: doc}, nil
}
