package kubernetes

import (
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// past remembers the failures that workloads had before they were applied, so
// that they aren't taken for failures of this roll-out.
//
// A DeploymentConfig keeps the condition of its failed roll-out until it makes
// progress, though its controller has seen the change. A custom resource's
// status may not tell which specification it is about. What Deployments tell
// has a time of its own; see tooEarly.
type past struct {
	mu       sync.Mutex
	failures map[types.UID]failure
}

// failure is what a status told, and about which generation. Of the generation
// itself, it stays true; changed: the object has been changed since.
type failure struct {
	status     string
	generation int64
}

// changed is no object's generation.
const changed = -1

// note takes an object as the server gave it back from a change.
func (p *past) note(o *unstructured.Unstructured) {
	seen, told := number(o, "status", "observedGeneration")
	if told && seen >= o.GetGeneration() {
		return // the status is about what it was changed to: nothing has changed
	}
	p.keep(o, changed)
}

// remember takes an object as it is before a change.
func (p *past) remember(o *unstructured.Unstructured) { p.keep(o, o.GetGeneration()) }

// keep notes the failure that an object's status tells of, if it does.
func (p *past) keep(o *unstructured.Unstructured, generation int64) {
	var failed bool
	switch {
	case o.GetKind() == kindConfig:
		failed = condition(o, "Progressing")["status"] == "False"
	case isCustom(o):
		_, _, err := customRollout(o)
		failed = err != nil
	}
	if !failed {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures == nil {
		p.failures = map[types.UID]failure{}
	}
	p.failures[o.GetUID()] = failure{failureOf(o), generation}
}

// without leaves out what a workload's status says of a past failure.
func (p *past) without(o *unstructured.Unstructured) *unstructured.Unstructured {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, ok := p.failures[o.GetUID()]; !ok || was.status != failureOf(o) || was.generation == o.GetGeneration() {
		return o
	}
	o = o.DeepCopy()
	if isCustom(o) {
		unstructured.RemoveNestedField(o.Object, "status")
	} else {
		unstructured.RemoveNestedField(o.Object, "status", "conditions")
	}
	return o
}

// failureOf is the part of a status that tells of a failure and when it was.
func failureOf(o *unstructured.Unstructured) string {
	if !isCustom(o) {
		c := condition(o, "Progressing")
		return c["reason"] + " " + c["lastUpdateTime"]
	}
	doc, _ := json.Marshal(o.Object["status"]) //nolint:errchkjson // it came as JSON
	return string(doc)
}
