// Package jenkinsbuild is the step type JenkinsBuild: it runs a job of Jenkins
// and waits for its build (semantics/pipeline §7.12).
//
// Outputs: build.{executionStatus, jobUrl, buildNumber, buildDisplayName,
// buildFullDisplayName} and build.envVars.<name>. The build is followed by
// delegate/jenkins.
package jenkinsbuild

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/ticket"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "JenkinsBuild", New: decode} }

// Spec is the step's spec.
type Spec struct {
	ticket.Base
	Job        yamldoc.Field[string]
	Parameters []ticket.Parameter
	Every      yamldoc.Field[string] // a duration
	Unstable   yamldoc.Field[bool]
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Keys(d), document.Keys{
		"jobName":      d.Text(&s.Job),
		"jobParameter": func(e yamldoc.Value) { s.Parameters = ticket.Parameters(e, d) },
		"consoleLogPollFrequency": func(e yamldoc.Value) {
			s.Every = d.String(e) // not a Duration, which warns of Harness's own default
			if _, err := yamldoc.ParseDuration(s.Every.Value); s.Every.Value != "" && err != nil {
				d.Errorf(e, "WRONG_VALUE", "%s", err)
			}
		},
		"unstableStatusAsSuccess":        d.Flag(&s.Unstable),
		"useConnectorUrlForJobExecution": d.Flag(nil), // it is always used
	}))
	d.Missing(v, "connectorRef", "jobName")
	return s
}

// minEvery is the shortest time between two looks at a build, and the default
// (semantics/pipeline §7.12).
const minEvery = 5 * time.Second

// Start gives the job to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, selectors, err := s.Server(in, "Jenkins")
	if err != nil {
		return step.Action{}, err
	}
	p := task.Jenkins{Server: server, Job: step.Text(s.Job), Every: minEvery, Unstable: s.Unstable.Value}
	if p.Parameters, err = ticket.Given(s.Parameters); err != nil {
		return step.Action{}, err
	}
	if text := step.Text(s.Every); text != "" {
		every, err := yamldoc.ParseDuration(text)
		if err != nil {
			return step.Action{}, fault.New(fault.Invalid, "consoleLogPollFrequency: %w", err)
		}
		p.Every = max(every, minEvery)
	}
	return step.Action{Task: &step.Task{Kind: task.KindJenkins, Selectors: selectors, Payload: p}}, nil
}
