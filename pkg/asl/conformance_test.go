package asl_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// rule is a line of testdata/conformance: a rule of the States Language, and a
// run that shows it. ${f} in a definition is a function that gives the
// answers one after the other; ${m} is the machine itself.
type rule struct {
	Rule       string
	States     json.RawMessage // of a machine that starts at S
	Definition json.RawMessage // or the whole machine
	Input      json.RawMessage
	Answers    []answer
	Calls      []json.RawMessage // what the function is given, if it is said
	Path       []string          // the states that are entered, if it is said
	Output     json.RawMessage
	Error      *string
	Cause      *string
	Refused    string // instead of a run: what the loader says

	mu    sync.Mutex
	calls []json.RawMessage
	e     *asl.Engine
}

// answer is what a call of the function is answered, or the token that it has
// in its payload.
type answer struct {
	OK      json.RawMessage
	Fill    int    // or a text of so many characters
	Error   string // or an error
	Cause   string
	Token   bool // SendTaskSuccess or SendTaskFailure
	Silence bool // nothing, to a token
}

func (r *rule) definition() []byte {
	if r.Definition != nil {
		return r.Definition
	}
	return fmt.Appendf(nil, `{"StartAt":"S","States":%s}`, r.States)
}

// handle answers a call.
func (r *rule) handle(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	r.mu.Lock()
	n := len(r.calls)
	r.calls = append(r.calls, payload)
	r.mu.Unlock()
	if n >= len(r.Answers) {
		return nil, &asl.Failure{Name: "Test.NoAnswer", Cause: "the table has no answer left"}
	}
	a := r.Answers[n]
	if a.Fill > 0 {
		a.OK = fmt.Appendf(nil, "%q", strings.Repeat("x", a.Fill))
	}
	if a.Silence {
		return json.RawMessage(`{}`), nil
	}
	if a.Token {
		var p struct{ Token string }
		if err := json.Unmarshal(payload, &p); err != nil {
			return nil, err
		}
		if a.OK != nil {
			return json.RawMessage(`{}`), r.e.SendTaskSuccess(ctx, p.Token, a.OK)
		}
		return json.RawMessage(`{}`), r.e.SendTaskFailure(ctx, p.Token, a.Error, a.Cause)
	}
	if a.Error != "" {
		return nil, &asl.Failure{Name: a.Error, Cause: a.Cause}
	}
	return a.OK, nil
}

// rules reads the tables.
func rules(t *testing.T) []*rule {
	t.Helper()
	files, err := filepath.Glob("testdata/conformance/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []*rule
	seen := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			r := &rule{}
			dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
			dec.DisallowUnknownFields()
			if err := dec.Decode(r); err != nil {
				t.Fatalf("%s: %v: %s", file, err, lines.Text())
			}
			r.Rule = strings.TrimSuffix(filepath.Base(file), ".jsonl") + "/" + r.Rule
			if seen[r.Rule] {
				t.Errorf("%s is there twice", r.Rule)
			}
			seen[r.Rule] = true
			out = append(out, r)
		}
	}
	if len(out) < 250 {
		t.Errorf("only %d rules", len(out))
	}
	return out
}

// Every rule of the tables holds.
func TestConformance(t *testing.T) {
	t.Parallel()
	list := rules(t)
	machines, handlers := map[string]*asl.Machine{}, map[string]asl.Handler{}
	for i, r := range list {
		name := fmt.Sprint("c", i)
		m, err := asl.Parse(name, r.definition(), map[string]string{"f": name, "m": name})
		if (err == nil) == (r.Refused != "") || err != nil && !strings.Contains(err.Error(), r.Refused) {
			t.Errorf("%s: loading it gave %v; want %q", r.Rule, err, r.Refused)
		}
		if err == nil {
			machines[name], handlers[name] = m, r.handle
		}
	}
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := asl.Open(t.Context(), asl.Config{DB: db, Machines: machines, Functions: handlers, Concurrency: 16, Trace: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(e.Close(context.Background()), db.Close()) })
	for i, r := range list {
		name := fmt.Sprint("c", i)
		if r.e = e; machines[name] == nil {
			continue
		}
		t.Run(r.Rule, func(t *testing.T) {
			t.Parallel()
			r.run(t, name)
		})
	}
}

func (r *rule) run(t *testing.T, name string) {
	t.Helper()
	if err := r.e.StartExecution(t.Context(), name, name, r.Input); err != nil {
		t.Fatal(err)
	}
	x := ended(t, r.e, name)
	switch {
	case r.Error != nil:
		if x.Status != "FAILED" || x.Error != *r.Error || r.Cause != nil && x.Cause != *r.Cause {
			t.Errorf("it ended %s %q %q %s; want FAILED %q", x.Status, x.Error, x.Cause, x.Output, *r.Error)
		}
	case x.Status != "SUCCEEDED":
		t.Errorf("it ended %s %s: %s", x.Status, x.Error, x.Cause)
	default:
		if diff := cmp.Diff(sorted(t, r.Output), sorted(t, x.Output)); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	}
	if r.Path != nil {
		if diff := cmp.Diff(r.Path, r.e.History(name)); diff != "" {
			t.Errorf("path (-want +got):\n%s", diff)
		}
	}
	if r.Calls == nil {
		return
	}
	var want, got []string
	for _, c := range r.Calls {
		want = append(want, sorted(t, c))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		got = append(got, sorted(t, c))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// sorted is JSON with its fields in order and its numbers as they are written.
func sorted(t *testing.T, data json.RawMessage) string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
