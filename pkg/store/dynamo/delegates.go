package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// delegates is store.Delegates.
type delegates struct{ table *table }

// remembered is how long a silent delegate stays on record.
const remembered = 24 * time.Hour

// delegateDoc is what of a delegate changes only when it registers. Items of
// before have the rest here, too, until the next beat.
type delegateDoc struct {
	Scope     ref.Scope     `json:"scope"`
	Name      string        `json:"name"`
	Host      string        `json:"host,omitempty"`
	Tags      []string      `json:"tags,omitempty"`
	Version   string        `json:"version,omitempty"`
	Kinds     []task.Kind   `json:"kinds,omitempty"`
	Capacity  int           `json:"capacity"`
	Running   int           `json:"running,omitempty"`
	Draining  bool          `json:"draining,omitempty"`
	TokenID   string        `json:"token,omitempty"`
	StartedAt int64         `json:"started,omitempty"`
	Quiet     time.Duration `json:"quiet,omitempty"`

	Binding *store.Binding `json:"binding,omitempty"`
	Machine string         `json:"machine,omitempty"`
	Tools   []string       `json:"tools,omitempty"`
}

// errForeign: another token registered the delegate.
var errForeign = errors.New("it registered with another token")

// PutDelegate registers one.
func (s delegates) PutDelegate(ctx context.Context, d store.Delegate) error {
	it := delegateAt(d.Scope.Account, d.ID).item()
	it["seen"], it[Expires], it["token"] = num(millis(d.LastSeen)), num(forgottenAt(d.LastSeen)), str(d.TokenID)
	it["running"], it["quiet"] = num(int64(d.Running)), num(int64(d.Quiet))
	it["line"], it["unplugged"] = num(d.Line), num(d.Unplugged)
	if d.Draining {
		it["draining"] = num(1)
	}
	if err := s.table.encode(ctx, it, "doc", delegateDoc{
		Scope: d.Scope, Name: d.Name, Host: d.Host, Tags: d.Tags, Version: d.Version, Kinds: d.Kinds, Capacity: d.Capacity,
		TokenID: d.TokenID, StartedAt: millis(d.StartedAt), Binding: d.Binding, Machine: d.Machine, Tools: d.Tools,
	}, largestValue); err != nil {
		return err
	}
	own := s.table.put(it, missing+" OR attribute_not_exists(#token) OR #token = :token", item{":token": str(d.TokenID)}, errForeign)
	err := again(ctx, func() error { return s.table.transact(ctx, own) })
	if errors.Is(err, errForeign) {
		return fault.New(fault.Forbidden, "delegate %s registered with another token", d.ID)
	}
	return err
}

func forgottenAt(seen time.Time) int64 { return seen.Add(remembered).Unix() }

// BeatDelegate takes in a sign of life.
func (s delegates) BeatDelegate(ctx context.Context, account, id string, b store.Beat) error {
	change := "SET #seen = :seen, #expires = :expires, #running = :running, #quiet = :quiet"
	values := item{
		":seen": num(millis(b.At)), ":expires": num(forgottenAt(b.At)), ":running": num(int64(b.Running)), ":quiet": num(int64(b.Quiet)),
	}
	condition := present
	if b.Draining {
		change, values[":yes"] = change+", #draining = :yes", num(1)
	}
	if b.Quiet > 0 && b.Line > 0 {
		change, values[":line"] = change+", #line = :line", num(b.Line)
		condition += " AND (attribute_not_exists(#unplugged) OR #unplugged < :line)"
	}
	it, heard, err := s.table.change(ctx, delegateAt(account, id), change, condition, values)
	switch {
	case err != nil:
		return fmt.Errorf("take in a beat of delegate %s: %w", id, err)
	case it == nil:
		return absent("delegate %q", id)
	case heard:
		return nil
	}
	b.Quiet = 0 // the socket that it relied on has closed meanwhile
	return s.BeatDelegate(ctx, account, id, b)
}

// UnplugDelegate takes in that a socket of the delegate has closed. One that it
// has replaced, or a delegate that is gone, loses the condition.
func (s delegates) UnplugDelegate(ctx context.Context, account, id string, line int64, at time.Time) error {
	change, condition := "SET #seen = :seen, #quiet = :none", present
	values := item{":seen": num(millis(at)), ":none": num(0)}
	if line > 0 {
		change, values[":line"] = change+", #unplugged = :line", num(line)
		condition += " AND (attribute_not_exists(#line) OR #line <= :line) AND (attribute_not_exists(#unplugged) OR #unplugged <= :line)"
	}
	if _, _, err := s.table.change(ctx, delegateAt(account, id), change, condition, values); err != nil {
		return fmt.Errorf("unplug delegate %s: %w", id, err)
	}
	return nil
}

func readDelegate(ctx context.Context, b bodies, it item) (store.Delegate, error) {
	var d delegateDoc
	if err := b.decode(ctx, it, "doc", &d); err != nil {
		return store.Delegate{}, err
	}
	out := store.Delegate{
		ID: text(it, "sk"), Scope: d.Scope, Name: d.Name, Host: d.Host, Tags: d.Tags, Version: d.Version, Kinds: d.Kinds,
		Capacity: d.Capacity, Running: d.Running, Draining: d.Draining || number(it, "draining") > 0, TokenID: d.TokenID,
		LastSeen: fromMillis(number(it, "seen")), StartedAt: fromMillis(d.StartedAt), Quiet: d.Quiet,
		Line: number(it, "line"), Unplugged: number(it, "unplugged"), Binding: d.Binding, Machine: d.Machine, Tools: d.Tools,
	}
	if _, split := it["running"]; split {
		out.Running, out.Quiet = int(number(it, "running")), time.Duration(number(it, "quiet"))
	}
	return out, nil
}

// ListDelegates lists those of an account seen since the given time, by id.
func (s delegates) ListDelegates(ctx context.Context, account string, since time.Time) ([]store.Delegate, error) {
	found, err := s.table.query(ctx, query{pk: delegatesPK(account), filter: "#seen >= :since", values: item{":since": num(millis(since))}})
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s.table.bodies, slices.DeleteFunc(found, s.table.expired), readDelegate)
}

// Delegate reads one.
func (s delegates) Delegate(ctx context.Context, account, id string) (store.Delegate, error) {
	it, err := s.table.find(ctx, delegateAt(account, id), "delegate %q", id)
	if err != nil {
		return store.Delegate{}, err
	}
	if s.table.expired(it) {
		return store.Delegate{}, absent("delegate %q", id)
	}
	return readDelegate(ctx, s.table.bodies, it)
}

// DeleteDelegate forgets one.
func (s delegates) DeleteDelegate(ctx context.Context, account, id string) error {
	return s.table.drop(ctx, delegateAt(account, id), "", nil)
}
