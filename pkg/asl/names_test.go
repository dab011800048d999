package asl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

const atOnce = `{"StartAt":"S","States":{"S":{"Type":"Succeed"}}}`

// A run that ends as soon as it begins is started once, however many start it
// at the same time.
func TestManyStartsOfOneNameAreOneRun(t *testing.T) {
	t.Parallel()
	e := open(t, atOnce, asl.Config{})
	for round := range 100 {
		name := fmt.Sprint("r", round)
		var wg sync.WaitGroup
		for range 24 {
			wg.Go(func() {
				err := e.StartExecution(t.Context(), "m", name, json.RawMessage(`{}`))
				if err != nil && !errors.Is(err, asl.ErrExecutionAlreadyExists) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
	}
	if err := e.StartExecution(t.Context(), "m", "r0", json.RawMessage(`{}`)); !errors.Is(err, asl.ErrExecutionAlreadyExists) {
		t.Errorf("the name of a run that has ended: %v", err)
	}
}

// A name that a nested run takes at the same time as somebody starts it
// belongs to one of the two.
func TestANestedRunAndAStartShareNoName(t *testing.T) {
	t.Parallel()
	parent, err := asl.Parse("p", []byte(machine("C", `"C":{"Type":"Task","Resource":"arn:aws:states:::states:startExecution.sync:2",
		"Parameters":{"StateMachineArn":"m","Name.$":"$.child","Input":{}},"Catch":[{"ErrorEquals":["States.ALL"],"Next":"S"}],"Next":"S"},"S":{"Type":"Succeed"}`)), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := asl.Parse("m", []byte(atOnce), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, atOnce, asl.Config{Machines: map[string]*asl.Machine{"p": parent, "m": m}})
	for round := range 200 {
		name := fmt.Sprint("c", round)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := e.StartExecution(t.Context(), "p", "p"+name, json.RawMessage(`{"child":"`+name+`"}`)); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := e.StartExecution(t.Context(), "m", name, json.RawMessage(`{}`)); err != nil && !errors.Is(err, asl.ErrExecutionAlreadyExists) {
				t.Error(err)
			}
		})
		wg.Wait()
		for _, n := range []string{name, "p" + name} {
			if x := ended(t, e.Engine, n); x.Status != "SUCCEEDED" {
				t.Fatalf("%s ended %s %s %s", n, x.Status, x.Error, x.Cause)
			}
		}
	}
}

// A row that the disk refuses fails the call that wrote it; the run that has
// the row and all others go on.
func TestAConflictFailsOneCall(t *testing.T) {
	t.Parallel()
	e := open(t, machine("W", `"W":{"Type":"Wait","Seconds":3600,"End":true}`), asl.Config{})
	e.start(t, "kept", `{"n":1}`)
	// Behind the engine's back, so that it can't know the name.
	if err := e.db.Write(t.Context(), func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`INSERT INTO asl_threads VALUES ('odd', 7, '{}')`)
		if err == nil {
			_, err = tx.Exec(`CREATE TRIGGER odd BEFORE INSERT ON asl_runs WHEN new.name = 'odd' BEGIN SELECT RAISE(ABORT, 'taken'); END`)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.StartExecution(t.Context(), "m", "odd", json.RawMessage(`{}`)); !sqlitedb.IsConflict(err) {
			t.Errorf("the row that is refused: %v", err)
		}
	}
	e.start(t, "other", `{}`)
	if err := e.StartExecution(t.Context(), "m", "kept", json.RawMessage(`{"n":1}`)); err != nil {
		t.Errorf("the run that was under way: %v", err)
	}
	select {
	case err := <-e.Failed():
		t.Errorf("the engine stopped: %v", err)
	default:
	}
}
