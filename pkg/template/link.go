package template

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// link is a link to a template (semantics/pipeline §9.2).
type link struct {
	at        yamldoc.Value // of templateRef
	name      ref.Ref
	label     string
	inputs    *yamldoc.Node
	overrides *yamldoc.Node
}

// linked says whether a node is to be made of a template.
func linked(n *yamldoc.Node) bool {
	l := n.Get("template")
	return l != nil && l.Kind == yamldoc.Mapping
}

// link reads a node's link; false if it can't be followed. Why is reported, as
// far as pkg/entity doesn't say it.
// A name without a prefix is one of the scope that the link was written in.
func (r *resolver) link(v yamldoc.Value, from ref.Scope) (link, bool) {
	var l link
	ok := true
	fail := func(e yamldoc.Value, format string, args ...any) {
		r.report.Errorf(e, badLink, format, args...)
		ok = false
	}
	for e := range r.report.Mapping(v) {
		switch e.Key {
		case "templateRef":
			l.at = e
			if name, err := ref.Parse(textOf(e.Node), from); err != nil {
				fail(e, "template %s", err)
			} else {
				l.name = name
			}
		case "versionLabel":
			if l.label = textOf(e.Node); l.label == "" {
				continue
			}
			if err := ref.CheckLabel(l.label); err != nil || strings.Contains(l.label, "<+") {
				fail(e, "found the version label %q; want one that a template can have, or none for the stable version", l.label)
			}
		case "label":
			if pinned := textOf(v.Node.Get("versionLabel")) != ""; !pinned && !strings.EqualFold(textOf(e.Node), "stable") {
				r.report.Unsupported(e, "labels that point to a version aren't supported yet, but for stable; want versionLabel")
				ok = false
			}
		case "templateInputs":
			l.inputs = e.Node
		case "templateOverrides":
			l.overrides = e.Node
		case "templateVariables":
			if !e.Null() && len(e.Node.Entries) > 0 {
				r.report.Unsupported(e, "values for the variables of a template (templateVariables) aren't supported yet")
				ok = false
			}
		case "gitBranch":
			if textOf(e.Node) != "" {
				r.report.Warnf(e.AtKey(), noEffect, "gitBranch has no effect here: templates are kept by Slipway and not read from a branch; apply those of the branch that is meant")
			}
		}
	}
	return l, ok && l.at.Node != nil
}

// followed says whether a key of a link is done with when the link has been
// followed. The others stay for pkg/entity to look at.
func followed(key string) bool {
	switch key {
	case "versionLabel", "label", "gitBranch", "templateInputs", "templateOverrides", "templateVariables":
		return true
	}
	return false
}

// own are the keys that a node has for itself beside a link, and those that
// the schema doesn't know there but Harness honours (semantics/pipeline §9.3
// (4)).
func own(k Kind) (own, honoured []string) {
	switch k {
	case Step:
		return []string{"identifier", "name", "description"}, []string{"when", "strategy", "failureStrategies", "timeout", "delegateSelectors", "enforce"}
	case Stage:
		return []string{"identifier", "name", "description", "tags"}, []string{
			"when", "strategy", "failureStrategies", "timeout", "delegateSelectors", "runMode", "skipInstances",
		}
	case StepGroup:
		return []string{"identifier", "name", "description"}, []string{"when", "strategy", "failureStrategies", "delegateSelectors"}
	case Pipeline:
		return []string{
			"identifier", "name", "description", "tags", "orgIdentifier", "projectIdentifier", "notificationRules",
		}, nil
	case ArtifactSource:
		return []string{"identifier", "name", "metadata"}, nil
	case Notification:
		return []string{"identifier", "name", "description", "enabled", "pipelineEvents", "notificationMethod"}, nil
	case CustomDeployment, SecretManager, MonitoredService, Workspace:
	}
	return nil, nil
}

// beside are the entries that a node keeps beside its link.
func (r *resolver) beside(v yamldoc.Value, k Kind) []yamldoc.Entry {
	mine, honoured := own(k)
	var kept []yamldoc.Entry
	for e := range r.report.Mapping(v) {
		switch {
		case e.Key == "template":
			continue
		case slices.Contains(mine, e.Key):
		case slices.Contains(honoured, e.Key):
			r.report.Warnf(e.AtKey(), besideLink, "%q stands beside a link to a template; it replaces the template's, but templateOverrides is the documented place", e.Key)
		default:
			r.report.Errorf(e.AtKey(), besideLink, "%q stands beside a link to a template; it is the template's to say", e.Key)
			continue
		}
		pos := e.KeyPos(r.report)
		kept = append(kept, yamldoc.Entry{Key: e.Key, Line: pos.Line, Column: pos.Column, Value: e.Node})
	}
	return kept
}

func textOf(n *yamldoc.Node) string {
	if n == nil || n.Kind != yamldoc.Scalar {
		return ""
	}
	return n.Value
}
