// Package kubernetes holds the step types that deploy to Kubernetes:
// K8sRollingDeploy, K8sCanaryDeploy, K8sBlueGreenDeploy, their counterparts,
// and K8sScale, K8sDelete and K8sApply (kubernetes spec §1).
//
// They share one kind of task, so they share a package: each file says what
// the YAML of its steps may hold and which payload that makes. What the
// payload does in a cluster is delegate/kubernetes.
package kubernetes

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Types lists the step types.
func Types() []step.Type {
	return []step.Type{
		deploys(task.OpRolling, decodeDeploy("skipDryRun", "pruningEnabled", "commandFlags")),
		deploys(task.OpRollingRollback, decodeDeploy("pruningEnabled", "commandFlags", "skipDryRun")),
		deploys(task.OpCanary, decodeCanary),
		deploys(task.OpCanaryDelete, decodeDeploy("skipDryRun")),
		deploys(task.OpBlueGreen, decodeDeploy("skipDryRun", "pruningEnabled", "skipDeploymentIfSameManifest", "trafficRouting", "commandFlags")),
		deploys(task.OpSwap, decodeDeploy("skipDryRun")), // real documents carry skipDryRun; it has no meaning here
		deploys(task.OpScale, decodeScale),
		deploys(task.OpDelete, decodeDelete),
		deploys(task.OpApply, decodeApply),
	}
}

// spec is a decoded step: the payload as far as the YAML says it.
type spec struct {
	payload task.Kubernetes
	// check finds what must be known when the step starts.
	check func(task.Kubernetes) error
}

// deploys makes a type of an operation and its decoder.
func deploys(op task.KubernetesOp, decode func(yamldoc.Value, *yamldoc.Report, *spec)) step.Type {
	return step.Type{
		Name: string(op), Deploys: true,
		New: func(doc *yamldoc.Node, r *yamldoc.Report) step.Spec {
			s := &spec{payload: task.Kubernetes{Op: op}}
			decode(yamldoc.Sub(doc, ""), r, s)
			return s
		},
	}
}

// Start makes the task.
func (s *spec) Start(in step.In) (step.Action, error) {
	if in.Deployment == nil || in.Deployment.Kubernetes == nil {
		return step.Action{}, fault.New(fault.Invalid, "the step needs a Deployment stage with a Kubernetes infrastructure")
	}
	if s.check != nil {
		if err := s.check(s.payload); err != nil {
			return step.Action{}, err
		}
	}
	p := s.payload
	p.Target = *in.Deployment.Kubernetes
	p.Execution, p.Stage, p.Step, p.Rollback = in.Execution, string(in.StageNode), string(in.Node), in.Rollback
	p.CanaryInStage = slices.Contains(in.Siblings, string(task.OpCanary))
	selectors := slices.Concat(in.Selectors, p.Target.Selectors) // both must fit (entities spec §9.1)
	p.Target.Selectors = nil
	return step.Action{Task: &step.Task{Kind: task.KindKubernetes, Payload: p, Selectors: selectors}}, nil
}

// Finish takes the delegate's result as it is.
func (s *spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }

// decodeDeploy decodes the specs that have nothing but switches.
func decodeDeploy(keys ...string) func(yamldoc.Value, *yamldoc.Report, *spec) {
	return func(v yamldoc.Value, r *yamldoc.Report, s *spec) {
		for e := range r.Mapping(v) {
			if !common(e, r, s, keys) {
				r.Unknown(e, keys...)
			}
		}
	}
}

// common decodes a key that several types have; false if the type doesn't
// have the key.
func common(e yamldoc.Value, r *yamldoc.Report, s *spec, keys []string) bool {
	if e.Key == "delegateSelectors" {
		r.Strings(e)
		return true
	}
	if !slices.Contains(keys, e.Key) {
		return false
	}
	switch e.Key {
	case "skipDryRun":
		s.payload.SkipDryRun = r.Bool(e).Value
	case "pruningEnabled":
		s.payload.Pruning = r.Bool(e).Value
	case "skipDeploymentIfSameManifest":
		s.payload.SkipSameManifest = r.Bool(e).Value
	case "skipSteadyStateCheck":
		s.payload.SkipSteadyState = r.Bool(e).Value
	case "commandFlags", "trafficRouting":
		if !e.Null() && (!e.Is(yamldoc.Sequence) || len(e.Node.Items) > 0) {
			r.Unsupported(e, "%s can't be honoured yet", e.Key)
		}
	}
	return true
}

// instances decodes an instanceSelection.
func instances(e yamldoc.Value, r *yamldoc.Report) *task.InstanceSelection {
	out := &task.InstanceSelection{}
	var kind string
	var inner yamldoc.Value
	for k := range r.Mapping(e) {
		switch k.Key {
		case "type":
			kind = r.Enum(k, "Count", "Percentage").Value
		case "spec":
			inner = k
		default:
			r.Unknown(k, "type", "spec")
		}
	}
	r.Missing(e, "type", "spec")
	key := strings.ToLower(kind)
	for k := range r.Mapping(inner) {
		if k.Key != key {
			r.Unknown(k, key)
			continue
		}
		n := r.Int(k)
		if n.Set && n.Expr == "" && (n.Value < 0 || kind == "Percentage" && n.Value > 100) {
			r.Errorf(k, "WRONG_VALUE", "found %d; want a %s", n.Value, map[string]string{"count": "number of 0 or more", "percentage": "percentage from 0 to 100"}[key])
		}
		if kind == "Count" {
			out.Count = &n.Value
		} else {
			out.Percentage = &n.Value
		}
	}
	return out
}

func decodeCanary(v yamldoc.Value, r *yamldoc.Report, s *spec) {
	keys := []string{"instanceSelection", "skipDryRun", "trafficRouting", "commandFlags", "canaryType", "targetPercentage"}
	for e := range r.Mapping(v) {
		switch e.Key {
		case "instanceSelection":
			s.payload.Instances = instances(e, r)
		case "canaryType":
			if t := r.Enum(e, "Standard", "Progressive"); t.Value == "Progressive" {
				r.Unsupported(e, "a Progressive canary can't be deployed yet; Standard can")
			}
		case "targetPercentage":
			r.Unsupported(e, "targetPercentage belongs to a Progressive canary, which can't be deployed yet")
		default:
			if !common(e, r, s, keys) {
				r.Unknown(e, keys...)
			}
		}
	}
	r.Missing(v, "instanceSelection")
}

func decodeScale(v yamldoc.Value, r *yamldoc.Report, s *spec) {
	keys := []string{"workload", "instanceSelection", "skipSteadyStateCheck"}
	for e := range r.Mapping(v) {
		switch e.Key {
		case "workload":
			f := r.String(e)
			s.payload.Workload = f.Value
			if n := strings.Count(f.Value, "/"); f.Set && f.Expr == "" && (n < 1 || n > 2) {
				r.Errorf(e, "WRONG_VALUE", "found %q; want [namespace/]Kind/name", f.Value)
			}
		case "instanceSelection":
			s.payload.Instances = instances(e, r)
		default:
			if !common(e, r, s, keys) {
				r.Unknown(e, keys...)
			}
		}
	}
	r.Missing(v, "workload", "instanceSelection")
}

func decodeDelete(v yamldoc.Value, r *yamldoc.Report, s *spec) {
	keys := []string{"deleteResources", "commandFlags"}
	for e := range r.Mapping(v) {
		if e.Key == "deleteResources" {
			s.payload.Delete = deleteResources(e, r)
			continue
		}
		if !common(e, r, s, keys) {
			r.Unknown(e, keys...)
		}
	}
	r.Missing(v, "deleteResources")
	s.check = func(p task.Kubernetes) error {
		if p.Delete != nil && p.Delete.Type == "ManifestPath" && !p.Delete.AllManifests && len(p.Delete.ManifestPaths) == 0 {
			return fault.New(fault.Invalid, "deleteResources names no manifest paths")
		}
		return nil
	}
}

// deleteResources decodes one of the three selections (kubernetes spec §15).
func deleteResources(e yamldoc.Value, r *yamldoc.Report) *task.DeleteResources {
	out := &task.DeleteResources{}
	var inner yamldoc.Value
	for k := range r.Mapping(e) {
		switch k.Key {
		case "type":
			out.Type = r.Enum(k, "ResourceName", "ManifestPath", "ReleaseName").Value
		case "spec":
			inner = k
		default:
			r.Unknown(k, "type", "spec")
		}
	}
	r.Missing(e, "type")
	allowed := map[string][]string{
		"ResourceName": {"resourceNames"}, "ManifestPath": {"manifestPaths", "allManifestPaths"}, "ReleaseName": {"deleteNamespace"},
	}[out.Type]
	for k := range r.Mapping(inner) {
		switch {
		case !slices.Contains(allowed, k.Key):
			r.Unknown(k, allowed...)
		case k.Key == "resourceNames":
			out.Names = r.Strings(k).Value
		case k.Key == "manifestPaths":
			out.ManifestPaths = r.Strings(k).Value
		case k.Key == "allManifestPaths":
			out.AllManifests = r.Bool(k).Value
		case k.Key == "deleteNamespace":
			out.DeleteNamespace = r.Bool(k).Value
		}
	}
	if out.Type == "ResourceName" {
		r.Missing(inner, "resourceNames")
	}
	return out
}

func decodeApply(v yamldoc.Value, r *yamldoc.Report, s *spec) {
	keys := []string{"filePaths", "manifestSource", "overrides", "skipDryRun", "skipSteadyStateCheck", "skipRendering", "commandFlags"}
	for e := range r.Mapping(v) {
		switch e.Key {
		case "filePaths":
			s.payload.FilePaths = r.Strings(e).Value
		case "skipRendering":
			s.payload.SkipRendering = r.Bool(e).Value
		case "manifestSource", "overrides":
			if !e.Null() && (!e.Is(yamldoc.Sequence) || len(e.Node.Items) > 0) {
				r.Unsupported(e, "%s can't be honoured yet; filePaths of the service's manifests can", e.Key)
			}
		default:
			if !common(e, r, s, keys) {
				r.Unknown(e, keys...)
			}
		}
	}
	r.Missing(v, "filePaths")
}
