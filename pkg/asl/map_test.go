package asl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

func list(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprint(i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// What a Map costs grows with its items, not with their square. Four times the
// items would take sixteen times as long; ten are allowed on a busy machine.
func TestAMapIsLinearInItsItems(t *testing.T) {
	t.Parallel()
	e := open(t, machine("M", `"M":{"Type":"Map","ItemProcessor":{"StartAt":"A","States":{"A":`+task(`"End":true`)+`}},"End":true}`), asl.Config{
		Concurrency: 16, Functions: functions(func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }),
	})
	run := func(n int) time.Duration {
		begun := time.Now()
		name := fmt.Sprint("m", n)
		e.start(t, name, list(n))
		if x := ended(t, e.Engine, name); x.Status != "SUCCEEDED" || string(x.Output) != list(n) {
			t.Fatalf("%d items ended %s %s %s %.80s", n, x.Status, x.Error, x.Cause, x.Output)
		}
		return time.Since(begun)
	}
	small, large := run(2000), run(8000)
	t.Logf("2,000 items took %s, 8,000 %s", small, large)
	if large > 10*small+time.Second {
		t.Errorf("2,000 items took %s and 8,000 %s", small, large)
	}
}

// An inline Map runs 40 items at once at most, as on AWS.
func TestAMapRunsFortyItemsAtOnce(t *testing.T) {
	t.Parallel()
	var now atomic.Int32
	var last atomic.Bool
	out, full, other := make(chan struct{}), make(chan struct{}, 100), make(chan struct{})
	e := open(t, machine("M", `"M":{"Type":"Map","ItemProcessor":{"StartAt":"A","States":{"A":`+task(`"End":true`)+`}},"End":true}`), asl.Config{
		Concurrency: 100, Functions: functions(func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			switch string(in) {
			case `{"other":1}`:
				close(other)
				return in, nil
			case "40":
				last.Store(true)
			}
			if now.Add(1) == 40 {
				full <- struct{}{}
			}
			<-out
			return in, nil
		}),
	})
	e.start(t, "m", list(41))
	<-full
	e.start(t, "other", `[{"other":1}]`)
	<-other // had there been one more of the first run, it would have been called before
	if last.Load() {
		t.Error("the last of 41 items has begun before any other ended")
	}
	close(out)
	if x := ended(t, e.Engine, "m"); string(x.Output) != list(41) || !last.Load() {
		t.Errorf("the output is %s", x.Output)
	}
}

// A Map goes on after a restart with the items that are left.
func TestAMapGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	in := make(chan string, 100)
	hold := func(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
		if string(payload) == "0" || string(payload) == "1" {
			return payload, nil
		}
		in <- string(payload)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	definition := machine("M", `"M":{"Type":"Map","MaxConcurrency":2,"ItemProcessor":{"StartAt":"A","States":{"A":`+task(`"End":true`)+`}},"End":true}`)
	e := open(t, definition, asl.Config{Concurrency: 4, Functions: functions(hold)})
	e.start(t, "m", list(6))
	<-in
	<-in
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := e.db.Close(); err != nil {
		t.Fatal(err)
	}
	e = openAt(t, e.file, definition, asl.Config{Concurrency: 4, Functions: functions(func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })})
	if err := e.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x := ended(t, e.Engine, "m"); string(x.Output) != list(6) {
		t.Errorf("the run ended %s %s %s", x.Status, x.Error, x.Output)
	}
}

// Runs that ended longer ago than the retention are deleted with their names;
// others are kept.
func TestEndedRunsAreKeptForAWhile(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	e := open(t, machine("W", `"W":{"Type":"Choice","Choices":[{"Variable":"$.wait","BooleanEquals":true,"Next":"Wait"}],"Default":"S"},
		"Wait":{"Type":"Wait","Seconds":86400,"Next":"S"},"S":{"Type":"Succeed"}`), asl.Config{Now: now, Retention: 24 * time.Hour})
	e.start(t, "old", `{"wait":false}`)
	e.start(t, "waits", `{"wait":true}`)
	ahead.Store(int64(23 * time.Hour))
	e.start(t, "young", `{"wait":false}`)
	if err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.DescribeExecution(t.Context(), "old"); err != nil {
		t.Errorf("within the retention: %v", err)
	}
	ahead.Store(int64(25 * time.Hour))
	if err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"old": false, "waits": true, "young": true} {
		if _, err := e.DescribeExecution(t.Context(), name); (err == nil) != want {
			t.Errorf("%s is kept: %v; want %v", name, err == nil, want)
		}
	}
	e.start(t, "old", `{"wait":false}`) // the name is free
	var left int
	if err := e.db.Read(t.Context(), func(tx *sqlitedb.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM asl_definitions`).Scan(&left)
	}); err != nil || left != 1 {
		t.Errorf("%d definitions, %v", left, err)
	}
}

// A clock that is set back stretches no wait for a length of time.
func TestAClockSetBackStretchesNoWait(t *testing.T) {
	t.Parallel()
	var back atomic.Int64
	now := func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }
	e := open(t, machine("W", `"W":{"Type":"Wait","Seconds":1,"Next":"T"},"T":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",
		"Parameters":{"FunctionName":"f"},"TimeoutSeconds":1,"End":true}`), asl.Config{
		Now: now, Functions: functions(func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			back.Store(int64(48 * time.Hour))
			return in, nil
		}),
	})
	e.start(t, "r", `{}`)
	back.Store(int64(24 * time.Hour))
	if x := ended(t, e.Engine, "r"); x.Error != "States.Timeout" || x.Cause != "" {
		t.Errorf("the run ended %s %s %q", x.Status, x.Error, x.Cause)
	}
}
