package chart

import (
	"context"
	"io"

	v2 "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// Job is a chart that is to be loaded and rendered in a sandbox: all that this
// needs, as JSON.
type Job struct {
	Manifest *origin.Manifest `json:"manifest"` // without its store
	Files    manifest.Files   `json:"files"`
	Dir      string           `json:"dir"`   // the task's scratch directory
	Load     origin.HelmFlags `json:"load"`  // those of loading
	Flags    origin.HelmFlags `json:"flags"` // those of rendering
	Values   manifest.Tree    `json:"values"`
	Release  Release          `json:"release"`
}

// Read loads the chart and says in which folder it lies with its dependencies.
func (j Job) Read(ctx context.Context, log io.Writer) (*v2.Chart, string, error) {
	return j.reader(log).Load(ctx, j.Manifest, j.Files, j.Load)
}

// Template renders the chart.
func (j Job) Template(ctx context.Context, c *v2.Chart, log io.Writer) (string, error) {
	return j.reader(log).Template(ctx, c, j.Values, j.Release, j.Flags)
}

func (j Job) reader(log io.Writer) Reader {
	return Reader{Dir: func() (string, error) { return j.Dir, nil }, Log: log}
}
