package gitops

import (
	"strconv"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/amend"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// updateAppType is the step type UpdateGitOpsApp: it changes what the document of an
// application says of its sources, or makes it what it was before the stage
// (semantics/gitops §17).
//
// Outputs: gitops.applications, with the one. The document is changed by the control
// plane, when a delegate asks for it (delegate/gitops/errands).
func updateAppType() step.Type {
	return step.Type{Name: string(errand.OpUpdateApp), Service: true, New: decodeUpdateApp, Finish: step.Finisher((*updateApp).finish)}
}

// updateApp is the step's spec.
type updateApp struct {
	Agent, App yamldoc.Field[string]
	Source     sourceFields
	Sources    []sourceFields
}

// sourceFields are what is to be other in a source.
type sourceFields struct {
	RepoURL, Path, Chart, Ref, Revision yamldoc.Field[string]
	Parameters, Files                   [][2]yamldoc.Field[string]
	ValueFiles, Images                  yamldoc.Field[[]string]
	Replicas                            [][2]yamldoc.Field[string]
	Namespace                           yamldoc.Field[string]
}

func decodeUpdateApp(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &updateApp{}
	d.Fields(v, document.Merge(s.Source.tools(d), document.Keys{
		"agentId":         d.Reference(ref.GitOpsAgent, &s.Agent),
		"applicationName": d.Text(&s.App),
		"targetRevision":  d.Text(&s.Source.Revision),
		"sources": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				var one sourceFields
				d.Fields(item, document.Merge(one.tools(d), document.Keys{
					"repoURL":        d.Text(&one.RepoURL),
					"path":           d.Text(&one.Path),
					"chart":          d.Text(&one.Chart),
					"ref":            d.Text(&one.Ref),
					"targetRevision": d.Text(&one.Revision),
				}))
				one.tool(d, item)
				s.Sources = append(s.Sources, one)
			}
		},
		"delegateSelectors": d.Words(nil), // the plan's
	}))
	d.Need(v, "agentId", "applicationName")
	s.Source.tool(d, v)
	return s
}

// tools are the keys of what renders a source.
func (s *sourceFields) tools(d *document.Decoder) document.Keys {
	pairs := func(into *[][2]yamldoc.Field[string], second string) document.Rule {
		return func(v yamldoc.Value) {
			for item := range d.Items(v) {
				var one [2]yamldoc.Field[string]
				d.Fields(item, document.Keys{"name": d.Text(&one[0]), second: d.Text(&one[1])})
				d.Need(item, "name", second)
				*into = append(*into, one)
			}
		}
	}
	return document.Keys{
		"helm": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"parameters": pairs(&s.Parameters, "value"), "fileParameters": pairs(&s.Files, "path"), "valueFiles": d.Words(&s.ValueFiles),
			})
		},
		"kustomize": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"images": d.Words(&s.Images), "replicas": pairs(&s.Replicas, "count"), "namespace": d.Text(&s.Namespace)})
		},
	}
}

// tool refuses two tools at once: a source has one.
func (s *sourceFields) tool(d *document.Decoder, v yamldoc.Value) {
	if !document.Neutral(v.Node.Get("helm")) && !document.Neutral(v.Node.Get("kustomize")) {
		d.Errorf(document.Child(v, "kustomize"), document.Ambiguous, "found helm and kustomize; want only one of them, as a source has one tool")
	}
}

// change is what is to be other.
func (s *sourceFields) change() (amend.Source, error) {
	out := amend.Source{
		RepoURL: s.RepoURL.Value, Path: s.Path.Value, Chart: s.Chart.Value, Ref: s.Ref.Value, TargetRevision: s.Revision.Value,
		ValueFiles: s.ValueFiles.Value, Images: s.Images.Value, Namespace: s.Namespace.Value,
	}
	for _, p := range s.Parameters {
		out.Parameters = append(out.Parameters, gitops.HelmParameter{Name: p[0].Value, Value: p[1].Value})
	}
	for _, p := range s.Files {
		out.FileParameters = append(out.FileParameters, gitops.HelmFileParameter{Name: p[0].Value, Path: p[1].Value})
	}
	for _, p := range s.Replicas {
		n, err := strconv.ParseInt(p[1].Value, 10, 32)
		if err != nil || n < 0 {
			return out, notACount(p[0].Value, p[1].Value)
		}
		out.Replicas = append(out.Replicas, amend.Replica{Name: p[0].Value, Count: n})
	}
	return out, nil
}

// Start has a delegate ask for the change.
func (s *updateApp) Start(in step.In) (step.Action, error) {
	var change amend.Change
	var err error
	if change.Source, err = s.Source.change(); err != nil {
		return step.Action{}, err
	}
	for i := range s.Sources {
		one, err := s.Sources[i].change()
		if err != nil {
			return step.Action{}, err
		}
		change.Sources = append(change.Sources, one)
	}
	return applications(in, errand.Applications{
		Op: errand.OpUpdateApp, Choice: errand.Choice{Named: []errand.Named{{Agent: s.Agent.Value, Name: s.App.Value}}}, Update: &change,
	})
}

// finish gives what the delegate says of it.
func (s *updateApp) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	return step.Outcome(r), nil
}

func notACount(name, found string) error {
	return fault.New(fault.Invalid, "kustomize.replicas: found %q as the count of %s; want a number from 0 on", found, name)
}
