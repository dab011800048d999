// Package health says how objects of Kubernetes' own kinds fare, from what the API
// server tells of them, and how an application fares for it (semantics/gitops §10).
//
// It reads plain values and asks nobody. Scripts and rules of other kinds are
// delegate/gitops' matter.
package health

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// rules are by kind, of which each can be read in several versions.
var rules = map[object.Key]func(value) gitops.HealthStatus{
	{Group: "apps", Kind: "Deployment"}:                               deployment,
	{Group: "apps", Kind: "StatefulSet"}:                              statefulSet,
	{Group: "apps", Kind: "DaemonSet"}:                                daemonSet,
	{Group: "apps", Kind: "ReplicaSet"}:                               replicaSet,
	{Kind: "Pod"}:                                                     pod,
	{Group: "batch", Kind: "Job"}:                                     job,
	{Group: "batch", Kind: "CronJob"}:                                 cronJob,
	{Kind: "Service"}:                                                 service,
	{Group: "networking.k8s.io", Kind: "Ingress"}:                     ingress,
	{Group: "extensions", Kind: "Ingress"}:                            ingress,
	{Kind: "PersistentVolumeClaim"}:                                   claim,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:           autoscaler,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             apiService,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: definition,
	{Group: "argoproj.io", Kind: "Workflow"}:                          workflow,
	{Group: "argoproj.io", Kind: "Rollout"}:                           rollout,
}

// Has says whether objects of a kind fare at all.
func Has(group, kind string) bool { return rules[object.Key{Group: group, Kind: kind}] != nil }

// Of says how an object fares; nil if its kind doesn't.
func Of(o map[string]any) *gitops.HealthStatus {
	v := value{o}
	group, _, grouped := strings.Cut(v.text("apiVersion"), "/")
	if !grouped {
		group = ""
	}
	if v.text("metadata", "deletionTimestamp") != "" {
		return &gitops.HealthStatus{Status: gitops.Progressing, Message: "Pending deletion"}
	}
	rule := rules[object.Key{Group: group, Kind: v.text("kind")}]
	if rule == nil {
		return nil
	}
	s := rule(v)
	return &s
}

// order has the worst last.
var order = []gitops.HealthCode{gitops.Healthy, gitops.Suspended, gitops.Progressing, gitops.Missing, gitops.Degraded, gitops.HealthUnknown}

// Worse says whether a fares worse than b.
func Worse(a, b gitops.HealthCode) bool { return slices.Index(order, a) > slices.Index(order, b) }

// maxCauses bounds what an application's message names.
const maxCauses = 3

// App is how an application fares whose objects are these: as its worst object.
// Missing ones count only if none is there.
func App(objects []gitops.ResourceStatus) gitops.HealthStatus {
	worst, missing, there := gitops.Healthy, 0, 0
	var causes []string
	for _, o := range objects {
		switch {
		case o.Hook || o.RequiresPruning:
			continue
		case o.Health == nil:
			there++
			continue
		case o.Health.Status == gitops.Missing:
			missing++
			continue
		}
		there++
		if Worse(o.Health.Status, worst) {
			worst, causes = o.Health.Status, nil
		}
		if o.Health.Status == worst && worst != gitops.Healthy && len(causes) < maxCauses {
			cause := o.Kind + " " + o.Name
			if o.Health.Message != "" {
				cause += ": " + o.Health.Message
			}
			causes = append(causes, cause)
		}
	}
	if there == 0 && missing > 0 {
		return gitops.HealthStatus{Status: gitops.Missing}
	}
	return gitops.HealthStatus{Status: worst, Message: strings.Join(causes, "; ")}
}
