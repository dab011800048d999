package argo

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func source(d decoder, v yamldoc.Value) gitops.Source {
	var s gitops.Source
	d.Named(v, "gitopsSource")
	d.Fields(v, document.Keys{
		"repoURL": d.text(&s.RepoURL), "path": d.text(&s.Path), "targetRevision": d.text(&s.TargetRevision), "chart": d.text(&s.Chart),
		"ref": d.text(&s.Ref), "name": d.text(&s.Name), "tagPrefix": d.text(&s.TagPrefix),
		"helm": part(d, &s.Helm, helm), "kustomize": part(d, &s.Kustomize, kustomize), "directory": part(d, &s.Directory, directory),
		"plugin": part(d, &s.Plugin, plugin),
	})
	d.Need(v, "repoURL")
	if s.Ref != "" && s.Chart != "" {
		d.Errorf(document.Child(v, "ref"), document.Ambiguous, "found ref and chart; a source with a ref gives files of a Git repository, and a chart isn't in one")
	}
	return s
}

// builtIn tells that a version of a tool isn't chosen by documents.
func (d decoder) builtIn(tool string, to *string) document.Rule {
	return func(v yamldoc.Value) {
		if *to = d.String(v).Value; *to != "" {
			d.Warnf(v, otherwise, "%s is built in; the version is the agent's", tool)
		}
	}
}

func helm(d decoder, v yamldoc.Value) gitops.Helm {
	var h gitops.Helm
	d.Fields(v, document.Keys{
		"valueFiles": d.words(&h.ValueFiles), "releaseName": d.text(&h.ReleaseName), "values": d.text(&h.Values), "valuesObject": d.raw(&h.ValuesObject),
		"parameters": list(d, &h.Parameters, func(d decoder, v yamldoc.Value) gitops.HelmParameter {
			var p gitops.HelmParameter
			d.Fields(v, document.Keys{"name": d.text(&p.Name), "value": d.text(&p.Value), "forceString": d.flag(&p.ForceString)})
			return p
		}),
		"fileParameters": list(d, &h.FileParameters, func(d decoder, v yamldoc.Value) gitops.HelmFileParameter {
			var p gitops.HelmFileParameter
			d.Fields(v, document.Keys{"name": d.text(&p.Name), "path": d.text(&p.Path)})
			return p
		}),
		"ignoreMissingValueFiles": d.flag(&h.IgnoreMissingValueFiles), "skipCrds": d.flag(&h.SkipCrds), "skipTests": d.flag(&h.SkipTests),
		"skipSchemaValidation": d.flag(&h.SkipSchemaValidation), "passCredentials": d.flag(&h.PassCredentials), "version": d.builtIn("Helm", &h.Version),
		"namespace": d.text(&h.Namespace), "kubeVersion": d.text(&h.KubeVersion), "apiVersions": d.words(&h.APIVersions),
	})
	return h
}

func kustomize(d decoder, v yamldoc.Value) gitops.Kustomize {
	var k gitops.Kustomize
	d.Fields(v, document.Keys{
		"namePrefix": d.text(&k.NamePrefix), "nameSuffix": d.text(&k.NameSuffix), "images": d.words(&k.Images),
		"commonLabels": d.texts(&k.CommonLabels), "commonAnnotations": d.texts(&k.CommonAnnotations),
		"forceCommonLabels": d.flag(&k.ForceCommonLabels), "forceCommonAnnotations": d.flag(&k.ForceCommonAnnotations),
		"commonAnnotationsEnvsubst": d.flag(&k.CommonAnnotationsEnvsubst), "labelWithoutSelector": d.flag(&k.LabelWithoutSelector),
		"labelIncludeTemplates": d.flag(&k.LabelIncludeTemplates), "namespace": d.text(&k.Namespace),
		"replicas": list(d, &k.Replicas, func(d decoder, v yamldoc.Value) gitops.KustomizeReplica {
			var r gitops.KustomizeReplica
			d.Fields(v, document.Keys{"name": d.text(&r.Name), "count": func(v yamldoc.Value) {
				d.String(v)
				d.raw(&r.Count)(v)
			}})
			d.Need(v, "name", "count")
			return r
		}),
		"patches": list(d, &k.Patches, patch), "components": d.words(&k.Components), "ignoreMissingComponents": d.flag(&k.IgnoreMissingComponents),
		"version": d.builtIn("Kustomize", &k.Version), "kubeVersion": d.text(&k.KubeVersion), "apiVersions": d.words(&k.APIVersions),
	})
	return k
}

func patch(d decoder, v yamldoc.Value) gitops.KustomizePatch {
	var p gitops.KustomizePatch
	d.Fields(v, document.Keys{
		"path": d.text(&p.Path), "patch": d.text(&p.Patch),
		"options": func(v yamldoc.Value) {
			for _, name := range sortedNames(d.StringMap(v).Value) {
				if p.Options == nil {
					p.Options = map[string]bool{}
				}
				p.Options[name] = v.Node.Text(name) == "true"
			}
		},
		"target": part(d, &p.Target, func(d decoder, v yamldoc.Value) gitops.KustomizeTarget {
			var t gitops.KustomizeTarget
			d.Fields(v, document.Keys{
				"group": d.text(&t.Group), "version": d.text(&t.Version), "kind": d.text(&t.Kind), "name": d.text(&t.Name), "namespace": d.text(&t.Namespace),
				"labelSelector": d.text(&t.LabelSelector), "annotationSelector": d.text(&t.AnnotationSelector),
			})
			return t
		}),
	})
	return p
}

func directory(d decoder, v yamldoc.Value) gitops.Directory {
	var f gitops.Directory
	d.Fields(v, document.Keys{
		"recurse": d.flag(&f.Recurse), "include": d.glob(&f.Include), "exclude": d.glob(&f.Exclude), "disableExtensionFilter": d.flag(&f.DisableExtensionFilter),
		"jsonnet": part(d, &f.Jsonnet, func(d decoder, v yamldoc.Value) gitops.Jsonnet {
			var j gitops.Jsonnet
			one := func(d decoder, v yamldoc.Value) gitops.JsonnetVar {
				var x gitops.JsonnetVar
				d.Fields(v, document.Keys{"name": d.text(&x.Name), "value": d.text(&x.Value), "code": d.flag(&x.Code)})
				d.Need(v, "name", "value")
				return x
			}
			d.Fields(v, document.Keys{"extVars": list(d, &j.ExtVars, one), "tlas": list(d, &j.TLAs, one), "libs": d.words(&j.Libs)})
			return j
		}),
	})
	return f
}

func plugin(d decoder, v yamldoc.Value) gitops.Plugin {
	var p gitops.Plugin
	d.Fields(v, document.Keys{
		"name": d.text(&p.Name), "env": list(d, &p.Env, info),
		"parameters": list(d, &p.Parameters, func(d decoder, v yamldoc.Value) gitops.PluginParameter {
			var one gitops.PluginParameter
			d.Fields(v, document.Keys{
				"name": d.text(&one.Name), "array": d.words(&one.Array), "map": d.texts(&one.Map),
				"string": func(v yamldoc.Value) {
					if f := d.String(v); f.Set {
						one.String = &f.Value
					}
				},
			})
			return one
		}),
	})
	return p
}
