package custom

import "github.com/slipway-cd/slipway/pkg/task"

// Kind is the kind of its tasks.
const Kind task.Kind = "instances"

// Place is how a custom deployment's instances are found, by its
// FetchInstanceScript step and by whoever watches them from then on. The step's
// Work needs no more than this.
type Place struct {
	Script Instances `json:"script"`
}

// Instances runs the script of a deployment template and reads which instances
// it has found (semantics/pipeline §9.6).
type Instances struct {
	Script task.Shell `json:"script"`
	// List is the JSON path of the list of instances in what the script writes,
	// Name that of the name in each of them.
	List       string            `json:"list"`
	Name       string            `json:"name"`
	Attributes map[string]string `json:"attributes,omitempty"` // name -> JSON path in an instance
}
