package argo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gobwas/glob"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/rules"
	"github.com/slipway-cd/slipway/pkg/gitops/window"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// AppProject reads an AppProject.
func AppProject(from *document.Decoder, v yamldoc.Value) *gitops.Project {
	d := decoder{Decoder: from}
	p := &gitops.Project{}
	d.object(v, KindAppProject, &p.Meta, document.Keys{"spec": whole(d, &p.Spec, projectSpec)})
	if _, err := rules.Read(*p); err != nil {
		d.rule(document.Child(v, "spec"), err)
	}
	return p
}

// rule reports an error that begins with the field that it is about, such as
// destinations[0].name.
func (d decoder) rule(v yamldoc.Value, err error) {
	field, message, _ := strings.Cut(err.Error(), ": ")
	for part := range strings.SplitSeq(field, ".") {
		name, index, _ := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		v = document.Child(v, name)
		if i, err := strconv.Atoi(index); err == nil && v.Is(yamldoc.Sequence) && i < len(v.Node.Items) {
			v = yamldoc.Sub(v.Node.Items[i], fmt.Sprintf("%s[%d]", v.Path, i))
		}
	}
	d.Errorf(v, badRule, "%s", message)
}

// glob reads a pattern of file names.
func (d decoder) glob(to *string) document.Rule {
	return func(v yamldoc.Value) {
		*to = d.String(v).Value
		if _, err := glob.Compile(*to); err != nil && !d.open(*to) {
			d.Errorf(v, badRule, "%q isn't a pattern: %v", yamldoc.Shorten(*to), err)
		}
	}
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func projectSpec(d decoder, v yamldoc.Value) gitops.ProjectSpec {
	var s gitops.ProjectSpec
	d.Fields(v, document.Keys{
		"sourceRepos": d.words(&s.SourceRepos), "destinations": list(d, &s.Destinations, place), "description": d.text(&s.Description),
		"roles":                    list(d, &s.Roles, role),
		"clusterResourceWhitelist": list(d, &s.ClusterResourceWhitelist, kindPattern), "clusterResourceBlacklist": list(d, &s.ClusterResourceBlacklist, kindPattern),
		"namespaceResourceWhitelist": list(d, &s.NamespaceResourceWhitelist, kindPattern), "namespaceResourceBlacklist": list(d, &s.NamespaceResourceBlacklist, kindPattern),
		"orphanedResources": part(d, &s.OrphanedResources, func(d decoder, v yamldoc.Value) gitops.OrphanedResources {
			var o gitops.OrphanedResources
			d.Fields(v, document.Keys{"warn": d.maybe(&o.Warn), "ignore": list(d, &o.Ignore, kindPattern)})
			return o
		}),
		"syncWindows":      list(d, &s.SyncWindows, syncWindow),
		"signatureKeys":    d.Refuse("keys that commits are to be signed with (signatureKeys) aren't supported"),
		"sourceNamespaces": d.words(&s.SourceNamespaces), "permitOnlyProjectScopedClusters": d.flag(&s.PermitOnlyProjectScopedClusters),
		"destinationServiceAccounts": d.Refuse("accounts of their own for destinations (destinationServiceAccounts) aren't supported"),
		"sourceIntegrity":            d.Refuse("rules for signatures of sources (sourceIntegrity) aren't supported"),
	})
	return s
}

func role(d decoder, v yamldoc.Value) gitops.ProjectRole {
	var r gitops.ProjectRole
	d.Fields(v, document.Keys{
		"name": d.text(&r.Name), "description": d.text(&r.Description), "policies": d.words(&r.Policies), "groups": d.words(&r.Groups),
		"jwtTokens": func(v yamldoc.Value) {
			list(d, &r.JWTTokens, func(d decoder, v yamldoc.Value) gitops.JWTToken {
				var t gitops.JWTToken
				d.Fields(v, document.Keys{"iat": d.number(&t.IssuedAt), "exp": d.number(&t.ExpiresAt), "id": d.text(&t.ID)})
				return t
			})(v)
			if len(r.JWTTokens) > 0 {
				d.Warnf(v, otherwise, "tokens of an Argo CD server mean nothing here")
			}
		},
	})
	d.Need(v, "name")
	if len(r.Policies)+len(r.Groups) > 0 {
		d.Warnf(v, otherwise, "who may do what is said by Slipway's own access; the policies and groups of this role have no effect yet")
	}
	return r
}

func kindPattern(d decoder, v yamldoc.Value) gitops.KindPattern {
	var k gitops.KindPattern
	d.Named(v, "gitopsKindPattern")
	d.Fields(v, document.Keys{"group": d.text(&k.Group), "kind": d.text(&k.Kind), "name": d.text(&k.Name)})
	return k
}

func syncWindow(d decoder, v yamldoc.Value) gitops.SyncWindow {
	var w gitops.SyncWindow
	d.Fields(v, document.Keys{
		"kind":     func(v yamldoc.Value) { w.Kind = d.Enum(v, "allow", "deny").Value },
		"schedule": d.text(&w.Schedule), "duration": func(v yamldoc.Value) {
			w.Duration = d.String(v).Value
			if t, err := time.ParseDuration(w.Duration); err != nil || t <= 0 {
				d.Errorf(v, document.WrongValue, "found %q; want a duration such as 30m or 1h30m", yamldoc.Shorten(w.Duration))
			}
		},
		"applications": d.words(&w.Applications), "namespaces": d.words(&w.Namespaces), "clusters": d.words(&w.Clusters),
		"manualSync": d.flag(&w.ManualSync), "andOperator": d.flag(&w.UseAndOperator), "syncOverrun": d.flag(&w.SyncOverrun), "description": d.text(&w.Description),
		"timeZone": func(v yamldoc.Value) {
			w.TimeZone = d.String(v).Value
			if _, err := time.LoadLocation(w.TimeZone); err != nil || w.TimeZone == "Local" {
				d.Errorf(v, document.WrongValue, "found %q; want a time zone such as Europe/Berlin", yamldoc.Shorten(w.TimeZone))
			}
		},
	})
	d.Need(v, "kind", "schedule", "duration")
	if w.Schedule != "" && !d.Watched() {
		rest := w // without what has been looked at
		rest.Kind, rest.Duration, rest.TimeZone = window.Allow, "1h", ""
		if _, err := window.Read(rest); err != nil {
			d.rule(v, err)
		}
	}
	return w
}
