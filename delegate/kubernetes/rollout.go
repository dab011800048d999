package kubernetes

import (
	"bytes"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// rollout says how far a workload is (semantics/kubernetes §10).
func rollout(o *unstructured.Unstructured) (done bool, progress string, err error) {
	switch o.GetKind() { // those whose status needn't tell the generation
	case "Job":
		return jobRollout(o)
	case kindDefinition:
		return condition(o, "Established")["status"] == "True", "waiting to be served", nil
	}
	if _, told := number(o, "status", "observedGeneration"); isCustom(o) && !told {
		return customRollout(o)
	}
	if seen, _ := number(o, "status", "observedGeneration"); seen < o.GetGeneration() {
		return false, "waiting for the controller", nil
	}
	switch o.GetKind() {
	case "Deployment":
		return deploymentRollout(o)
	case "StatefulSet":
		return statefulSetRollout(o)
	case "DaemonSet":
		return daemonSetRollout(o)
	case kindConfig:
		return configRollout(o)
	}
	if isCustom(o) {
		return customRollout(o)
	}
	return true, "applied", nil
}

func deploymentRollout(o *unstructured.Unstructured) (bool, string, error) {
	c := condition(o, "Progressing")
	if c["reason"] == deadlineExceeded && !tooEarly(o) {
		return false, "failed", fault.New(fault.Conflict, "%s exceeded its progress deadline: %s", display(o), c["message"]).Causing(fault.Unknown)
	}
	want := replicas(o)
	all, _ := number(o, "status", "replicas")
	updated, _ := number(o, "status", "updatedReplicas")
	available, _ := number(o, "status", "availableReplicas")
	progress := fmt.Sprintf("%d of %d updated, %d available", updated, want, available)
	if all > updated {
		progress += fmt.Sprintf(", %d old ones left", all-updated)
	}
	return updated == want && all == updated && available == updated, progress, nil
}

// tooEarly says whether a Deployment was given up before its deadline was over:
// its controller counts from the last progress of whatever rolled out before,
// until it sees the pods of the newest change move. That's so where the change
// goes back to pods that are still there, as a rollback does.
func tooEarly(o *unstructured.Unstructured) bool {
	c := condition(o, "Progressing")
	if c["reason"] != deadlineExceeded {
		return false
	}
	givenUp, err := time.Parse(time.RFC3339, c["lastUpdateTime"])
	return err == nil && givenUp.Before(templateChanged(o).Add(progressDeadline(o)))
}

// templateChanged is when somebody last changed a workload's pods, by the
// cluster's clock.
func templateChanged(o *unstructured.Unstructured) time.Time {
	var last time.Time
	for _, m := range o.GetManagedFields() {
		if m.Time != nil && m.Time.After(last) && m.Subresource == "" && m.FieldsV1 != nil && bytes.Contains(m.FieldsV1.GetRawBytes(), []byte(`"f:template"`)) {
			last = m.Time.Time
		}
	}
	return last
}

// configRollout is that of a DeploymentConfig: the newest of its roll-outs must
// be complete.
func configRollout(o *unstructured.Unstructured) (bool, string, error) {
	c := condition(o, "Progressing")
	if c["status"] == "False" {
		return false, "failed", fault.New(fault.Conflict, "%s failed: %s: %s", display(o), c["reason"], c["message"]).Causing(fault.Unknown)
	}
	want := replicas(o)
	updated, _ := number(o, "status", "updatedReplicas")
	available, _ := number(o, "status", "availableReplicas")
	done := c["reason"] == "NewReplicationControllerAvailable" && updated == want && available >= want
	return done, fmt.Sprintf("%d of %d updated, %d available", updated, want, available), nil
}

func replicas(o *unstructured.Unstructured) int64 {
	if n, ok := number(o, "spec", "replicas"); ok {
		return n
	}
	return 1
}

func statefulSetRollout(o *unstructured.Unstructured) (bool, string, error) {
	if text(o, "spec", "updateStrategy", "type") == "OnDelete" {
		return true, "updates its pods only when they are deleted; not waited for", nil
	}
	want := replicas(o)
	ready, _ := number(o, "status", "readyReplicas")
	updated, _ := number(o, "status", "updatedReplicas")
	progress := fmt.Sprintf("%d of %d updated, %d ready", updated, want, ready)
	if partition, ok := number(o, "spec", "updateStrategy", "rollingUpdate", "partition"); ok && partition > 0 {
		return ready == want && updated >= want-partition, progress, nil
	}
	same := text(o, "status", "updateRevision") == text(o, "status", "currentRevision")
	return ready == want && (want == 0 || same && updated == want), progress, nil
}

func daemonSetRollout(o *unstructured.Unstructured) (bool, string, error) {
	if text(o, "spec", "updateStrategy", "type") == "OnDelete" {
		return true, "updates its pods only when they are deleted; not waited for", nil
	}
	want, _ := number(o, "status", "desiredNumberScheduled")
	updated, _ := number(o, "status", "updatedNumberScheduled")
	available, _ := number(o, "status", "numberAvailable")
	return updated == want && available == want, fmt.Sprintf("%d of %d updated, %d available", updated, want, available), nil
}

func jobRollout(o *unstructured.Unstructured) (bool, string, error) {
	if c := condition(o, "Failed"); c["status"] == "True" {
		return false, "failed", fault.New(fault.Conflict, "%s failed: %s", display(o), c["message"]).Causing(fault.Unknown)
	}
	active, _ := number(o, "status", "active")
	succeeded, _ := number(o, "status", "succeeded")
	return condition(o, "Complete")["status"] == "True", fmt.Sprintf("%d active, %d succeeded", active, succeeded), nil
}

// condition is a condition of an object's status, its texts by key.
func condition(o *unstructured.Unstructured, typ string) map[string]string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		m, _ := item.(map[string]any)
		if m["type"] != typ {
			continue
		}
		out := map[string]string{}
		for k, v := range m {
			if s, ok := v.(string); ok {
				out[k] = s
			}
		}
		return out
	}
	return map[string]string{}
}
