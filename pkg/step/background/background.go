// Package background is the step type Background: a program that goes on beside the
// steps after it, until the session of its group, or of its stage, ends.
//
// It has no outputs. The program is run by delegate/workspace.
package background

import (
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Name is the type's, as in YAML.
const Name = "Background"

// Type describes the step type.
func Type() step.Type { return step.Type{Name: Name, Session: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	Command yamldoc.Field[string]
	Shell   yamldoc.Field[string] // empty: Sh
	tool    workspace.Tool
	docker  bool // it is Docker in a container
}

// inDocker matches the images that run Docker in a container.
var inDocker = regexp.MustCompile(`(^|/)docker:[^/]*dind`)

// noContainer is what a step can't have without a container.
const noContainer = "no containers are run for steps, so nothing runs what an image begins with: write a command, of a program on the delegate's machine"

// noDocker is why a step is skipped that runs Docker in a container.
const noDocker = "the step is skipped: no containers are run for steps, and so no Docker in one; the steps of the session use the Docker of the delegate's machine"

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	keys := document.Merge(s.tool.Keys(d), document.Keys{
		"command":      d.Text(&s.Command),
		"shell":        d.Supported(&s.Shell, "shell", []string{"Sh", "Bash", "Python"}, "Powershell", "Pwsh"),
		"entrypoint":   d.Words(nil), // what begins Docker
		"registryRef":  d.Refuse("a registry of Harness' own isn't supported"),
		"reports":      d.Refuse("reports of tests aren't supported"),
		"portBindings": func(v yamldoc.Value) { ports(d, v) },
	})
	image := keys["image"]
	keys["image"] = func(v yamldoc.Value) {
		image(v)
		if s.docker {
			d.Warnf(v, document.NoEffect, "%s", noDocker)
		}
	}
	if at := v.Node.Get("image"); at != nil {
		s.docker = inDocker.MatchString(at.Value)
	}
	// Harness' steps of this type have neither.
	delete(keys, "preExecution")
	delete(keys, "delegateSelectors")
	d.Fields(v, keys)
	if s.docker {
		return s
	}
	if !document.Neutral(v.Node.Get("entrypoint")) {
		d.Unsupported(document.Child(v, "entrypoint"), "%s", noContainer)
	}
	switch {
	case !document.Neutral(v.Node.Get("command")):
	case document.Neutral(v.Node.Get("image")):
		d.Errorf(v, document.MissingKey, "key \"command\" is missing: it says what runs in the background")
	default:
		d.Unsupported(document.Child(v, "image"), "%s", noContainer)
	}
	return s
}

// ports are those of a container by those of its machine. A process listens where it
// says itself.
func ports(d *document.Decoder, v yamldoc.Value) {
	for own, at := range d.StringMap(v).Value {
		if own != at {
			d.Errorf(document.Child(v, own), document.WrongValue, "found %s for the port %s; a process listens on its machine's own ports: have the command listen on %[2]s", at, own)
		}
	}
}

// Start has the delegate of the session begin the program.
func (s *Spec) Start(in step.In) (step.Action, error) {
	if s.docker {
		return step.Action{Done: &plan.Outcome{Status: plan.Skipped, Message: noDocker}}, nil
	}
	run, err := s.tool.Run(in)
	if err != nil {
		return step.Action{}, err
	}
	if strings.TrimSpace(s.Command.Value) == "" {
		return step.Action{}, fault.New(fault.Invalid, "command is empty").Causing(fault.ConfigurationFailure)
	}
	w, err := step.Work(in, workspace.Background{Run: run, Name: in.Name, Shell: s.shell(), Command: s.Command.Value})
	if err != nil {
		return step.Action{}, err
	}
	return step.Action{Task: &step.Task{Kind: workspace.KindBackground, Payload: w, Selectors: in.Selectors, Machine: in.Session.Machine}}, nil
}

// shell is the program that runs the command.
func (s *Spec) shell() string {
	switch s.Shell.Value {
	case "Bash":
		return "bash"
	case "Python":
		return "python3"
	}
	return "sh"
}
