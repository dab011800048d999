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
		"syncWindows": list(d, &s.SyncWindows, syncWindow),
		"signatureKeys": list(d, &s.SignatureKeys, func(d decoder, v yamldoc.Value) gitops.SignatureKey {
			var k gitops.SignatureKey
			d.Fields(v, document.Keys{"keyID": d.signer(&k.KeyID)})
			d.Need(v, "keyID")
			return k
		}),
		"sourceNamespaces": d.words(&s.SourceNamespaces), "permitOnlyProjectScopedClusters": d.flag(&s.PermitOnlyProjectScopedClusters),
		"destinationServiceAccounts": list(d, &s.DestinationServiceAccounts, destinationAccount),
		"sourceIntegrity": part(d, &s.SourceIntegrity, func(d decoder, v yamldoc.Value) gitops.SourceIntegrity {
			var i gitops.SourceIntegrity
			d.Fields(v, document.Keys{"git": part(d, &i.Git, func(d decoder, v yamldoc.Value) gitops.GitIntegrity {
				var g gitops.GitIntegrity
				d.Fields(v, document.Keys{"policies": list(d, &g.Policies, gitPolicy)})
				return g
			})})
			return i
		}),
	})
	if i := s.SourceIntegrity; len(s.SignatureKeys) > 0 && i != nil && i.Git != nil {
		d.Warnf(document.Child(v, "signatureKeys"), otherwise, "they have no effect beside sourceIntegrity.git")
	}
	return s
}

// signer reads the id of a key: of its fingerprint, as of its id, the last 16 digits count.
func (d decoder) signer(to *string) document.Rule {
	return func(v yamldoc.Value) {
		id := strings.ToUpper(strings.TrimPrefix(d.String(v).Value, "0x"))
		if n := len(id); n == fingerprint {
			id = id[n-16:]
		}
		if *to = id; !keyID.MatchString(id) {
			d.Errorf(v, document.WrongValue, "found the key %q; want the 16 hexadecimal digits of its id", yamldoc.Shorten(id))
		}
	}
}

// fingerprint is how many hexadecimal digits a key's has.
const fingerprint = 40

func gitPolicy(d decoder, v yamldoc.Value) gitops.GitPolicy {
	var p gitops.GitPolicy
	d.Fields(v, document.Keys{
		"repos": list(d, &p.Repos, func(d decoder, v yamldoc.Value) gitops.RepoPattern {
			var r gitops.RepoPattern
			d.Fields(v, document.Keys{"url": d.text(&r.URL)})
			d.Need(v, "url")
			return r
		}),
		"gpg": func(v yamldoc.Value) {
			var mode yamldoc.Field[string]
			d.Fields(v, document.Keys{
				"mode": d.Supported(&mode, "mode", []string{gitops.SignedNone, gitops.SignedHead}, "strict"),
				"keys": list(d, &p.GPG.Keys, func(d decoder, v yamldoc.Value) string {
					var id string
					d.signer(&id)(v)
					return id
				}),
			})
			d.Need(v, "mode")
			if p.GPG.Mode = mode.Value; p.GPG.Mode == gitops.SignedHead && len(p.GPG.Keys) == 0 {
				d.Need(v, "keys")
			}
		},
	})
	d.Need(v, "repos", "gpg")
	return p
}

func destinationAccount(d decoder, v yamldoc.Value) gitops.DestinationAccount {
	var a gitops.DestinationAccount
	d.Fields(v, document.Keys{"server": d.text(&a.Server), "namespace": d.text(&a.Namespace), "defaultServiceAccount": d.text(&a.Account)})
	d.Need(v, "server", "defaultServiceAccount")
	if in, name, ok := strings.Cut(a.Account, ":"); strings.ContainsAny(a.Account, "*!/") || ok && (in == "" || name == "" || strings.Contains(name, ":")) {
		d.Errorf(document.Child(v, "defaultServiceAccount"), document.WrongValue, "found %q; want the name of a service account, or its namespace and its name, as web:deployer", yamldoc.Shorten(a.Account))
	}
	return a
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
