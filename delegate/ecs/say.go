package ecs

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// in goes on in a section of the step's log.
func (s *session) in(unit string) { s.unit = unit }

// say writes a line to the step's log.
func (s *session) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.env.Log(s.unit), format+"\n", args...) // the agent reports what it can't log
}

// warn writes a line that somebody should read.
func (s *session) warn(format string, args ...any) { s.say("Warning: "+format, args...) }

// fails writes why the step has failed.
func (s *session) fails(err error) {
	_, _ = fmt.Fprintln(s.env.LogError(s.unit), err) // the agent reports what it can't log
}

// sayCount is how many tasks a service has, for people.
func sayCount(one types.Service) string {
	return fmt.Sprintf("%d/%d running, %d pending", one.RunningCount, one.DesiredCount, one.PendingCount)
}

// wrong is an error of what a user has written.
func wrong(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Causing(fault.ConfigurationFailure)
}
