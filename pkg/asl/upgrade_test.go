package asl_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/statemachines"
)

// finisher ends every wait that it is asked for, and then the node.
type finisher struct {
	mu   sync.Mutex
	once map[string]bool
	e    *asl.Engine
}

func (f *finisher) handle(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	var c struct {
		Op, Node, Run, Token string
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	if c.Op == "await" && c.Run != "" { // a run that began with this release
		return json.RawMessage(`{}`), f.e.SendTaskFailure(ctx, c.Token, "Slipway.Done", "")
	}
	if c.Op == "await" {
		return json.RawMessage(`{}`), f.e.SendTaskSuccess(ctx, c.Token, json.RawMessage(`{}`))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.once[c.Node] || c.Op == "break" {
		return json.RawMessage(`{"do":"done"}`), nil
	}
	f.once[c.Node] = true
	return json.RawMessage(await(c.Node, 60, 50)), nil
}

// A database that an earlier release left behind, with a run in every state,
// is taken over: whatever was under way goes on to its end.
func TestDatabasesOfEarlierReleasesGoOn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/upgrade/*.sql")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d databases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			upgrade(t, file)
		})
	}
}

func upgrade(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(string(text))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	m, err := asl.Parse("node", statemachines.Node, map[string]string{"EngineFunctionArn": "engine", "NodeMachineArn": "node"})
	if err != nil {
		t.Fatal(err)
	}
	f := &finisher{once: map[string]bool{}}
	e, err := asl.Open(t.Context(), asl.Config{
		DB: db, Machines: map[string]*asl.Machine{"node": m}, Concurrency: 4, Functions: map[string]asl.Handler{"engine": f.handle},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(e.Close(context.Background()), db.Close()) })
	f.e = e
	if err := e.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"advancing", "retrying", "awaiting", "parent", "first", "second", "done", "broken", "breaking"} { // the parent begins the second
		want := "SUCCEEDED"
		if run == "broken" || run == "breaking" {
			want = "FAILED"
		}
		if x := ended(t, e, run); x.Status != want {
			t.Errorf("%s ended %s %s %s; want %s", run, x.Status, x.Error, x.Cause, want)
		}
	}
}

const (
	before = `{"StartAt":"Old","States":{"Old":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",
		"Parameters":{"FunctionName":"f","Payload":{"token.$":"$$.Task.Token"}},"ResultPath":null,"Next":"Gone"},
		"Gone":{"Type":"Pass","Result":"old","End":true}}}`
	after = `{"StartAt":"New","States":{"New":{"Type":"Pass","Result":"new","End":true}}}`
)

// tokens is a function that hands out the tokens that it gets.
type tokens chan string

func (c tokens) handle(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
	var p struct{ Token string }
	err := json.Unmarshal(in, &p)
	c <- p.Token
	return json.RawMessage(`{}`), err
}

// A run goes on with the definition that it began with, through any number of
// restarts; runs that begin later have the new one.
func TestARunKeepsItsDefinition(t *testing.T) {
	t.Parallel()
	got := make(tokens, 10)
	e := open(t, before, asl.Config{Functions: functions(got.handle)})
	e.start(t, "old", `{}`)
	token := <-got
	for _, name := range []string{"new", "newer"} {
		if err := e.close(); err != nil {
			t.Fatal(err)
		}
		e = openAt(t, e.file, after, asl.Config{Functions: functions(got.handle)})
		if err := e.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		token = <-got // the old run's function is called again
		e.start(t, name, `{}`)
		if x := ended(t, e.Engine, name); string(x.Output) != `"new"` {
			t.Errorf("%s ended %s %s", name, x.Status, x.Output)
		}
	}
	if err := e.SendTaskSuccess(t.Context(), token, json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	if x := ended(t, e.Engine, "old"); string(x.Output) != `"old"` {
		t.Errorf("the old run ended %s %s", x.Status, x.Output)
	}
}

// A run whose rows don't fit its definition fails alone, and whoever waits for
// it hears of it.
func TestARunThatCantBeLoadedFailsAlone(t *testing.T) {
	t.Parallel()
	got := make(tokens, 10)
	e := open(t, before, asl.Config{Functions: functions(got.handle)})
	for _, run := range []string{"bad", "odd", "unknown", "good"} {
		e.start(t, run, `{}`)
		<-got
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlitedb.Open(t.Context(), e.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`UPDATE asl_threads SET doc = replace(doc, '"Old"', '"Never"') WHERE run = 'bad';
			UPDATE asl_threads SET doc = '{' WHERE run = 'odd';
			UPDATE asl_runs SET definition = 'none' WHERE name = 'unknown';`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	e = openAt(t, e.file, after, asl.Config{Functions: functions(got.handle)})
	if err := e.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.SendTaskSuccess(t.Context(), <-got, json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	for run, want := range map[string]string{"bad": "FAILED States.Runtime", "odd": "FAILED States.Runtime", "unknown": "FAILED States.Runtime", "good": "SUCCEEDED "} {
		if x := ended(t, e.Engine, run); x.Status+" "+x.Error != want {
			t.Errorf("%s ended %s %s %s; want %s", run, x.Status, x.Error, x.Cause, want)
		}
	}
}
