package argo

import (
	"maps"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// AppProject reads an AppProject.
func AppProject(from *document.Decoder, v yamldoc.Value) *gitops.Project {
	d := decoder{from}
	p := &gitops.Project{}
	d.object(v, KindAppProject, &p.Meta, document.Keys{"spec": whole(d, &p.Spec, projectSpec)})
	return p
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
		"syncWindows": list(d, &s.SyncWindows, syncWindow),
		"signatureKeys": list(d, &s.SignatureKeys, func(d decoder, v yamldoc.Value) gitops.SignatureKey {
			var k gitops.SignatureKey
			d.Fields(v, document.Keys{"keyID": d.text(&k.KeyID)})
			d.Need(v, "keyID")
			return k
		}),
		"sourceNamespaces": d.words(&s.SourceNamespaces), "permitOnlyProjectScopedClusters": d.flag(&s.PermitOnlyProjectScopedClusters),
		"destinationServiceAccounts": list(d, &s.DestinationServiceAccounts, func(d decoder, v yamldoc.Value) gitops.DestinationAccount {
			var a gitops.DestinationAccount
			d.Fields(v, document.Keys{"server": d.text(&a.Server), "namespace": d.text(&a.Namespace), "defaultServiceAccount": d.text(&a.DefaultServiceAccount)})
			d.Need(v, "server", "defaultServiceAccount")
			return a
		}),
		"sourceIntegrity": d.Refuse("rules for signatures of sources (sourceIntegrity) aren't supported; signatureKeys are"),
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
		"schedule": d.text(&w.Schedule), "duration": d.duration(&w.Duration),
		"applications": d.words(&w.Applications), "namespaces": d.words(&w.Namespaces), "clusters": d.words(&w.Clusters),
		"manualSync": d.flag(&w.ManualSync), "andOperator": d.flag(&w.UseAndOperator), "syncOverrun": d.flag(&w.SyncOverrun), "description": d.text(&w.Description),
		"timeZone": func(v yamldoc.Value) {
			w.TimeZone = d.String(v).Value
			if _, err := time.LoadLocation(w.TimeZone); err != nil {
				d.Errorf(v, document.WrongValue, "found %q; want a time zone such as Europe/Berlin", yamldoc.Shorten(w.TimeZone))
			}
		},
	})
	d.Need(v, "kind", "schedule", "duration")
	return w
}
