package harnessapproval

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// auto says that the step approves by itself at a time.
type auto struct {
	Comments yamldoc.Field[string]
	Time     yamldoc.Field[string] // as deadlineFormat
	Zone     yamldoc.Field[string] // e.g. Europe/Berlin
}

// deadlineFormat is yyyy-MM-dd hh:mm a (semantics/pipeline §7.7).
const deadlineFormat = "2006-01-02 03:04 PM"

// soonest is how long people have at least before a step approves by itself
// (semantics/pipeline §7.7).
const soonest = 15 * time.Minute

func decodeAuto(v yamldoc.Value, d *document.Decoder) auto {
	var a auto
	d.Fields(v, document.Keys{
		"action":            d.Word(nil, plan.Approve),
		"comments":          d.Text(&a.Comments),
		"scheduledDeadline": func(e yamldoc.Value) { a.deadline(e, d) },
	})
	d.Need(v, "action", "scheduledDeadline")
	return a
}

func (a *auto) deadline(v yamldoc.Value, d *document.Decoder) {
	d.Fields(v, document.Keys{
		"time": func(e yamldoc.Value) {
			a.Time = d.String(e)
			if _, err := time.Parse(deadlineFormat, a.Time.Value); a.Time.Value != "" && err != nil {
				d.Errorf(e, "WRONG_VALUE", "found %q; want a time such as 2026-01-31 06:30 PM", a.Time.Value)
			}
		},
		"timeZone": func(e yamldoc.Value) {
			a.Zone = d.String(e)
			if _, err := time.LoadLocation(a.Zone.Value); err != nil {
				d.Errorf(e, "WRONG_VALUE", "found %q; want the name of a time zone such as Europe/Berlin", a.Zone.Value)
			}
		},
	})
	d.Need(v, "time", "timeZone")
}

// at is when the step approves by itself; nil if it doesn't.
func (a auto) at(now time.Time) (*plan.AutoApproval, error) {
	text := step.Text(a.Time)
	if text == "" {
		return nil, nil
	}
	zone, err := time.LoadLocation(step.Text(a.Zone))
	if err != nil {
		return nil, fault.New(fault.Invalid, "timeZone is %q; want the name of a time zone such as Europe/Berlin", step.Text(a.Zone))
	}
	at, err := time.ParseInLocation(deadlineFormat, text, zone)
	if err != nil {
		return nil, fault.New(fault.Invalid, "time is %q; want a time such as 2026-01-31 06:30 PM", text)
	}
	if at.Before(now.Add(soonest)) {
		return nil, fault.New(fault.Invalid, "the step would approve by itself at %s; want a time at least %s from now, which is %s",
			at.UTC().Format(time.RFC3339), soonest, now.UTC().Format(time.RFC3339))
	}
	return &plan.AutoApproval{At: at.UTC(), Comments: step.Text(a.Comments)}, nil
}
