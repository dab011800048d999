package entity

import (
	"regexp"
	"time"

	"github.com/slipway-cd/slipway/pkg/trigger/cron"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Cron says when a Scheduled trigger is due (pipeline spec §11.3).
type Cron struct {
	Expression yamldoc.Field[string]
	Dialect    yamldoc.Field[string] // UNIX (the default) or QUARTZ
	Timezone   yamldoc.Field[string] // of the IANA; UTC by default
}

func (d *decoder) scheduled(v yamldoc.Value, c *Cron) {
	var typ yamldoc.Field[string]
	d.fields(v, keys{
		"type": d.literal(&typ, "Cron"),
		"spec": func(v yamldoc.Value) {
			d.fields(v, keys{
				"expression": d.text(&c.Expression),
				"type":       d.literal(&c.Dialect, cron.Unix, cron.Quartz),
				"timezone":   d.text(&c.Timezone),
			})
			d.need(v, "expression")
			d.schedule(v, c)
		},
	})
	d.need(v, "type", "spec")
	d.listens(v, ScheduledSource)
}

// schedule checks what a clock must be able to read.
func (d *decoder) schedule(v yamldoc.Value, c *Cron) {
	switch {
	case c.Expression.Expr != "" || c.Timezone.Expr != "":
		d.Errorf(v, wrongValue, "found an expression; a schedule has fixed values")
	case c.Expression.Set:
		if _, err := cron.Parse(c.Dialect.Value, c.Expression.Value); err != nil {
			d.Errorf(child(v, "expression"), wrongValue, "%s", err)
		}
	}
	if _, err := time.LoadLocation(c.Timezone.Value); err != nil {
		d.Errorf(child(v, "timezone"), wrongValue, "found %q; want a time zone such as Europe/Berlin", c.Timezone.Value)
	}
}

// pattern checks a regular expression, in Go's syntax.
func (d *decoder) pattern(v yamldoc.Value, text string) bool {
	_, err := regexp.Compile(text)
	if err != nil {
		d.Errorf(v, wrongValue, "%s", err)
	}
	return err == nil
}
