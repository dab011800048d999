package health

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

func service(v value) gitops.HealthStatus {
	if v.text("spec", "type") == "LoadBalancer" && len(v.list("status", "loadBalancer", "ingress")) == 0 {
		return progressing("the load balancer has no address yet")
	}
	return healthy()
}

func ingress(v value) gitops.HealthStatus {
	if len(v.list("status", "loadBalancer", "ingress")) == 0 {
		return progressing("the Ingress has no address yet")
	}
	return healthy()
}

func claim(v value) gitops.HealthStatus {
	switch phase := v.text("status", "phase"); phase {
	case "Bound":
		return healthy()
	case "Lost":
		return degraded("its volume is lost")
	case "Pending", "":
		return progressing("no volume is bound yet")
	default:
		return gitops.HealthStatus{Status: gitops.HealthUnknown, Message: "phase " + phase}
	}
}

// annotationConditions is where autoscaling/v1 has its conditions, as JSON.
const annotationConditions = "autoscaling.alpha.kubernetes.io/conditions"

func autoscaler(v value) gitops.HealthStatus {
	conditions := v.list("status", "conditions")
	if text := v.text("metadata", "annotations", annotationConditions); text != "" {
		var own []any
		if json.Unmarshal([]byte(text), &own) == nil {
			conditions = value{own}.list()
		}
	}
	failed := []string{"FailedGetScale", "FailedUpdateScale", "InvalidSelector"}
	for _, c := range conditions {
		reason := c.text("reason")
		if strings.HasPrefix(reason, "FailedGet") || strings.HasPrefix(reason, "InvalidMetric") || slices.Contains(failed, reason) {
			return degraded(c.text("message"))
		}
	}
	for _, c := range conditions {
		if kind := c.text("type"); (kind == "AbleToScale" || kind == "ScalingLimited") && c.text("status") == "True" {
			return gitops.HealthStatus{Status: gitops.Healthy, Message: c.text("message")}
		}
	}
	return progressing("the autoscaler has not decided yet")
}

func apiService(v value) gitops.HealthStatus {
	c, ok := v.condition("Available")
	switch {
	case ok && c.text("status") == "True":
		return gitops.HealthStatus{Status: gitops.Healthy, Message: c.text("message")}
	case ok:
		return progressing(c.text("message"))
	}
	return progressing("the service behind it hasn't answered yet")
}

func definition(v value) gitops.HealthStatus {
	established := progressing("the kind isn't served yet")
	for _, c := range v.list("status", "conditions") {
		switch kind, status := c.text("type"), c.text("status"); {
		case kind == "NamesAccepted" && status == "False", kind == "NonStructuralSchema" && status == "True":
			return degraded(c.text("message"))
		case kind == "Established" && status == "True":
			established = healthy()
		}
	}
	return established
}
