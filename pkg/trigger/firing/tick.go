package firing

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/cron"
)

// Tick fires the schedules that are due in the minute of a time
// (semantics/pipeline §11.3). The same minute again fires nothing more.
func (s *Service) Tick(ctx context.Context, at time.Time) ([]store.Fire, error) {
	minute := at.UTC().Truncate(time.Minute)
	all, err := s.listeners(ctx, entity.ScheduledSource)
	if err != nil {
		return nil, err
	}
	var events []event
	for _, l := range all {
		is, err := due(l.trigger.Cron, minute)
		if err != nil { // it was checked when it was saved
			s.Log.WarnContext(ctx, "a saved schedule can't be read", "trigger", l.key.ID, "pipeline", l.key.Env, "error", err)
			continue
		}
		if is {
			events = append(events, event{
				listener: l, Event: trigger.Event{Source: trigger.Scheduled, Trigger: l.key.ID},
				id: minute.Format("2006-01-02T15:04Z"), at: minute,
			})
		}
	}
	return s.fireAll(ctx, events)
}

// due says whether a schedule has a time within the minute that begins then.
func due(c entity.Cron, minute time.Time) (bool, error) {
	schedule, err := cron.Parse(c.Dialect.Value, c.Expression.Value)
	if err != nil {
		return false, err
	}
	zone, err := time.LoadLocation(c.Timezone.Value)
	if err != nil {
		return false, err
	}
	next, ok := schedule.Next(minute.Add(-time.Nanosecond).In(zone))
	return ok && next.Before(minute.Add(time.Minute)), nil
}

// longestSleep bounds how many minutes Run makes up for: after a pause of the
// machine, what was due long ago isn't wanted any more.
const longestSleep = 5 * time.Minute

// Run fires schedules, minute by minute, until ctx ends. It is for a host that
// stays; elsewhere something else tells the minutes. It begins with the minute
// that is under way, which a host that stopped may not have fired.
func (s *Service) Run(ctx context.Context) error {
	var owed []time.Time
	for next := s.Now().Truncate(time.Minute); ; next = next.Add(time.Minute) {
		timer := time.NewTimer(next.Sub(s.Now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		now := s.Now().Truncate(time.Minute)
		if now.Sub(next) > longestSleep {
			next = now
		}
		owed = s.tickAll(ctx, now, append(owed, next))
	}
}

// tickAll fires minutes and gives back those of which not all was fired, to be
// fired again with the next one; not those that are too old by now.
func (s *Service) tickAll(ctx context.Context, now time.Time, minutes []time.Time) (owed []time.Time) {
	for _, minute := range minutes {
		if now.Sub(minute) > longestSleep {
			continue
		}
		if _, err := s.Tick(ctx, minute); err != nil && ctx.Err() == nil {
			s.Log.ErrorContext(ctx, "schedules weren't all fired", "minute", minute, "error", err)
			owed = append(owed, minute)
		}
	}
	return owed
}
