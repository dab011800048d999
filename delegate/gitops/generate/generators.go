package generate

import (
	"encoding/json"
	"errors"
	"path"
	"strconv"
	"strings"

	"github.com/gosimple/slug"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
)

// given is the second generator of a matrix with the parameters of the first put in.
// Its values may also hold its own parameters, so what the first hasn't stays there.
func (g *generator) given(gen *appset.Generator, p Params) (*appset.Generator, error) {
	if len(p) == 0 {
		return gen, nil
	}
	values := valuesOf(gen)
	kept := *values
	*values = nil
	filled, err := fill(*gen, func(text string) (string, error) { return g.notation.fill(text, p) })
	*values = kept
	if err != nil || len(kept) == 0 {
		return &filled, err
	}
	strict, own := g.notation.strict(), make(map[string]string, len(kept))
	for k, text := range kept {
		own[k], err = strict.fill(text, p)
		if err != nil {
			own[k] = text
		}
	}
	*valuesOf(&filled) = own
	return &filled, nil
}

// valuesOf are the values of a generator that may have some.
func valuesOf(gen *appset.Generator) *map[string]string {
	switch {
	case gen.Clusters != nil:
		return &gen.Clusters.Values
	case gen.Git != nil:
		return &gen.Git.Values
	case gen.SCMProvider != nil:
		return &gen.SCMProvider.Values
	case gen.Decisions != nil:
		return &gen.Decisions.Values
	case gen.PullRequests != nil:
		return &gen.PullRequests.Values
	case gen.Plugin != nil:
		return &gen.Plugin.Values
	}
	return new(map[string]string)
}

func (g *generator) list(l *appset.List) ([]Params, error) {
	var sets []Params
	for i, raw := range l.Elements {
		var element map[string]any
		if err := json.Unmarshal(raw, &element); err != nil {
			return nil, fault.New(fault.Invalid, "list, element %d: %w", i+1, err)
		}
		p, err := g.element(element)
		if err != nil {
			return nil, fault.New(fault.Invalid, "list, element %d: %w", i+1, err)
		}
		sets = append(sets, p)
	}
	if l.ElementsYaml == "" {
		return sets, nil
	}
	var more []map[string]any
	if err := yaml.Unmarshal([]byte(l.ElementsYaml), &more); err != nil {
		return nil, fault.New(fault.Invalid, "list, elementsYaml: %w", err)
	}
	for _, element := range more {
		sets = append(sets, element)
	}
	return sets, nil
}

// element is an element of a list: with {{key}} texts alone, and values by name.
func (g *generator) element(element map[string]any) (Params, error) {
	if g.notation.golang {
		return element, nil
	}
	p := Params{}
	for k, v := range element {
		if text, ok := v.(string); ok && k != "values" {
			p[k] = text
			continue
		}
		values, ok := v.(map[string]any)
		if !ok || k != "values" {
			return nil, fault.New(fault.Invalid, "%q isn't a text, as it has to be without goTemplate", k)
		}
		for name, value := range values {
			if p["values."+name], ok = value.(string); !ok {
				return nil, fault.New(fault.Invalid, "values.%s isn't a text, as it has to be without goTemplate", name)
			}
		}
	}
	return p, nil
}

// inCluster is the cluster that an agent runs in, which needs no document.
var inCluster = Cluster{Name: "in-cluster", Server: "https://kubernetes.default.svc"}

func (g *generator) clusters(c *appset.Clusters) ([]Params, error) {
	if err := c.Selector.Check(); err != nil {
		return nil, err
	}
	a, err := g.answer(Question{Clusters: true})
	if err != nil {
		return nil, err
	}
	known := false
	var sets []Params
	for _, cluster := range a.Clusters {
		known = known || cluster.Server == inCluster.Server
		if c.Selector.Matches(cluster.Labels) {
			p := g.cluster(cluster)
			g.metadata(p, cluster)
			sets = append(sets, p)
		}
	}
	if !known && c.Selector.Empty() { // which has no labels that could match
		sets = append(sets, g.cluster(inCluster))
	}
	for _, p := range sets {
		if err := g.notation.values(p, c.Values); err != nil {
			return nil, err
		}
	}
	if !c.FlatList {
		return sets, nil
	}
	list := make([]any, len(sets))
	for i, p := range sets {
		list[i] = map[string]any(p)
	}
	return []Params{{"clusters": list}}, nil
}

func (g *generator) cluster(c Cluster) Params {
	return Params{"name": c.Name, "nameNormalized": Normalized(c.Name), "server": c.Server, "project": c.Project}
}

func (g *generator) metadata(p Params, c Cluster) {
	if g.notation.golang {
		meta := map[string]any{}
		if len(c.Labels) > 0 {
			meta["labels"] = labels(c.Labels)
		}
		if len(c.Annotations) > 0 {
			meta["annotations"] = labels(c.Annotations)
		}
		p["metadata"] = meta
		return
	}
	g.notation.put(p, "metadata.labels", labels(c.Labels))
	g.notation.put(p, "metadata.annotations", labels(c.Annotations))
}

func (g *generator) git(of *appset.Git) ([]Params, error) {
	q := GitQuestion{RepoURL: of.RepoURL, Revision: of.Revision}
	if len(of.Directories) == 0 {
		q.Files = of.Files
		if len(of.Files) == 0 {
			return nil, fault.New(fault.Invalid, "git has neither directories nor files")
		}
	}
	a, err := g.answer(Question{Git: &q})
	if err != nil {
		return nil, err
	}
	var sets []Params
	for _, d := range a.Directories {
		if takes(of.Directories, d) {
			p := Params{}
			g.path(p, of.PathParamPrefix, d, "")
			sets = append(sets, p)
		}
	}
	for _, f := range a.Files {
		objects, err := objects(f.Text)
		if err != nil {
			return nil, fault.New(fault.Invalid, "%s: %w", f.Path, err)
		}
		for _, o := range objects {
			p := g.notation.read(o)
			g.path(p, of.PathParamPrefix, path.Dir(f.Path), path.Base(f.Path))
			sets = append(sets, p)
		}
	}
	for _, p := range sets {
		if err := g.notation.values(p, of.Values); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// takes says whether patterns of folders take one: as path.Match, in which * ends
// at a slash.
func takes(patterns []appset.GitPattern, dir string) bool {
	in := false
	for _, p := range patterns {
		if ok, err := path.Match(p.Path, dir); err != nil || !ok {
			continue
		}
		if p.Exclude {
			return false
		}
		in = true
	}
	return in
}

// path adds the parameters of a folder, and of a file in it.
func (g *generator) path(p Params, prefix, dir, file string) {
	segments := strings.Split(dir, "/")
	of := map[string]any{"basename": path.Base(dir), "basenameNormalized": Normalized(path.Base(dir))}
	if file != "" {
		of["filename"], of["filenameNormalized"] = file, Normalized(file)
	}
	if g.notation.golang {
		of["path"], of["segments"] = dir, all(segments)
		if prefix != "" {
			p[prefix] = map[string]any{"path": of}
		} else {
			p["path"] = of
		}
		return
	}
	name := "path"
	if prefix != "" {
		name = prefix + ".path"
	}
	p[name] = dir
	g.notation.put(p, name, of)
	for i, s := range segments {
		if s != "" {
			p[name+"["+strconv.Itoa(i)+"]"] = s
		}
	}
}

// objects are those of a file of YAML or JSON: one, or a list of them. An empty file
// has one without anything.
func objects(text string) ([]map[string]any, error) {
	one := map[string]any{}
	err := yaml.Unmarshal([]byte(text), &one)
	if err == nil {
		if one == nil {
			one = map[string]any{}
		}
		return []map[string]any{one}, nil
	}
	var several []map[string]any
	if yaml.Unmarshal([]byte(text), &several) != nil {
		return nil, fault.New(fault.Invalid, "want a mapping or a list of mappings: %w", err)
	}
	for _, o := range several {
		if o == nil {
			return nil, errors.New("the list has an entry that is empty")
		}
	}
	return several, nil
}

func (g *generator) repositories(s *appset.SCMProvider) ([]Params, error) {
	q := *s
	q.Values, q.Template, q.RequeueAfterSeconds = nil, appset.Template{}, nil
	a, err := g.answer(Question{Repositories: &q})
	if err != nil {
		return nil, err
	}
	var sets []Params
	for _, r := range a.Repositories {
		p := Params{
			"organization": r.Organization, "repository": r.Repository, "repository_id": r.ID, "url": r.URL,
			"branch": r.Branch, "branchNormalized": Normalized(r.Branch),
			"sha": r.SHA, "short_sha": cut(r.SHA, 8), "short_sha_7": cut(r.SHA, 7), "labels": strings.Join(r.Labels, ","),
		}
		if err := g.notation.values(p, s.Values); err != nil {
			return nil, err
		}
		sets = append(sets, p)
	}
	return sets, nil
}

func (g *generator) pullRequests(r *appset.PullRequests) ([]Params, error) {
	q := *r
	q.Values, q.Template, q.RequeueAfterSeconds = nil, appset.Template{}, nil
	a, err := g.answer(Question{PullRequests: &q})
	if err != nil {
		return nil, err
	}
	if a.NotFound && !r.ContinueOnRepoNotFoundError {
		return nil, fault.New(fault.NotFound, "the repository of the pull requests isn't there")
	}
	var sets []Params
	for _, pr := range a.PullRequests {
		p := Params{
			"number": strconv.FormatInt(pr.Number, 10), "title": pr.Title, "author": pr.Author,
			"branch": pr.Branch, "branch_slug": branch(pr.Branch),
			"target_branch": pr.TargetBranch, "target_branch_slug": branch(pr.TargetBranch),
			"head_sha": pr.HeadSHA, "head_short_sha": cut(pr.HeadSHA, 8), "head_short_sha_7": cut(pr.HeadSHA, 7),
		}
		if g.notation.golang {
			p["labels"] = all(pr.Labels)
		}
		if err := g.notation.values(p, r.Values); err != nil {
			return nil, err
		}
		sets = append(sets, p)
	}
	return sets, nil
}

// branch is the name of a branch as a part of a host's name, with room for more.
func branch(name string) string {
	return shortened(slug.Make(strings.ReplaceAll(name, "_", "-")), 50)
}

func cut(text string, size int) string { return text[:min(len(text), size)] }

func (g *generator) decisions(d *appset.Decisions) ([]Params, error) {
	if err := d.LabelSelector.Check(); err != nil {
		return nil, err
	}
	if (d.Name == "") == d.LabelSelector.Empty() {
		return nil, fault.New(fault.Invalid, "clusterDecisionResource has name and labelSelector, or neither; want one of them")
	}
	q := *d
	q.Values, q.Template, q.RequeueAfterSeconds = nil, appset.Template{}, nil
	a, err := g.answer(Question{Decisions: &q})
	if err != nil {
		return nil, err
	}
	var sets []Params
	for _, decision := range a.Decisions {
		p := Params{"name": decision.Cluster.Name, "server": decision.Cluster.Server}
		for k, v := range texts(decision.Says) {
			p[k] = v
		}
		g.notation.put(p, "values", labels(d.Values)) // as they stand
		sets = append(sets, p)
	}
	return sets, nil
}

func (g *generator) plugin(of *appset.Plugin) ([]Params, error) {
	q := *of
	q.Values, q.Template, q.RequeueAfterSeconds = nil, appset.Template{}, nil
	a, err := g.answer(Question{Plugin: &q})
	if err != nil {
		return nil, err
	}
	input := map[string]any{}
	for name, raw := range of.Input.Parameters {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fault.New(fault.Invalid, "plugin, input %q: %w", name, err)
		}
		input[name] = v
	}
	var sets []Params
	for _, o := range a.Parameters {
		p := g.notation.read(o)
		p["generator"] = map[string]any{"input": map[string]any{"parameters": input}}
		if err := g.notation.values(p, of.Values); err != nil {
			return nil, err
		}
		sets = append(sets, p)
	}
	return sets, nil
}
