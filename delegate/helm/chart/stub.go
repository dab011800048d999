package chart

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	chartarchive "helm.sh/helm/v4/pkg/chart/loader/archive"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Scene is what the templates of a chart see.
type Scene struct {
	Values       map[string]any // all of them, those of the subcharts below their names
	Release      map[string]any
	Capabilities *common.Capabilities
	EnableDNS    bool
	// Lookup looks in the cluster; nil finds nothing.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, error)
}

// Render gives what the files of the chart in a folder become, by their paths,
// as Helm's engine names them.
func Render(ctx context.Context, folder string, s Scene) (map[string]string, error) {
	c, err := Load(folder)
	if err != nil {
		return nil, err
	}
	return rendered(ctx, c, s)
}

// RenderFiles is Render of a chart that isn't in a folder. Of the values those count that
// aren't the chart's own.
func RenderFiles(ctx context.Context, files fs.FS, s Scene) (map[string]string, error) {
	var all []*chartarchive.BufferedFile
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		all = append(all, &chartarchive.BufferedFile{Name: name, Data: text})
		return err
	})
	if err != nil {
		return nil, fault.New(fault.Invalid, "the chart can't be read: %w", err)
	}
	c, err := loader.LoadFiles(all)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the chart can't be read: %w", err)
	}
	if s.Values, err = commonutil.CoalesceValues(c, s.Values); err != nil {
		return nil, fault.New(fault.Invalid, "the chart's values: %w", err)
	}
	return rendered(ctx, c, s)
}

func rendered(ctx context.Context, c *v2.Chart, s Scene) (map[string]string, error) {
	if err := util.ProcessDependencies(c, s.Values); err != nil {
		return nil, fmt.Errorf("chart dependencies processing failed: %w", err)
	}
	if n, isWhole := s.Release["Revision"].(int64); isWhole {
		s.Release["Revision"] = int(n)
	}
	e := engine.Engine{EnableDNS: s.EnableDNS}
	if s.Lookup != nil {
		e.CustomTemplateFuncs = template.FuncMap{"lookup": s.Lookup}
	}
	return e.RenderWithContext(ctx, c, common.Values{
		"Chart": c.Metadata, "Values": common.Values(s.Values), "Release": s.Release, "Capabilities": s.Capabilities,
	})
}

// stubFunc is what stubs call.
const stubFunc = "slipwayRendered"

// Stubs stand in a chart for its templates: Helm executes them as it would
// these, and gets what somebody else has rendered.
//
//	templates/web.yaml    {{ slipwayRendered . }}    the text of this file
//	a/very/deep/path      {{ slipwayRendered . }}    renders all; Helm executes deep paths first
type Stubs struct {
	chart  *v2.Chart
	render func(Scene) (map[string]string, error)
	first  *common.File
	real   map[*common.File]*common.File // by stub
	files  map[string]string
	err    error
}

// Stub replaces the templates of a chart until it is rendered, or restored.
func Stub(c *v2.Chart, render func(Scene) (map[string]string, error)) *Stubs {
	s := &Stubs{chart: c, render: render, real: map[*common.File]*common.File{}}
	deepest := s.replace(c, 0)
	s.first = &common.File{Name: strings.Repeat("slipway/", deepest+1) + "first", Data: []byte("{{ " + stubFunc + " . }}")}
	c.Templates = append(c.Templates, s.first)
	return s
}

// replace puts stubs into a chart and those below it, and says how many folders
// are at most above one of them.
func (s *Stubs) replace(c *v2.Chart, above int) int {
	deepest := above
	for i, t := range c.Templates {
		stub := &common.File{Name: t.Name, Data: []byte("{{ " + stubFunc + " . }}")}
		s.real[stub] = t
		c.Templates[i] = stub
		deepest = max(deepest, above+strings.Count(t.Name, "/"))
	}
	for _, sub := range c.Dependencies() {
		deepest = max(deepest, s.replace(sub, above+2))
	}
	return deepest
}

// Functions are what the stubs need of Helm.
func (s *Stubs) Functions() template.FuncMap {
	return template.FuncMap{stubFunc: func(seen any) (string, error) {
		values, ok := seen.(common.Values)
		about, isTemplate := values["Template"].(common.Values)
		name, _ := about["Name"].(string)
		if !ok || !isTemplate {
			return "", fmt.Errorf("a template sees a %T", seen)
		}
		if !strings.HasSuffix(name, s.first.Name) {
			return s.files[name], nil
		}
		s.Restore()
		s.err = s.renderAll(values)
		return "", s.err
	}}
}

func (s *Stubs) renderAll(seen common.Values) error {
	scene := Scene{Values: plain(seen["Values"]), Release: plain(seen["Release"])}
	scene.Capabilities, _ = seen["Capabilities"].(*common.Capabilities)
	var err error
	s.files, err = s.render(scene)
	return err
}

func plain(v any) map[string]any {
	switch v := v.(type) {
	case common.Values:
		return v
	case map[string]any:
		return v
	}
	return map[string]any{}
}

// Restore gives the chart its own templates back, those of subcharts that were
// copied meanwhile under another name, too.
func (s *Stubs) Restore() { s.restore(s.chart) }

func (s *Stubs) restore(c *v2.Chart) {
	var own []*common.File
	for _, t := range c.Templates {
		switch was, isStub := s.real[t]; {
		case isStub:
			own = append(own, was)
		case t != s.first:
			own = append(own, t)
		}
	}
	c.Templates = own
	for _, sub := range c.Dependencies() {
		s.restore(sub)
	}
}

// Err is why the chart couldn't be rendered, in other words than those in which
// Helm reports it.
func (s *Stubs) Err() error { return s.err }
