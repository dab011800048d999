package argo

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Application reads an Application.
func Application(from *document.Decoder, v yamldoc.Value) *gitops.Application {
	d := decoder{Decoder: from}
	a := &gitops.Application{}
	d.object(v, KindApplication, &a.Meta, document.Keys{
		"spec": whole(d, &a.Spec, applicationSpec), "operation": part(d, &a.Operation, operation),
	})
	return a
}

func applicationSpec(d decoder, v yamldoc.Value) gitops.ApplicationSpec {
	var s gitops.ApplicationSpec
	to := destination
	if d.template {
		d.Named(v, "gitopsTemplateSpec")
		to = place
	} else {
		d.Named(v, "gitopsApplicationSpec")
	}
	d.Fields(v, document.Keys{
		"project":     d.text(&s.Project),
		"destination": whole(d, &s.Destination, to),
		"source":      part(d, &s.Source, source),
		"sources": func(v yamldoc.Value) {
			list(d, &s.Sources, source)(v)
			d.refs(v, s.Sources)
		},
		"sourceHydrator":    d.Never("Slipway doesn't write to Git: the source hydrator isn't supported; render in a pipeline and have the application read the result"),
		"syncPolicy":        part(d, &s.SyncPolicy, syncPolicy),
		"ignoreDifferences": list(d, &s.IgnoreDifferences, ignoreRule),
		"info":              list(d, &s.Info, info),
		"revisionHistoryLimit": func(v yamldoc.Value) {
			f := d.Int(v)
			if f.Set {
				s.RevisionHistoryLimit = &f.Value
			}
			if f.Value < 0 {
				d.Errorf(v, document.WrongValue, "found %d; want a number from 0 on", f.Value)
			}
		},
	})
	if d.template {
		return s // a generator, or a patch, may bring the rest
	}
	d.Need(v, "destination")
	if v.Is(yamldoc.Mapping) && len(s.All()) == 0 && v.Node.Get("sourceHydrator") == nil {
		d.Warnf(v, noSource, "it has neither a source nor sources, so there is nothing to deploy")
	}
	return s
}

// refs reports names of sources that mean two.
func (d decoder) refs(v yamldoc.Value, all []gitops.Source) {
	if !v.Is(yamldoc.Sequence) || len(v.Node.Items) != len(all) {
		return
	}
	first := map[string]bool{}
	for i, s := range all {
		if s.Ref != "" && first[s.Ref] && !d.open(s.Ref) {
			at := yamldoc.Sub(v.Node.Items[i], v.Path)
			d.Errorf(document.Child(at, "ref"), document.DuplicateIdentifier, "the ref %q stands twice; files by $%[1]s would be of either", s.Ref)
		}
		first[s.Ref] = true
	}
}

// destination is a place to deploy to, which has one of two names.
func destination(d decoder, v yamldoc.Value) gitops.Destination {
	to := place(d, v)
	d.Takes(v, yamldoc.UseOneOf, "server", "name")
	switch {
	case !v.Is(yamldoc.Mapping):
	case to.Server != "" && to.Name != "":
		d.Errorf(document.Child(v, "name"), document.Ambiguous, "found server and name; a destination has exactly one of them")
	case to.Server == "" && to.Name == "":
		d.Errorf(v, document.MissingKey, "neither server nor name is there; want one of them, such as server: https://kubernetes.default.svc")
	}
	return to
}

func place(d decoder, v yamldoc.Value) gitops.Destination {
	var to gitops.Destination
	d.Named(v, "gitopsDestination")
	d.Fields(v, document.Keys{"server": d.text(&to.Server), "name": d.text(&to.Name), "namespace": d.text(&to.Namespace)})
	return to
}

func syncPolicy(d decoder, v yamldoc.Value) gitops.SyncPolicy {
	var p gitops.SyncPolicy
	d.Fields(v, document.Keys{
		"automated": part(d, &p.Automated, automated),
		"syncOptions": func(v yamldoc.Value) {
			d.words(&p.SyncOptions)(v)
			for item := range document.Literals(v) {
				d.syncOption(item)
			}
		},
		"retry": part(d, &p.Retry, retry),
		"managedNamespaceMetadata": part(d, &p.ManagedNamespaceMetadata, func(d decoder, v yamldoc.Value) gitops.NamespaceMetadata {
			var m gitops.NamespaceMetadata
			d.Fields(v, document.Keys{"labels": d.texts(&m.Labels), "annotations": d.texts(&m.Annotations)})
			return m
		}),
	})
	return p
}

func automated(d decoder, v yamldoc.Value) gitops.Automated {
	var a gitops.Automated
	d.Fields(v, document.Keys{"enabled": d.maybe(&a.Enabled), "prune": d.flag(&a.Prune), "selfHeal": d.flag(&a.SelfHeal), "allowEmpty": d.flag(&a.AllowEmpty)})
	return a
}

// syncOptions are the names of options, of which case says nothing: those of
// Argo CD, and what Terraform writes for them.
func syncOptions() []string {
	return []string{
		"Validate", "CreateNamespace", "PrunePropagationPolicy", "PruneLast", "Replace", "Force", "ServerSideApply", "ApplyOutOfSyncOnly",
		"RespectIgnoreDifferences", "FailOnSharedResource", "SkipDryRunOnMissingResource", "ClientSideApplyMigration", "Prune", "Delete",
		"DisableClientSideApplyMigration", "autoCreateNamespace", "skipSchemaValidation", "skipSchemaValidations", "retry",
	}
}

// syncOption tells of an option that means nothing, or something else.
func (d decoder) syncOption(v yamldoc.Value) {
	name, value, _ := strings.Cut(v.Node.Value, "=")
	known := slices.ContainsFunc(syncOptions(), func(k string) bool { return strings.EqualFold(k, strings.TrimSpace(name)) })
	switch {
	case !known:
		d.Warnf(v, otherwise, "the sync option %q is none of Argo CD's and has no effect%s", yamldoc.Shorten(name), d.Hint(name, syncOptions()))
	case strings.EqualFold(value, "undefined") || strings.EqualFold(name, "retry"):
		d.Warnf(v, otherwise, "%s says nothing", yamldoc.Shorten(v.Node.Value))
	case strings.EqualFold(name, "ServerSideApply") && strings.EqualFold(value, "false"):
		d.Warnf(v, otherwise, "everything is applied on the server, this application too")
	}
}

func retry(d decoder, v yamldoc.Value) gitops.Retry {
	var r gitops.Retry
	d.Named(v, "gitopsRetry")
	d.Fields(v, document.Keys{
		"limit": d.number(&r.Limit), "refresh": d.flag(&r.Refresh),
		"backoff": part(d, &r.Backoff, func(d decoder, v yamldoc.Value) gitops.Backoff {
			var b gitops.Backoff
			d.Fields(v, document.Keys{
				"duration": d.duration(&b.Duration), "maxDuration": d.duration(&b.MaxDuration),
				"factor": func(v yamldoc.Value) {
					if f := d.Int(v); f.Set {
						n := int64(f.Value)
						b.Factor = &n
					}
				},
			})
			return b
		}),
	})
	return r
}

func ignoreRule(d decoder, v yamldoc.Value) gitops.IgnoreRule {
	var r gitops.IgnoreRule
	d.Named(v, "gitopsIgnoreRule")
	d.Fields(v, document.Merge(document.Keys{
		"group": d.text(&r.Group), "kind": d.text(&r.Kind), "name": d.text(&r.Name), "namespace": d.text(&r.Namespace),
	}, ignoredPaths(d, &r)))
	d.Need(v, "kind")
	return r
}

// ignoredPaths are the keys that say what of an object doesn't count.
func ignoredPaths(d decoder, r *gitops.IgnoreRule) document.Keys {
	return document.Keys{
		"jsonPointers": func(v yamldoc.Value) {
			d.words(&r.JSONPointers)(v)
			for item := range document.Literals(v) {
				if !strings.HasPrefix(item.Node.Value, "/") && !d.open(item.Node.Value) {
					d.Errorf(item, badPointer, "found %q; a JSON pointer begins with /, such as /spec/replicas", yamldoc.Shorten(item.Node.Value))
				}
			}
		},
		"jqPathExpressions": func(v yamldoc.Value) {
			d.words(&r.JQPathExpressions)(v)
			for item := range document.Literals(v) {
				if _, err := gojq.Parse("del(" + item.Node.Value + ")"); err != nil && !d.open(item.Node.Value) {
					d.Errorf(item, badPath, "%q is no path of jq, such as .spec.containers[].image: %v", yamldoc.Shorten(item.Node.Value), err)
				}
			}
		},
		"managedFieldsManagers": d.words(&r.ManagedFieldsManagers),
	}
}

func operation(d decoder, v yamldoc.Value) gitops.Operation {
	var o gitops.Operation
	d.Fields(v, document.Keys{
		"sync": part(d, &o.Sync, syncRequest),
		"initiatedBy": func(v yamldoc.Value) { // it is who saves the document
			d.Fields(v, document.Keys{"username": document.Nothing, "automated": document.Nothing})
		},
		"info":  list(d, &o.Info, info),
		"retry": whole(d, &o.Retry, retry),
	})
	return o
}

func syncRequest(d decoder, v yamldoc.Value) gitops.SyncRequest {
	var s gitops.SyncRequest
	force := func(d decoder, v yamldoc.Value) gitops.SyncStrategyForce {
		var f gitops.SyncStrategyForce
		d.Fields(v, document.Keys{"force": d.flag(&f.Force)})
		return f
	}
	d.Fields(v, document.Keys{
		"revision": d.text(&s.Revision), "revisions": d.words(&s.Revisions), "prune": d.flag(&s.Prune), "dryRun": d.flag(&s.DryRun),
		"syncStrategy": part(d, &s.SyncStrategy, func(d decoder, v yamldoc.Value) gitops.SyncStrategy {
			var how gitops.SyncStrategy
			d.Fields(v, document.Keys{"apply": part(d, &how.Apply, force), "hook": part(d, &how.Hook, force)})
			return how
		}),
		"resources": list(d, &s.Resources, func(d decoder, v yamldoc.Value) object.Key {
			var k object.Key
			d.Fields(v, document.Keys{"group": d.text(&k.Group), "kind": d.text(&k.Kind), "namespace": d.text(&k.Namespace), "name": d.text(&k.Name), "exclude": document.Nothing})
			return k
		}),
		"source": part(d, &s.Source, source), "sources": list(d, &s.Sources, source),
		"manifests": d.words(&s.Manifests), "syncOptions": d.words(&s.SyncOptions), "autoHealAttemptsCount": document.Nothing,
	})
	return s
}
