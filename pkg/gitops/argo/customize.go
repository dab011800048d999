package argo

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/settings"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ReadSettings reads what an agent goes by. It was checked when it was saved: what is
// wrong says nothing.
func ReadSettings(data map[string]string) settings.Settings {
	_, report := yamldoc.Parse("", nil)
	d := decoder{Decoder: document.New(report.Resolved())}
	var out settings.Settings
	for _, key := range slices.Sorted(maps.Keys(data)) {
		d.setting(yamldoc.Sub(nil, key), key, data[key], &out)
	}
	return out
}

// The beginning of the keys by which kinds are treated.
const customizations = "resource.customizations"

// genericHealth is a key of our own.
const genericHealth = "health.generic"

// honoured are the settings by which agents go.
func honoured() []string {
	return []string{
		customizations, customizations + ".", "resource.compareoptions", "resource.exclusions", "resource.inclusions", "timeout.reconciliation", "timeout.reconciliation.jitter",
		"cluster.inClusterEnabled", "application.sync.impersonation.enabled", "application.sync.impersonation.enforced", "controller.ignore.normalizer.jq.timeout", "ignore.normalizer.jq.timeout", "controller.diff.server.side",
		"applicationsetcontroller.enable.progressive.syncs", "resource.ignoreResourceUpdatesEnabled", genericHealth,
	}
}

// setting reads one. What is wrong is told at its key.
func (d decoder) setting(v yamldoc.Value, key, text string, to *settings.Settings) {
	duration := func(to **time.Duration) {
		if text == "" {
			return
		}
		took, err := time.ParseDuration(text)
		if err != nil || took < 0 {
			d.Errorf(v, document.WrongValue, "found %q; want a duration such as 120s", yamldoc.Shorten(text))
			return
		}
		*to = &took
	}
	flag := func(only bool, why string) {
		if text != "" && text != "true" && text != "false" {
			d.Errorf(v, document.WrongValue, "found %q; want true or false", yamldoc.Shorten(text))
		}
		if only && text == "false" {
			d.Warnf(v, document.NoEffect, "%s", why)
		}
	}
	switch key {
	case customizations:
		d.inside(v, text, func(d decoder, v yamldoc.Value) {
			for e := range d.Mapping(v) {
				group, kind, grouped := strings.Cut(e.Key, "/")
				if !grouped {
					group, kind = "", e.Key
				}
				d.customization(e, group, kind, to)
			}
		})
	case "resource.compareoptions":
		d.inside(v, text, func(d decoder, v yamldoc.Value) { d.compareOptions(v, to) })
	case "resource.exclusions":
		d.inside(v, text, func(d decoder, v yamldoc.Value) { list(d, &to.Exclusions, filter)(v) })
	case "resource.inclusions":
		d.inside(v, text, func(d decoder, v yamldoc.Value) { list(d, &to.Inclusions, filter)(v) })
	case "timeout.reconciliation":
		duration(&to.Poll)
	case "timeout.reconciliation.jitter":
		duration(&to.PollJitter)
	case "controller.ignore.normalizer.jq.timeout", "ignore.normalizer.jq.timeout":
		var took *time.Duration
		if duration(&took); took != nil {
			to.JQTimeout = *took
		}
	case "cluster.inClusterEnabled":
		flag(false, "")
		to.NoHome = text == "false"
	case "application.sync.impersonation.enabled":
		flag(false, "")
		to.Accounts = text == "true"
	case "application.sync.impersonation.enforced":
		flag(false, "")
		to.OwnWithout = text == "false"
	case genericHealth:
		flag(false, "")
		to.NoGenericHealth = text == "false"
	case "controller.diff.server.side":
		flag(true, "comparisons are always by a dry run of the server's")
	case "applicationsetcontroller.enable.progressive.syncs":
		flag(true, "strategies of ApplicationSets are always gone by")
	case "resource.ignoreResourceUpdatesEnabled":
		flag(false, "") // an agent hears of nothing but what it has set
	default:
		if rest, ok := strings.CutPrefix(key, customizations+"."); ok {
			d.customizationKey(v, rest, text, to)
		}
	}
}

// inside reads a text that is YAML itself. What is wrong in it is told where it stands.
func (d decoder) inside(v yamldoc.Value, text string, read func(decoder, yamldoc.Value)) {
	docs, report := yamldoc.Parse("", []byte(text))
	if len(docs) == 1 && !report.Failed() {
		read(decoder{Decoder: document.New(report.Resolved())}, yamldoc.Sub(docs[0], ""))
	} else if len(docs) > 1 {
		d.Errorf(v, document.WrongValue, "found %d documents in the text; want one", len(docs))
	}
	for _, f := range report.Findings() {
		say := d.Warnf
		if f.Severity == yamldoc.Error {
			say = d.Errorf
		}
		where := f.Path
		if where != "" {
			where += ": "
		}
		say(v, f.Code, "line %d of the text: %s%s", f.Line, where, f.Message)
	}
}

// said finds or adds what is said of kinds by a pattern.
func said(to *settings.Settings, group, kind string) *settings.Kind {
	for i := range to.Kinds {
		if k := &to.Kinds[i]; k.Group == group && k.Kind == kind {
			return k
		}
	}
	to.Kinds = append(to.Kinds, settings.Kind{Group: group, Kind: kind})
	return &to.Kinds[len(to.Kinds)-1]
}

// withoutLibraries says why a script is run without Lua's libraries.
const withoutLibraries = "scripts have base, table, string, math and the clock of os; there are no other libraries"

// customization reads all that is said of one kind.
func (d decoder) customization(v yamldoc.Value, group, kind string, to *settings.Settings) {
	d.patterns(v, group, kind)
	k := said(to, group, kind)
	d.Fields(v, document.Keys{
		"health.lua": d.text(&k.Health),
		"health.lua.useOpenLibs": func(v yamldoc.Value) {
			if d.Bool(v).Value {
				d.Warnf(v, document.NoEffect, withoutLibraries)
			}
		},
		"actions": func(v yamldoc.Value) {
			d.inside(v, d.String(v).Value, func(d decoder, v yamldoc.Value) { k.Actions = d.actions(v) })
		},
		"ignoreDifferences":     func(v yamldoc.Value) { d.ignored(v, d.String(v).Value, group, kind, to) },
		"ignoreResourceUpdates": document.Nothing, // an agent hears of nothing but what it has set
		"knownTypeFields":       document.Nothing, // the server knows all of them
	})
}

// customizationKey reads what is said of a kind in one respect.
func (d decoder) customizationKey(v yamldoc.Value, key, text string, to *settings.Settings) {
	respects := []string{"health", "useOpenLibs", "actions", "ignoreDifferences", "ignoreResourceUpdates", "knownTypeFields"}
	respect, name, _ := strings.Cut(key, ".")
	if !slices.Contains(respects, respect) || name == "" {
		d.Errorf(v, document.WrongValue, "want %s.%s and a kind, such as %s.health.example.com_Widget%s", customizations, strings.Join(respects, "|"), customizations, d.Hint(respect, respects))
		return
	}
	group, kind, grouped := strings.Cut(name, "_")
	if !grouped {
		group, kind = "", name
	}
	if name == "all" && strings.HasPrefix(respect, "ignore") {
		group, kind = "*", "*"
	}
	d.patterns(v, group, kind)
	switch respect {
	case "health":
		said(to, group, kind).Health = text
	case "useOpenLibs":
		if text == "true" {
			d.Warnf(v, document.NoEffect, withoutLibraries)
		}
	case "actions":
		d.inside(v, text, func(inner decoder, v yamldoc.Value) { said(to, group, kind).Actions = inner.actions(v) })
	case "ignoreDifferences":
		d.ignored(v, text, group, kind, to)
	default: // it means nothing where no updates are heard of and the server knows all fields
	}
}

// patterns checks how kinds are chosen.
func (d decoder) patterns(v yamldoc.Value, all ...string) {
	for _, pattern := range all {
		if _, err := path.Match(pattern, ""); err != nil {
			d.Errorf(v, document.WrongValue, "%q is no pattern", yamldoc.Shorten(pattern))
		}
	}
}

func (d decoder) actions(v yamldoc.Value) *settings.Actions {
	out := &settings.Actions{}
	d.Fields(v, document.Keys{
		"discovery.lua": d.text(&out.Discovery), "mergeBuiltinActions": d.flag(&out.Builtin),
		"definitions": list(d, &out.Definitions, func(d decoder, v yamldoc.Value) settings.Action {
			var a settings.Action
			d.Fields(v, document.Keys{"name": d.text(&a.Name), "action.lua": d.text(&a.Lua)})
			d.Need(v, "name", "action.lua")
			return a
		}),
	})
	return out
}

// ignored reads the differences of a kind that don't count.
func (d decoder) ignored(v yamldoc.Value, text, group, kind string, to *settings.Settings) {
	d.inside(v, text, func(d decoder, v yamldoc.Value) {
		r := gitops.IgnoreRule{Group: group, Kind: kind}
		d.Fields(v, ignoredPaths(d, &r))
		to.Ignored = append(to.Ignored, r)
	})
}

func (d decoder) compareOptions(v yamldoc.Value, to *settings.Settings) {
	d.Fields(v, document.Keys{
		"ignoreResourceStatusField": func(v yamldoc.Value) {
			to.Status = d.String(v).Value
			switch to.Status {
			case "off", "false": // Argo CD's other words
				to.Status = "none"
			case "", "all", "crd", "none":
			default:
				d.Errorf(v, document.WrongValue, "found %q; want all, crd or none", yamldoc.Shorten(to.Status))
			}
		},
		"ignoreAggregatedRoles":              d.flag(&to.AggregatedRoles),
		"ignoreDifferencesOnResourceUpdates": document.Nothing, // of what doesn't count no agent hears
	})
}

func filter(d decoder, v yamldoc.Value) settings.Filter {
	var f settings.Filter
	globs := func(to *[]string) document.Rule {
		return func(v yamldoc.Value) {
			d.words(to)(v)
			for item := range document.Literals(v) {
				d.patterns(item, item.Node.Value)
			}
		}
	}
	d.Fields(v, document.Keys{"apiGroups": globs(&f.APIGroups), "kinds": d.words(&f.Kinds), "clusters": globs(&f.Clusters)})
	if len(f.APIGroups)+len(f.Kinds)+len(f.Clusters) == 0 {
		d.Errorf(v, document.WrongValue, "it chooses all objects; want one of apiGroups, kinds and clusters")
	}
	return f
}
