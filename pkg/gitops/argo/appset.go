package argo

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Codes of findings about sets.
const (
	noGenerator = "NO_GENERATOR"
	badSelector = "BAD_SELECTOR"
	badPattern  = "BAD_PATTERN"
)

// ApplicationSet reads an ApplicationSet.
func ApplicationSet(from *document.Decoder, v yamldoc.Value) *appset.Set {
	d := decoder{Decoder: from}
	s := &appset.Set{}
	d.object(v, KindApplicationSet, &s.Meta, document.Keys{"spec": whole(d, &s.Spec, setSpec)})
	return s
}

// open says whether a text is one that parameters are yet to be put into.
func (d decoder) open(text string) bool { return d.template && strings.Contains(text, "{{") }

func setSpec(d decoder, v yamldoc.Value) appset.Spec {
	var s appset.Spec
	d.Fields(v, document.Keys{
		"goTemplate": d.flag(&s.GoTemplate),
		"goTemplateOptions": func(v yamldoc.Value) {
			d.words(&s.GoTemplateOptions)(v)
			for item := range document.Literals(v) {
				word, ok := strings.CutPrefix(item.Node.Value, "missingkey=")
				if words := []string{"default", "invalid", "zero", "error"}; !ok || !slices.Contains(words, word) {
					d.Errorf(item, document.WrongValue, "found %q; want missingkey=error, missingkey=zero, missingkey=invalid or missingkey=default", yamldoc.Shorten(item.Node.Value))
				}
			}
		},
		"generators": list(d, &s.Generators, func(d decoder, v yamldoc.Value) appset.Generator { return generator(d, v, 0) }),
		"template": func(v yamldoc.Value) {
			s.Template = template(d, v)
			d.Need(v, "metadata", "spec")
		},
		"templatePatch": func(v yamldoc.Value) {
			if f := d.String(v); f.Set {
				s.TemplatePatch = &f.Value
			}
		},
		"syncPolicy": part(d, &s.SyncPolicy, func(d decoder, v yamldoc.Value) appset.SyncPolicy {
			var p appset.SyncPolicy
			d.Fields(v, document.Keys{
				"preserveResourcesOnDeletion": d.flag(&p.PreserveResourcesOnDeletion),
				"applicationsSync": func(v yamldoc.Value) {
					p.ApplicationsSync = d.Enum(v, appset.CreateOnly, appset.CreateUpdate, appset.CreateDelete, appset.SyncAll).Value
				},
			})
			return p
		}),
		"strategy": part(d, &s.Strategy, strategy),
		"preservedFields": part(d, &s.Preserved, func(d decoder, v yamldoc.Value) appset.Preserved {
			var p appset.Preserved
			d.Fields(v, document.Keys{"annotations": d.words(&p.Annotations), "labels": d.words(&p.Labels)})
			return p
		}),
		"ignoreApplicationDifferences": list(d, &s.IgnoreDifferences, func(d decoder, v yamldoc.Value) appset.IgnoreRule {
			var r appset.IgnoreRule
			var paths gitops.IgnoreRule
			keys := ignoredPaths(d, &paths)
			delete(keys, "managedFieldsManagers")
			d.Fields(v, document.Merge(keys, document.Keys{"name": d.text(&r.Name)}))
			r.JSONPointers, r.JQPathExpressions = paths.JSONPointers, paths.JQPathExpressions
			return r
		}),
		"applyNestedSelectors": func(v yamldoc.Value) {
			if f := d.Bool(v); f.Set && !f.Value {
				d.Warnf(v, otherwise, "selectors of generators in generators always apply")
			}
		},
	})
	d.Need(v, "generators", "template")
	if n := v.Node.Get("generators"); v.Is(yamldoc.Mapping) && n != nil && len(n.Items) == 0 {
		d.Errorf(document.Child(v, "generators"), noGenerator, "there is no generator; want at least one, such as list")
	}
	return s
}

func strategy(d decoder, v yamldoc.Value) appset.Strategy {
	var s appset.Strategy
	var kind yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"type":          func(v yamldoc.Value) { kind = d.Enum(v, "AllAtOnce", "RollingSync") },
		"rollingSync":   part(d, &s.RollingSync, rollingSync),
		"deletionOrder": func(v yamldoc.Value) { s.DeletionOrder = d.Enum(v, "AllAtOnce", appset.DeleteReverse).Value },
	})
	s.Type = kind.Value
	switch {
	case s.Type == "RollingSync" && s.RollingSync == nil:
		d.Need(v, "rollingSync")
	case s.Type != "RollingSync" && s.RollingSync != nil:
		d.Errorf(document.Child(v, "rollingSync"), document.WrongValue, "its steps count for the type RollingSync alone; want type: RollingSync beside them")
	case s.Type != "RollingSync" && s.DeletionOrder == appset.DeleteReverse:
		d.Warnf(document.Child(v, "deletionOrder"), otherwise, "it has no effect, as there are no steps; it is for the type RollingSync")
	}
	return s
}

// rollingSync reads steps, of which each application is in the first that takes it.
func rollingSync(d decoder, v yamldoc.Value) appset.RollingSync {
	var r appset.RollingSync
	d.Fields(v, document.Keys{"steps": list(d, &r.Steps, func(d decoder, v yamldoc.Value) appset.RollingStep {
		var s appset.RollingStep
		d.Fields(v, document.Keys{
			"matchExpressions": list(d, &s.MatchExpressions, func(d decoder, v yamldoc.Value) appset.Requirement {
				var r appset.Requirement
				d.Fields(v, document.Keys{
					"key": d.text(&r.Key), "operator": func(v yamldoc.Value) { r.Operator = d.Enum(v, "In", "NotIn").Value }, "values": d.words(&r.Values),
				})
				d.Need(v, "key", "operator", "values")
				return r
			}),
			"maxUpdate": func(v yamldoc.Value) {
				f := d.String(v)
				n, err := strconv.Atoi(strings.TrimSuffix(f.Value, "%"))
				if err != nil || n < 1 || strings.HasSuffix(f.Value, "%") && n > 100 {
					d.Errorf(v, document.WrongValue, "found %q; want a number of applications from 1 on, or a percentage such as 25%%", yamldoc.Shorten(f.Value))
					return
				}
				s.MaxUpdate, _ = json.Marshal(f.Value) // a text always can be
			},
		})
		return s
	})})
	d.Need(v, "steps")
	return r
}

// template reads a template, of which a generator may say a part.
func template(d decoder, v yamldoc.Value) appset.Template {
	var t appset.Template
	d.template = true
	d.Fields(v, document.Keys{"metadata": whole(d, &t.Meta, templateMetadata), "spec": whole(d, &t.Spec, applicationSpec)})
	return t
}

func templateMetadata(d decoder, v yamldoc.Value) gitops.Meta {
	var m gitops.Meta
	d.Named(v, "gitopsTemplateMetadata")
	d.Fields(v, document.Keys{
		"name": d.text(&m.Name), "labels": d.texts(&m.Labels), "annotations": d.texts(&m.Annotations), "finalizers": d.words(&m.Finalizers),
		"namespace": d.Idle("applications of a set are in its namespace", d.Text(nil)),
	})
	return m
}

// generators are the names of all, in the order in which people are told.
func generators() []string {
	return []string{"list", "clusters", "git", "matrix", "merge", "scmProvider", "pullRequest", "clusterDecisionResource", "plugin"}
}

// generator reads one that stands in so many others.
func generator(d decoder, v yamldoc.Value, depth int) appset.Generator {
	var g appset.Generator
	keys := document.Keys{
		"list": part(d, &g.List, func(d decoder, v yamldoc.Value) appset.List {
			var l appset.List
			d.Fields(v, document.Keys{
				"elements": list(d, &l.Elements, func(d decoder, v yamldoc.Value) json.RawMessage {
					var element json.RawMessage
					d.raw(&element)(v)
					for range d.Mapping(v) { // its keys are anybody's
						continue
					}
					return element
				}),
				"elementsYaml": d.text(&l.ElementsYaml), "template": d.ofGenerator(&l.Template, depth),
			})
			return l
		}),
		"clusters": part(d, &g.Clusters, func(d decoder, v yamldoc.Value) appset.Clusters {
			var c appset.Clusters
			d.Fields(v, document.Keys{
				"selector": whole(d, &c.Selector, selector), "values": d.texts(&c.Values), "flatList": d.flag(&c.FlatList), "template": d.ofGenerator(&c.Template, depth),
			})
			return c
		}),
		"git":                     part(d, &g.Git, func(d decoder, v yamldoc.Value) appset.Git { return gitGenerator(d, v, depth) }),
		"selector":                part(d, &g.Selector, selector),
		"scmProvider":             part(d, &g.SCMProvider, func(d decoder, v yamldoc.Value) appset.SCMProvider { return scmProvider(d, v, depth) }),
		"pullRequest":             part(d, &g.PullRequests, func(d decoder, v yamldoc.Value) appset.PullRequests { return pullRequests(d, v, depth) }),
		"clusterDecisionResource": part(d, &g.Decisions, func(d decoder, v yamldoc.Value) appset.Decisions { return decisions(d, v, depth) }),
		"plugin":                  part(d, &g.Plugin, func(d decoder, v yamldoc.Value) appset.Plugin { return pluginGenerator(d, v, depth) }),
		"matrix": func(v yamldoc.Value) {
			m := &appset.Matrix{}
			d.nested(v, depth, &m.Generators, document.Keys{"template": d.ofGenerator(&m.Template, depth)})
			if n := len(m.Generators); v.Is(yamldoc.Mapping) && n != 2 {
				d.Errorf(v, document.WrongValue, "found %d generators; a matrix has 2", n)
			}
			g.Matrix = m
		},
		"merge": func(v yamldoc.Value) {
			m := &appset.Merge{}
			d.nested(v, depth, &m.Generators, document.Keys{"template": d.ofGenerator(&m.Template, depth), "mergeKeys": d.words(&m.MergeKeys)})
			d.Need(v, "mergeKeys")
			if n := len(m.Generators); v.Is(yamldoc.Mapping) && n < 2 {
				d.Errorf(v, document.WrongValue, "found %d generators; want at least 2 to merge", n)
			}
			if keys := v.Node.Get("mergeKeys"); keys != nil && len(m.MergeKeys) == 0 {
				d.Errorf(document.Child(v, "mergeKeys"), document.WrongValue, "there is no key; want at least one parameter by which sets are the same")
			}
			g.Merge = m
		},
	}
	if depth > 0 {
		d.Named(v, "gitopsNestedGenerator")
	}
	if depth > 1 {
		const twice = "matrix and merge may stand in one another once"
		keys["matrix"], keys["merge"] = d.Elsewhere(document.MisplacedKey, twice), d.Elsewhere(document.MisplacedKey, twice)
		d.Named(v, "gitopsInnermostGenerator")
	}
	d.Takes(v, yamldoc.UseOneOf, generators()...)
	d.Fields(v, keys)
	d.one(v)
	return g
}

// one reports a generator that isn't of exactly one kind.
func (d decoder) one(v yamldoc.Value) {
	if !v.Is(yamldoc.Mapping) {
		return
	}
	var found []string
	for _, kind := range generators() {
		n := v.Node.Get(kind)
		if n != nil && !yamldoc.Sub(n, "").Null() {
			found = append(found, kind)
		}
	}
	switch {
	case len(found) == 0:
		d.Errorf(v, noGenerator, "the generator has no kind; want %s", document.Choice(generators()))
	case len(found) > 1:
		d.Errorf(document.Child(v, found[1]), document.Ambiguous, "found %s; a generator has one kind: write each as an item of its own", strings.Join(found, " and "))
	}
}

// nested reads what generators have that stand in one.
func (d decoder) nested(v yamldoc.Value, depth int, to *[]appset.Generator, more document.Keys) {
	d.Fields(v, document.Merge(more, document.Keys{
		"generators": list(d, to, func(d decoder, v yamldoc.Value) appset.Generator { return generator(d, v, depth+1) }),
	}))
	d.Need(v, "generators")
}

// ofGenerator reads the template of a generator, which counts only if it stands in no
// other.
func (d decoder) ofGenerator(to *appset.Template, depth int) document.Rule {
	return func(v yamldoc.Value) {
		*to = template(d, v)
		if depth > 0 && !document.Neutral(v.Node) {
			d.Warnf(v, otherwise, "the template of a generator in a generator has no effect")
		}
	}
}

func gitGenerator(d decoder, v yamldoc.Value, depth int) appset.Git {
	var g appset.Git
	patterns := func(to *[]appset.GitPattern, check func(string) bool) document.Rule {
		return list(d, to, func(d decoder, v yamldoc.Value) appset.GitPattern {
			var p appset.GitPattern
			d.Fields(v, document.Keys{"path": d.text(&p.Path), "exclude": d.flag(&p.Exclude)})
			d.Need(v, "path")
			if !strings.Contains(p.Path, "{{") && !check(p.Path) {
				d.Errorf(document.Child(v, "path"), badPattern, "%q isn't a pattern of paths", yamldoc.Shorten(p.Path))
			}
			return p
		})
	}
	d.Fields(v, document.Keys{
		"repoURL": d.text(&g.RepoURL), "revision": d.text(&g.Revision), "pathParamPrefix": d.text(&g.PathParamPrefix), "values": d.texts(&g.Values),
		"directories":         patterns(&g.Directories, func(p string) bool { _, err := path.Match(p, ""); return err == nil }),
		"files":               patterns(&g.Files, doublestar.ValidatePattern),
		"requeueAfterSeconds": d.requeue(&g.RequeueAfterSeconds),
		"template":            d.ofGenerator(&g.Template, depth),
	})
	d.Need(v, "repoURL")
	switch {
	case !v.Is(yamldoc.Mapping):
	case len(g.Directories) == 0 && len(g.Files) == 0:
		d.Errorf(v, noGenerator, "it has neither directories nor files; want one of them")
	case len(g.Directories) > 0 && len(g.Files) > 0:
		d.Errorf(document.Child(v, "files"), document.Ambiguous, "found directories and files; a git generator has one of them")
	}
	return g
}

// requeue reads how often a generator is asked again.
func (d decoder) requeue(to **int64) document.Rule {
	return func(v yamldoc.Value) {
		f := d.Int(v)
		if f.Set {
			n := int64(f.Value)
			*to = &n
		}
		if f.Value < 0 {
			d.Errorf(v, document.WrongValue, "found %d; want a number of seconds, or 0 for what is usual", f.Value)
		}
	}
}

func selector(d decoder, v yamldoc.Value) appset.Selector {
	var s appset.Selector
	d.Named(v, "gitopsSelector")
	d.Fields(v, document.Keys{
		"matchLabels": d.texts(&s.MatchLabels),
		"matchExpressions": list(d, &s.MatchExpressions, func(d decoder, v yamldoc.Value) appset.Requirement {
			var r appset.Requirement
			d.Fields(v, document.Keys{"key": d.text(&r.Key), "operator": d.text(&r.Operator), "values": d.words(&r.Values)})
			d.Need(v, "key", "operator")
			one := appset.Selector{MatchExpressions: []appset.Requirement{r}}
			if err := one.Check(); err != nil && r.Operator != "" && !strings.Contains(r.Operator, "{{") {
				d.Errorf(v, badSelector, "%v", err)
			}
			return r
		}),
	})
	return s
}

// NamedSet is the name of a set in either notation, and its agent if the document says
// it; "" where there is none.
func NamedSet(doc *yamldoc.Node) (name, agent string) {
	object := doc
	if envelope := object.Get("gitopsApplicationSet"); envelope != nil {
		object, agent = envelope.Get("appset"), envelope.Text("agentIdentifier")
	}
	if object == nil {
		return "", agent
	}
	if n := object.At("metadata", "name"); n != nil {
		name = n.Value
	}
	return name, cmp.Or(agent, Agent(object))
}
