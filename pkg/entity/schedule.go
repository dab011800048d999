package entity

import (
	"regexp"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/trigger/cron"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Cron says when a Scheduled trigger is due (semantics/pipeline §11.3).
type Cron struct {
	Expression yamldoc.Field[string]
	Dialect    yamldoc.Field[string] // UNIX (the default) or QUARTZ
	Timezone   yamldoc.Field[string] // of the IANA; UTC by default
}

func (d triggers) scheduled(v yamldoc.Value, c *Cron) {
	var typ yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"type": d.Literal(&typ, "Cron"),
		"spec": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"expression": d.settled(&c.Expression),
				"type":       d.Literal(&c.Dialect, cron.Unix, cron.Quartz),
				"timezone":   d.settled(&c.Timezone),
			})
			d.Need(v, "expression")
			d.schedule(v, c)
		},
	})
	d.Need(v, "type", "spec")
	d.listens(v, ScheduledSource)
}

// schedule checks what a clock must be able to read.
func (d triggers) schedule(v yamldoc.Value, c *Cron) {
	if c.Expression.Set && c.Expression.Expr == "" {
		if _, err := cron.Parse(c.Dialect.Value, c.Expression.Value); err != nil {
			d.Errorf(document.Child(v, "expression"), document.WrongValue, "%s", err)
		}
	}
	if _, err := time.LoadLocation(c.Timezone.Value); err != nil {
		d.Errorf(document.Child(v, "timezone"), document.WrongValue, "found %q; want a time zone such as Europe/Berlin", c.Timezone.Value)
	}
}

// pattern checks a regular expression, in Go's syntax.
func (d *decoder) pattern(v yamldoc.Value, text string) bool {
	_, err := regexp.Compile(text)
	if err != nil {
		d.Errorf(v, document.WrongValue, "%s", err)
	}
	return err == nil
}
