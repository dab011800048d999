package health

import (
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

const unseen = "the controller hasn't seen the latest change yet"

func deployment(v value) gitops.HealthStatus {
	if v.yes("spec", "paused") {
		return suspended("the Deployment is paused")
	}
	if v.behind() {
		return progressing(unseen)
	}
	if c, ok := v.condition("Progressing"); ok && c.text("reason") == "ProgressDeadlineExceeded" {
		return degraded("the Deployment exceeded its progress deadline")
	}
	desired, updated := v.or(1, "spec", "replicas"), v.number("status", "updatedReplicas")
	all, available := v.number("status", "replicas"), v.number("status", "availableReplicas")
	switch {
	case updated < desired:
		return progressing(fmt.Sprintf("%d of %d replicas are updated", updated, desired))
	case all > updated:
		return progressing(fmt.Sprintf("%d old replicas are still to end", all-updated))
	case available < updated:
		return progressing(fmt.Sprintf("%d of %d updated replicas are available", available, updated))
	}
	return healthy()
}

func statefulSet(v value) gitops.HealthStatus {
	if v.number("status", "observedGeneration") == 0 || v.behind() {
		return progressing(unseen)
	}
	desired, ready, updated := v.or(1, "spec", "replicas"), v.number("status", "readyReplicas"), v.number("status", "updatedReplicas")
	if ready < desired {
		return progressing(fmt.Sprintf("%d of %d replicas are ready", ready, desired))
	}
	switch partition := v.number("spec", "updateStrategy", "rollingUpdate", "partition"); {
	case v.text("spec", "updateStrategy", "type") == "OnDelete":
		return healthy()
	case v.there("spec", "updateStrategy", "rollingUpdate", "partition") && partition > 0:
		if updated < desired-partition {
			return progressing(fmt.Sprintf("%d of %d replicas beyond the partition are updated", updated, desired-partition))
		}
		return healthy()
	}
	if v.text("status", "updateRevision") != v.text("status", "currentRevision") {
		return progressing(fmt.Sprintf("%d of %d replicas are updated", updated, desired))
	}
	return healthy()
}

func daemonSet(v value) gitops.HealthStatus {
	if v.behind() {
		return progressing(unseen)
	}
	if v.text("spec", "updateStrategy", "type") == "OnDelete" {
		return healthy()
	}
	desired, updated := v.number("status", "desiredNumberScheduled"), v.number("status", "updatedNumberScheduled")
	available := v.number("status", "numberAvailable")
	switch {
	case updated < desired:
		return progressing(fmt.Sprintf("%d of %d pods are updated", updated, desired))
	case available < desired:
		return progressing(fmt.Sprintf("%d of %d pods are available", available, desired))
	}
	return healthy()
}

func replicaSet(v value) gitops.HealthStatus {
	if v.behind() {
		return progressing(unseen)
	}
	if c, ok := v.condition("ReplicaFailure"); ok && c.text("status") == "True" {
		return degraded(c.text("message"))
	}
	if desired, available := v.or(1, "spec", "replicas"), v.number("status", "availableReplicas"); available < desired {
		return progressing(fmt.Sprintf("%d of %d replicas are available", available, desired))
	}
	return healthy()
}

// annotationIgnoreRestart has a pod that ends judged as one that goes on.
const annotationIgnoreRestart = "argocd.argoproj.io/ignore-restart-policy"

func pod(v value) gitops.HealthStatus {
	goesOn := v.text("spec", "restartPolicy") == "Always" || v.text("spec", "restartPolicy") == "" ||
		v.text("metadata", "annotations", annotationIgnoreRestart) == "true" && v.text("metadata", "annotations", "argocd.argoproj.io/hook") == ""
	var containers []value
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		containers = append(containers, v.list("status", list)...)
	}
	if goesOn {
		for _, c := range containers {
			reason := c.text("state", "waiting", "reason")
			if strings.HasPrefix(reason, "Err") || strings.HasSuffix(reason, "Error") || strings.HasSuffix(reason, "BackOff") {
				return degraded(strings.TrimPrefix(c.text("name")+": "+reason+": "+c.text("state", "waiting", "message"), ": "))
			}
		}
	}
	message := v.text("status", "message")
	switch v.text("status", "phase") {
	case "Pending":
		return progressing(message)
	case "Succeeded":
		return gitops.HealthStatus{Status: gitops.Healthy, Message: message}
	case "Failed":
		return degraded(failure(message, containers))
	case "Running":
		if !goesOn {
			return progressing(message)
		}
		if c, ok := v.condition("Ready"); ok && c.text("status") == "True" {
			return gitops.HealthStatus{Status: gitops.Healthy, Message: message}
		}
		for _, c := range v.list("status", "containerStatuses") {
			if c.there("lastState", "terminated") {
				return degraded(failure(message, containers))
			}
		}
		return progressing(message)
	}
	return gitops.HealthStatus{Status: gitops.HealthUnknown, Message: message}
}

// failure says why a pod failed: its own message, or how its containers ended.
func failure(message string, containers []value) string {
	if message != "" {
		return message
	}
	for _, c := range containers {
		for _, state := range []string{"state", "lastState"} {
			end := c.at(state, "terminated")
			switch {
			case end.text("reason") == "OOMKilled":
				return "container " + c.text("name") + " was killed: out of memory"
			case end.text("message") != "":
				return "container " + c.text("name") + ": " + end.text("message")
			case end.number("exitCode") != 0:
				return fmt.Sprintf("container %s ended with exit code %d", c.text("name"), end.number("exitCode"))
			}
		}
	}
	return ""
}

func job(v value) gitops.HealthStatus {
	for _, c := range v.list("status", "conditions") {
		if c.text("status") != "True" {
			continue
		}
		switch c.text("type") {
		case "Failed":
			return degraded(c.text("message"))
		case "Complete":
			return gitops.HealthStatus{Status: gitops.Healthy, Message: c.text("message")}
		case "Suspended":
			return suspended(c.text("message"))
		}
	}
	if v.yes("spec", "suspend") {
		return suspended("the Job is suspended")
	}
	return progressing("the Job has not ended yet")
}

func cronJob(v value) gitops.HealthStatus {
	last, success := v.text("status", "lastScheduleTime"), v.text("status", "lastSuccessfulTime")
	if !v.yes("spec", "suspend") && len(v.list("status", "active")) == 0 && success != "" && success < last {
		return degraded("the last run has not succeeded")
	}
	return healthy()
}

func workflow(v value) gitops.HealthStatus {
	message := v.text("status", "message")
	switch v.text("status", "phase") {
	case "", "Pending", "Running":
		return progressing(message)
	case "Succeeded":
		return gitops.HealthStatus{Status: gitops.Healthy, Message: message}
	case "Failed", "Error":
		return degraded(message)
	}
	return gitops.HealthStatus{Status: gitops.HealthUnknown, Message: message}
}

func rollout(v value) gitops.HealthStatus {
	for _, c := range v.list("status", "conditions") {
		switch {
		case c.text("type") == "InvalidSpec" && c.text("status") != "False":
			return degraded(c.text("message"))
		case c.text("type") == "Progressing" && (c.text("reason") == "ProgressDeadlineExceeded" || c.text("reason") == "RolloutAborted"):
			return degraded(c.text("message"))
		}
	}
	if v.yes("status", "abort") {
		return degraded("the Rollout was aborted")
	}
	if v.yes("spec", "paused") || len(v.list("status", "pauseConditions")) > 0 || v.text("status", "phase") == "Paused" {
		return suspended("the Rollout is paused")
	}
	switch v.text("status", "phase") {
	case "Healthy":
		return healthy()
	case "Degraded":
		return degraded(v.text("status", "message"))
	}
	return progressing(v.text("status", "message"))
}
