package kubernetes

import (
	"context"
	"slices"
	"strings"

	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// chart renders a Helm chart to objects that are deployed like any others: no
// Helm release is made (semantics/kubernetes §4.3). only names files of the
// chart, which count even if they ask to be left out of deployments; nil: all
// others.
func (r *renderer) chart(ctx context.Context, m *origin.Manifest, only []string, over []origin.ValuesFile) ([]*unstructured.Unstructured, error) {
	flags, err := m.Chart.Flags(origin.HelmTemplate)
	if err != nil {
		return nil, err
	}
	flags.ShowOnly = append(flags.ShowOnly, only...)
	source := r.source()
	download, err := m.Chart.Download()
	if err != nil {
		return nil, err
	}
	files, err := r.charts.Fetch(ctx, source, m, download)
	if err != nil {
		return nil, err
	}
	values, err := source.Values(ctx, m, files, slices.Concat(r.p.Target.Values, over))
	if err != nil {
		return nil, err
	}
	if values, err = chart.Values(values, files, flags); err != nil {
		return nil, err
	}
	// A kind that the chart looks for may be younger than what was found out for
	// other tasks. What the cluster says now is there for this one's objects, too.
	r.client.Mapper.Reset()
	cluster, err := chart.Capabilities(r.client.Kinds)
	if err != nil {
		return nil, err
	}
	dir, err := r.env.Dir()
	if err != nil {
		return nil, err
	}
	job := chart.Job{
		Manifest: bare(m), Files: files, Dir: dir, Load: flags, Flags: flags, Values: values,
		Release: chart.Release{Name: r.p.Target.ReleaseName, Namespace: r.p.Target.Namespace, Cluster: cluster},
	}
	return r.make(ctx, sandbox.Work{
		Verb: verbChart, What: "rendering the chart of " + m.ID, Log: r.env.Log(unitFetch), Request: chartWork{job, only != nil},
	})
}

// leaveOut finds the templates that ask to be left out of deployments, by the
// names that Helm gives them in what it renders (semantics/kubernetes §5).
func leaveOut(c *v2.Chart, out map[string]bool) {
	for _, t := range c.Templates {
		if skipped(manifest.File{Text: string(t.Data)}) {
			out[c.ChartFullPath()+"/"+t.Name] = true
		}
	}
	for _, sub := range c.Dependencies() {
		leaveOut(sub, out)
	}
}

// renderedObjects reads what Helm rendered, where a line names each document's
// template.
func renderedObjects(text string, leftOut map[string]bool) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq("\n"+text, "\n---\n# Source: ") {
		path, body, _ := strings.Cut(doc, "\n")
		if leftOut[path] {
			continue
		}
		objects, err := parse(path, body)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, unique(out)
}
