package helm

import (
	"context"
	"encoding/json"
	"fmt"

	"helm.sh/helm/v4/pkg/chart/common"

	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// What is made in a sandbox.
const (
	verbDescribe = "helm describe"
	verbTemplate = "helm template"
	verbEngine   = "helm engine"
)

// Verbs are what this package has a sandbox do: read charts, and render them
// as "helm template" does and as an installation does.
func Verbs() sandbox.Verbs {
	return sandbox.Verbs{verbDescribe: describeVerb, verbTemplate: templateVerb, verbEngine: engineVerb}
}

// bare is a manifest without the place that it is from, whose credentials are
// nothing to a sandbox.
func bare(m *origin.Manifest) *origin.Manifest {
	out := *m
	out.Store = task.Store{}
	return &out
}

func describeVerb(_ context.Context, c sandbox.Call) (any, error) {
	j, err := sandbox.Decode[chart.Job](c)
	if err != nil {
		return nil, err
	}
	found, err := chart.Reader{Log: c.Log}.Read(j.Manifest, j.Files)
	if err != nil {
		return nil, err
	}
	return found.Metadata, nil
}

// templated is what verbTemplate answers.
type templated struct {
	Folder string `json:"folder"` // of the chart with its dependencies
	Text   string `json:"text"`
}

func templateVerb(ctx context.Context, c sandbox.Call) (any, error) {
	j, err := sandbox.Decode[chart.Job](c)
	if err != nil {
		return nil, err
	}
	loaded, folder, err := j.Read(ctx, c.Log)
	if err != nil {
		return nil, err
	}
	text, err := j.Template(ctx, loaded, c.Log)
	if err == nil {
		kubernetes.TryToRead(text)
	}
	return templated{folder, text}, err
}

// engineWork is a chart that Helm is about to install, with what its templates
// see.
type engineWork struct {
	Folder       string               `json:"folder"`
	Values       manifest.Tree        `json:"values"`
	Release      manifest.Tree        `json:"release"`
	Capabilities *common.Capabilities `json:"capabilities"`
	EnableDNS    bool                 `json:"enableDNS"`
}

// sought is what a template looks for in the cluster.
type sought struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// askLookup has the parent look in the cluster, to which it has the access.
const askLookup = "lookup"

// engineVerb gives what the files of a chart become, by their paths.
func engineVerb(ctx context.Context, c sandbox.Call) (any, error) {
	w, err := sandbox.Decode[engineWork](c)
	if err != nil {
		return nil, err
	}
	look := func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		found := manifest.Tree{}
		err := c.Ask(askLookup, sought{apiVersion, kind, namespace, name}, &found)
		return found, err
	}
	files, err := chart.Render(ctx, w.Folder, chart.Scene{
		Values: w.Values, Release: w.Release, Capabilities: w.Capabilities, EnableDNS: w.EnableDNS, Lookup: look,
	})
	for _, text := range files {
		kubernetes.TryToRead(text)
	}
	return files, err
}

// remote renders a chart in the sandbox while Helm believes to do so itself:
// all else that Helm does for a release, such as finding out the values and
// what the cluster can do, stays Helm's.
func (s *session) remote(ctx context.Context, d *deployment, enableDNS bool) *chart.Stubs {
	return chart.Stub(d.chart, func(scene chart.Scene) (map[string]string, error) {
		release, err := json.Marshal(scene.Release)
		if err != nil {
			return nil, fmt.Errorf("encode the release: %w", err)
		}
		work := engineWork{Folder: d.folder, Values: scene.Values, Capabilities: scene.Capabilities, EnableDNS: enableDNS}
		if err := json.Unmarshal(release, &work.Release); err != nil {
			return nil, fmt.Errorf("encode the release: %w", err)
		}
		var files map[string]string
		return files, s.sandbox.Run(ctx, sandbox.Work{
			Verb: verbEngine, What: "rendering chart " + d.chart.Name(), Request: work, Log: s.env.Log(unitChange), Asked: s.lookUp,
		}, &files)
	})
}

// lookUp answers a template's lookup.
func (s *session) lookUp(ctx context.Context, _ string, question json.RawMessage) (any, error) {
	var l sought
	if err := json.Unmarshal(question, &l); err != nil {
		return nil, err
	}
	found, err := s.cluster.LookUp(ctx, l.APIVersion, l.Kind, l.Namespace, l.Name)
	return manifest.Tree(found), err
}
