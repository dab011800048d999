package workspace

import "github.com/slipway-cd/slipway/pkg/task"

// KindBackground is the kind of tasks that begin a program which goes on until its
// session ends.
const KindBackground task.Kind = "background"

// Background is the spec of such a task.
type Background struct {
	Run
	Name    string `json:"name"` // of the step
	Shell   string `json:"shell"`
	Command string `json:"command"` // a script for the shell
}
