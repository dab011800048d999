// Package gitops is the deployment type of stages with gitOpsEnabled: a release
// changes files of a repository, and GitOps agents make clusters what those say
// (semantics/gitops §17).
//
// Its services are those of Kubernetes and native Helm. Pull requests are made by
// delegate/gitops/release; what is asked of agents is asked by
// delegate/gitops/errands.
package gitops

import (
	"encoding/json"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is the deployment type, which no document names.
const Type = "GitOps"

// Lane describes the deployment type.
func Lane() swimlane.Lane {
	return swimlane.Lane{
		Type: Type, Pulled: true, Near: []string{kubernetes.Type, "NativeHelm"}, Service: kubernetes.DecodeService, Manifests: kubernetes.Manifests(),
		Infrastructures: []swimlane.Infrastructure{{Type: Type, New: decodeClusters}}, Steps: step.Names(Steps()),
		Kinds: []swimlane.Kind{
			{Name: errand.KindApplications, Fetched: swimlane.FetchesNothing}, {Name: errand.KindRelease, Fetched: swimlane.FetchesNothing},
		},
	}
}

// Steps lists the step types of its stages.
func Steps() []step.Type {
	return []step.Type{
		updateReleaseRepoType(), mergePRType(), revertPRType(), fetchLinkedAppsType(), syncType(), rollbackType(), appDetailsType(), updateAppType(), rolloutType(),
	}
}

// clusters are what a stage deploys to, as the plan has them.
type clusters []errand.Cluster

func decodeClusters(d *swimlane.Decoder, v yamldoc.Value) swimlane.Place {
	var all clusters
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"clusters": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				var id, agent, name, server yamldoc.Field[string]
				d.Fields(item, document.Keys{"identifier": d.Text(&id), "agentIdentifier": d.Reference(ref.GitOpsAgent, &agent), "name": d.Text(&name), "server": d.Text(&server)})
				all = append(all, errand.Cluster{Identifier: id.Value, Agent: agent.Value, Name: name.Value, Server: server.Value})
			}
		},
	}))
	return all
}

// Target is what a stage deploys where.
type Target struct {
	Clusters []errand.Cluster `json:"clusters"`
	// Repo are the files that a release changes; nil: the service has none.
	Repo *Repo `json:"repo,omitempty"`
	// Sets are the files with the application sets that make the service's applications;
	// nil: it has none.
	Sets *errand.Files `json:"sets,omitempty"`
	// Near are tags of the delegates that reach these.
	Near []string `json:"near,omitempty"`
}

// Repo is a release repository.
type Repo struct {
	Git       task.Git     `json:"git"`
	Host      task.GitHost `json:"host"`
	Files     []string     `json:"files"`
	Selectors []string     `json:"selectors,omitempty"`
}

// stage is what the stage of a step deploys where, for delegates.
func stage(in step.In) (*Target, errand.Stage, error) {
	t, err := step.TargetOf[*Target](in)
	if err != nil {
		return nil, errand.Stage{}, err
	}
	return t, errand.Stage{Service: in.Deployment.ServiceID, Environment: in.Deployment.EnvironmentID, Clusters: t.Clusters}, nil
}

// applications is the task of a step about applications.
func applications(in step.In, spec errand.Applications) (step.Action, error) {
	t, s, err := stage(in)
	if err != nil {
		return step.Action{}, err
	}
	spec.Stage, spec.Sets = s, t.Sets
	return begun(in, errand.KindApplications, spec, t.Near)
}

// release is the task of a step in the release repository.
func release(in step.In, spec errand.Release) (step.Action, error) {
	t, _, err := stage(in)
	if err != nil {
		return step.Action{}, err
	}
	if t.Repo == nil {
		return step.Action{}, fault.New(fault.Invalid, "service %s has no manifest of the type %s, which says where releases are written down", in.Deployment.ServiceID, kubernetes.ReleaseRepo)
	}
	spec.Git, spec.Host = t.Repo.Git, t.Repo.Host
	return begun(in, errand.KindRelease, spec, t.Repo.Selectors)
}

func begun(in step.In, kind task.Kind, spec any, selectors []string) (step.Action, error) {
	w, err := step.Work(in, spec)
	if err != nil {
		return step.Action{}, err
	}
	return step.Action{Task: &step.Task{Kind: kind, Payload: w, Selectors: append(append([]string(nil), in.Selectors...), selectors...)}}, nil
}

// decoded is what a task's outputs say.
func decoded[T any](doc json.RawMessage) (out T, err error) {
	if len(doc) > 0 {
		err = json.Unmarshal(doc, &out)
	}
	return out, err
}
