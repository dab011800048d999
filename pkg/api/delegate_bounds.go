package api

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/printable"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// What a delegate says of itself and its tasks at once. Each of a beat's tasks
// and watches is looked up.
const (
	maxTags      = 64  // of a delegate
	maxShown     = 256 // bytes of a name or a tag
	maxKinds     = 64
	maxHeld      = 1000    // watches
	maxWorkloads = 10_000  // of a watched release: more than a report tells of
	maxNews      = 1 << 20 // bytes of what a look for versions has brought
)

// checkTags says what is wrong with the tags of something.
func checkTags(of string, tags []string) error {
	if err := most(len(tags), maxTags, "tags of %s", of); err != nil {
		return err
	}
	return checkShown(of, tags...)
}

// checkShown says what is wrong with texts that people read in lists.
func checkShown(of string, texts ...string) error {
	for _, text := range texts {
		if !printable.Clean(text) || len(text) > maxShown {
			return invalid("%s says %.256q of itself; want at most %d characters that can be seen", of, text, maxShown)
		}
	}
	return nil
}

// most refuses too many of something, by its name.
func most(n, limit int, what string, args ...any) error {
	if n > limit {
		args = append(args, n, limit)
		return fault.New(fault.TooLarge, what+": %d; the limit is %d", args...)
	}
	return nil
}

// checkHello bounds what a delegate says of itself.
func checkHello(r protocol.Register) error {
	if !plain(r.ID) || r.Name == "" {
		return invalid("delegate %q with the id %q: it needs a name, and an id of at most 64 printable characters", r.Name, r.ID)
	}
	of := "delegate " + r.Name
	if err := checkShown(of, r.Name, r.Host, r.Version); err != nil {
		return err
	}
	for _, k := range r.Kinds {
		if err := checkShown(of, string(k)); err != nil {
			return err
		}
	}
	if err := most(len(r.Kinds), maxKinds, "kinds of task of %s", of); err != nil {
		return err
	}
	if err := most(r.Capacity, protocol.MaxTasks, "the capacity of %s", of); err != nil {
		return err
	}
	return checkTags(of, r.Tags)
}

// checkClaim bounds what a claim asks for.
func checkClaim(c protocol.Claim) error {
	return most(c.Max, protocol.MaxTasks, "tasks that a claim asks for")
}

// checkBeat bounds what a heartbeat names.
func checkBeat(h protocol.Heartbeat) error {
	return most(len(h.Running), protocol.MaxTasks, "tasks that a heartbeat names")
}

// checkWatching bounds the watches that a delegate names.
func checkWatching(w protocol.Watching) error {
	return most(len(w.Held), maxHeld, "watches that a delegate names")
}

// checkObserved bounds what a delegate sees of a release. Whoever watches cuts
// the instances at task.MaxInstances.
func checkObserved(o task.Observed) error {
	if err := most(len(o.Instances), task.MaxInstances, "instances of a watched release"); err != nil {
		return err
	}
	for _, i := range o.Instances {
		if err := most(i.Described(), task.MaxProperties, "bytes of properties of the instance %.256q", i.Name); err != nil {
			return err
		}
	}
	if err := most(len(o.News), maxNews, "bytes of what a look for versions has brought"); err != nil {
		return err
	}
	return most(len(o.Workloads), maxWorkloads, "workloads of a watched release")
}
