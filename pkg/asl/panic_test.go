package asl

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// A transition that panics fails its own run; the engine isn't locked and goes
// on with the others.
func TestATransitionThatPanicsFailsItsOwnRun(t *testing.T) {
	t.Parallel()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse("m", []byte(`{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":3600,"End":true}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), Config{DB: db, Machines: map[string]*Machine{"m": m}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(e.Close(t.Context()), db.Close()) })
	for _, name := range []string{"bad", "good"} {
		if err := e.StartExecution(t.Context(), "m", name, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.change(t.Context(), func() (*change, error) {
		e.runs["bad"].changed()
		panic("odd")
	}); err != nil {
		t.Fatal(err)
	}
	if err := e.change(t.Context(), func() (*change, error) { panic("outside of any run") }); err == nil {
		t.Error("a panic outside of any run is no error")
	}
	for name, want := range map[string]string{"bad": "FAILED States.Runtime the engine panicked: odd", "good": "RUNNING  "} {
		x, err := e.DescribeExecution(t.Context(), name)
		if got := x.Status + " " + x.Error + " " + x.Cause; err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
}
