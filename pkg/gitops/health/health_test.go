package health

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// TestOf: each rule of each kind, on the least that it reads.
func TestOf(t *testing.T) {
	t.Parallel()
	const (
		deploymentOf = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {generation: 2}\n"
		statefulOf   = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {generation: 2}\n"
		daemonOf     = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {generation: 2}\n"
		podOf        = "apiVersion: v1\nkind: Pod\n"
		jobOf        = "apiVersion: batch/v1\nkind: Job\n"
		scalerOf     = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n"
	)
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: ConfigMap": "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}": "Progressing Pending deletion",
		"apiVersion: example.com/v1\nkind: Deployment":                                           "",

		deploymentOf + "spec: {paused: true}":            "Suspended",
		deploymentOf + "status: {observedGeneration: 1}": "Progressing the controller",
		deploymentOf + "status: {observedGeneration: 2, conditions: [{type: Progressing, reason: ProgressDeadlineExceeded}]}":                                                         "Degraded",
		deploymentOf + "status: {observedGeneration: 2}":                                                                                                                              "Progressing 0 of 1",
		deploymentOf + "spec: {replicas: 0}\nstatus: {observedGeneration: 2}":                                                                                                         "Healthy",
		deploymentOf + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 3, updatedReplicas: 2, availableReplicas: 3}":                                                  "Progressing 1 old",
		deploymentOf + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 1}":                                                  "Progressing 1 of 2 updated",
		deploymentOf + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}":                                                  "Healthy",
		"apiVersion: apps/v1\nkind: StatefulSet":                                                                                                                                      "Progressing",
		statefulOf + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, readyReplicas: 1}":                                                                                         "Progressing 1 of 2",
		statefulOf + "spec: {updateStrategy: {type: OnDelete}}\nstatus: {observedGeneration: 2, readyReplicas: 1, updateRevision: b}":                                                 "Healthy",
		statefulOf + "status: {observedGeneration: 2, readyReplicas: 1, updateRevision: b, currentRevision: a}":                                                                       "Progressing",
		statefulOf + "status: {observedGeneration: 2, readyReplicas: 1, updateRevision: b, currentRevision: b}":                                                                       "Healthy",
		statefulOf + "spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}\nstatus: {observedGeneration: 2, readyReplicas: 3}":                                        "Progressing 0 of 1",
		statefulOf + "spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}\nstatus: {observedGeneration: 2, readyReplicas: 3, updatedReplicas: 1, updateRevision: b}": "Healthy",
		daemonOf + "status: {observedGeneration: 1}":                                                                                                                                  "Progressing",
		daemonOf + "status: {observedGeneration: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 1}":                                                                            "Progressing 1 of 2",
		daemonOf + "status: {observedGeneration: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1}":                                                        "Progressing 1 of 2",
		daemonOf + "status: {observedGeneration: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2}":                                                        "Healthy",
		daemonOf + "spec: {updateStrategy: {type: OnDelete}}\nstatus: {observedGeneration: 2, desiredNumberScheduled: 2}":                                                             "Healthy",
		"apiVersion: apps/v1\nkind: ReplicaSet\nstatus: {conditions: [{type: ReplicaFailure, status: 'True', message: no quota}]}":                                                    "Degraded no quota",
		"apiVersion: apps/v1\nkind: ReplicaSet\nspec: {replicas: 2}\nstatus: {availableReplicas: 1}":                                                                                  "Progressing",
		"apiVersion: apps/v1\nkind: ReplicaSet\nspec: {replicas: 2}\nstatus: {availableReplicas: 2}":                                                                                  "Healthy",

		podOf + "status: {phase: Pending}":   "Progressing",
		podOf + "status: {phase: Succeeded}": "Healthy",
		podOf + "status: {phase: Failed, containerStatuses: [{name: a, state: {terminated: {reason: OOMKilled}}}]}":                                "Degraded container a was killed",
		podOf + "status: {phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 3}}}]}":                                      "Degraded container a ended with exit code 3",
		podOf + "status: {phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ImagePullBackOff, message: no such image}}}]}":   "Degraded a: ImagePullBackOff: no such image",
		podOf + "spec: {restartPolicy: Never}\nstatus: {phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ErrImagePull}}}]}": "Progressing",
		podOf + "status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}":                                                            "Healthy",
		podOf + "status: {phase: Running}": "Progressing",
		podOf + "status: {phase: Running, containerStatuses: [{name: a, lastState: {terminated: {exitCode: 1}}}]}":                                                                                 "Degraded container a",
		podOf + "spec: {restartPolicy: OnFailure}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}]}":                                                                          "Progressing",
		podOf + "metadata: {annotations: {argocd.argoproj.io/ignore-restart-policy: 'true'}}\nspec: {restartPolicy: Never}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}]}": "Healthy",
		podOf + "status: {phase: Odd}": "Unknown",

		jobOf + "status: {}":            "Progressing",
		jobOf + "spec: {suspend: true}": "Suspended",
		jobOf + "status: {conditions: [{type: Complete, status: 'True'}]}":                                                                                  "Healthy",
		jobOf + "status: {conditions: [{type: Failed, status: 'True', message: too often}]}":                                                                "Degraded too often",
		jobOf + "status: {conditions: [{type: Failed, status: 'False'}]}":                                                                                   "Progressing",
		"apiVersion: batch/v1\nkind: CronJob\nspec: {suspend: true}":                                                                                        "Healthy",
		"apiVersion: batch/v1\nkind: CronJob\nstatus: {lastScheduleTime: '2026-01-02T00:00:00Z'}":                                                           "Healthy",
		"apiVersion: batch/v1\nkind: CronJob\nstatus: {lastScheduleTime: '2026-01-02T00:00:00Z', lastSuccessfulTime: '2026-01-01T00:00:00Z'}":               "Degraded",
		"apiVersion: batch/v1\nkind: CronJob\nstatus: {active: [{}], lastScheduleTime: '2026-01-02T00:00:00Z', lastSuccessfulTime: '2026-01-01T00:00:00Z'}": "Healthy",

		"apiVersion: v1\nkind: Service\nspec: {type: ClusterIP}":                                                        "Healthy",
		"apiVersion: v1\nkind: Service\nspec: {type: LoadBalancer}":                                                     "Progressing",
		"apiVersion: v1\nkind: Service\nspec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}": "Healthy",
		"apiVersion: networking.k8s.io/v1\nkind: Ingress":                                                               "Progressing",
		"apiVersion: extensions/v1beta1\nkind: Ingress\nstatus: {loadBalancer: {ingress: [{hostname: a}]}}":             "Healthy",
		"apiVersion: v1\nkind: PersistentVolumeClaim\nstatus: {phase: Bound}":                                           "Healthy",
		"apiVersion: v1\nkind: PersistentVolumeClaim\nstatus: {phase: Pending}":                                         "Progressing",
		"apiVersion: v1\nkind: PersistentVolumeClaim\nstatus: {phase: Lost}":                                            "Degraded",

		scalerOf + "status: {conditions: [{type: AbleToScale, status: 'True'}]}":                                                                                         "Healthy",
		scalerOf + "status: {conditions: [{type: AbleToScale, status: 'True'}, {type: ScalingActive, status: 'False', reason: FailedGetResourceMetric, message: none}]}": "Degraded none",
		scalerOf: "Progressing",
		"apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {annotations: {autoscaling.alpha.kubernetes.io/conditions: '[{\"type\":\"ScalingLimited\",\"status\":\"True\"}]'}}": "Healthy",

		"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nstatus: {conditions: [{type: Available, status: 'True'}]}":                                                                       "Healthy",
		"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nstatus: {conditions: [{type: Available, status: 'False'}]}":                                                                      "Progressing",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition":                                                                                                                      "Progressing",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nstatus: {conditions: [{type: Established, status: 'True'}, {type: NamesAccepted, status: 'True'}]}":                  "Healthy",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nstatus: {conditions: [{type: Established, status: 'True'}, {type: NamesAccepted, status: 'False', message: taken}]}": "Degraded taken",
		"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nstatus: {phase: Running, message: node}":                                                                                                "Progressing node",
		"apiVersion: argoproj.io/v1alpha1\nkind: Workflow":                                                                                                                                         "Progressing",
		"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nstatus: {phase: Error}":                                                                                                                 "Degraded",
		"apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nstatus: {phase: Healthy}":                                                                                                                "Healthy",
		"apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nstatus: {phase: Paused, pauseConditions: [{reason: CanaryPauseStep}]}":                                                                   "Suspended",
		"apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nstatus: {abort: true}":                                                                                                                   "Degraded",
	} {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := ""
		if h := Of(o); h != nil {
			got = strings.TrimSpace(string(h.Status) + " " + h.Message)
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s\nfares %q; want %q", text, got, want)
		}
	}
}

// TestApp: the worst object, and missing ones only if there is no other.
func TestApp(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "Healthy",
		"-":                         "Healthy",
		"Missing Missing":           "Missing",
		"Missing -":                 "Healthy",
		"Missing Degraded":          "Degraded Pod 1",
		"Healthy Suspended":         "Suspended Pod 1",
		"Suspended Progressing":     "Progressing Pod 1",
		"Degraded Unknown Degraded": "Unknown Pod 1",
		"Degraded Healthy Degraded Degraded Degraded": "Degraded Pod 0; Pod 2; Pod 3",
	} {
		var objects []gitops.ResourceStatus
		for i, code := range strings.Fields(text) {
			o := gitops.ResourceStatus{Key: object.Key{Kind: "Pod", Name: string(rune('0' + i))}}
			if code != "-" {
				o.Health = &gitops.HealthStatus{Status: gitops.HealthCode(code)}
			}
			objects = append(objects, o)
		}
		h := App(objects)
		if got := strings.TrimSpace(string(h.Status) + " " + h.Message); got != want {
			t.Errorf("%q fares %q; want %q", text, got, want)
		}
	}
	hook := gitops.ResourceStatus{Hook: true, Health: &gitops.HealthStatus{Status: gitops.Degraded}}
	if h := App([]gitops.ResourceStatus{hook}); h.Status != gitops.Healthy {
		t.Errorf("a hook that failed makes the application %s", h.Status)
	}
}

// FuzzOf: whatever an object is made of, it is judged.
func FuzzOf(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","spec":[],"status":{"conditions":{"a":1},"replicas":"3"}}`))
	f.Add([]byte(`{"apiVersion":7,"kind":"Pod","status":{"containerStatuses":[null,{"state":[]}]}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var o map[string]any
		if json.Unmarshal(doc, &o) == nil {
			Of(o)
		}
	})
}
