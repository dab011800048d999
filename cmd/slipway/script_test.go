package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/internal/testport"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/wire"
)

func TestMain(m *testing.M) {
	delegate.Answer()
	testscript.Main(m, map[string]func(){"slipway": func() { os.Exit(run()) }})
}

// TestScript runs the scripts of testdata/script. "slipway" in them is the
// real command in a process of its own; "server [FLAGS]" starts "slipway
// serve" on a free port, and "shut" stops it and leaves its log in server.log ("stop" would end the script).
func TestScript(t *testing.T) {
	t.Parallel()
	servers := &servers{running: map[*testscript.TestScript]*server{}}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("SLIPWAY_CONFIG", filepath.Join(e.WorkDir, "config.yaml"))
			examples, err := filepath.Abs("../../examples")
			e.Setenv("EXAMPLES", examples)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server": servers.start,
			"shut":   servers.stop,
			"ids":    ids,
			"utf16":  utf16,

			"until-status": untilStatus,
			"provisioned":  provisioned,
			"recorded":     recorded,
		},
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// servers are those that scripts have started, each at most one at a time.
type servers struct {
	mu      sync.Mutex
	running map[*testscript.TestScript]*server
}

func (s *servers) take(ts *testscript.TestScript) *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.running[ts]
	delete(s.running, ts)
	return one
}

// server is a running "slipway serve".
type server struct {
	cancel context.CancelFunc
	done   chan error
	said   chan string // its log, once it has ended
}

func (s *servers) start(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	a := newApp(process{in: strings.NewReader(""), out: write, err: write, env: ts.Getenv, stop: func() {}})
	command := root(a)
	at := ts.Getenv("ADDR") // the same again after a stop
	if at == "" {
		free, err := testport.Free(1)
		ts.Check(err)
		at = free[0]
	}
	command.SetArgs(append([]string{"serve", "--addr", at, "--data", ts.MkAbs("data")}, args...))
	one := &server{cancel: cancel, done: make(chan error, 1), said: make(chan string, 1)}
	go func() {
		err := command.ExecuteContext(ctx)
		_ = write.Close()
		one.done <- err
	}()
	ready := make(chan string, 1)
	go func() {
		var said strings.Builder
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			said.WriteString("server: " + lines.Text() + "\n")
			if _, address, found := strings.Cut(lines.Text(), `"slipway serves" url=http://`); found {
				ready <- strings.Fields(address)[0]
			}
		}
		close(ready)
		one.said <- said.String()
	}()
	addr, ok := <-ready
	if !ok {
		ts.Fatalf("the server ended with %v", <-one.done)
	}
	ts.Setenv("ADDR", addr)
	s.mu.Lock()
	s.running[ts] = one
	s.mu.Unlock()
	ts.Defer(func() {
		if left := s.take(ts); left != nil {
			ts.Check(left.end(ts))
		}
	})
}

func (s *servers) stop(ts *testscript.TestScript, _ bool, _ []string) {
	one := s.take(ts)
	if one == nil {
		ts.Fatalf("no server runs")
	}
	ts.Check(one.end(ts))
}

// end stops the server, shows its log and leaves it in server.log, in the
// script's own goroutine.
func (s *server) end(ts *testscript.TestScript) error {
	s.cancel()
	err := <-s.done
	said := <-s.said
	ts.Logf("%s", said)
	return errors.Join(err, os.WriteFile(ts.MkAbs("server.log"), []byte(said), 0o600))
}

// ids puts the id of the newest execution into $ID.
func ids(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Exec("slipway", "executions", "--limit", "1", "-o", "json"))
	_, rest, _ := strings.Cut(ts.ReadFile("stdout"), `"id": "`)
	id, _, found := strings.Cut(rest, `"`)
	if !found {
		ts.Fatalf("there is no execution")
	}
	ts.Setenv("ID", id)
}

// utf16 writes a file of ASCII again in UTF-16: "utf16 FROM TO".
func utf16(ts *testscript.TestScript, _ bool, args []string) {
	out := []byte("\xff\xfe")
	for _, b := range []byte(ts.ReadFile(args[0])) {
		out = append(out, b, 0)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out, 0o600))
}

// provisioned has an execution make a stack by a provisioner, in the data of a
// server that was stopped: "provisioned IDENTIFIER".
func provisioned(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	local, err := wire.Open(ctx, wire.ServeConfig{Data: ts.MkAbs("data"), Log: slog.New(slog.DiscardHandler)})
	ts.Check(err)
	defer func() { ts.Check(local.Close(ctx)) }()
	payload, err := json.Marshal(task.Work{
		Execution: "x1", Stage: "s", Step: "stack", Provisioner: &provision.Provisioner{Identifier: args[0], Place: json.RawMessage(`{"stackName":"orders"}`)}, Spec: json.RawMessage(`{}`),
	})
	ts.Check(err)
	id := task.ID("t-" + args[0])
	_, err = local.Store.CreateTask(ctx, store.Task{
		ID: id, Scope: ref.Scope{Account: "default", Org: defaultOrg, Project: defaultProject}, Execution: "x1", Node: "stack", Kind: "cloudformation", Payload: payload, CreatedAt: time.Now(), Token: "token",
	})
	ts.Check(err)
	claimed, err := local.Store.ClaimTasks(ctx, "d1", 1, []task.ID{id}, time.Now().Add(time.Hour))
	ts.Check(err)
	for _, k := range []provision.Keep{
		{Status: provision.Begun, Data: json.RawMessage(`{"first":true}`)},
		{Status: provision.Applied, Data: json.RawMessage(`{"template":"` + strings.Repeat("hidden ", 40) + `"}`)},
	} {
		k.Fence = claimed[0].Fence
		_, err := local.Tasks.KeepProvision(ctx, store.Delegate{ID: "d1"}, id, k)
		ts.Check(err)
	}
	_, err = local.Store.CancelTask(ctx, id)
	ts.Check(err)
}

// recorded makes audit records, of years ago: "recorded NUMBER YEARS", while no server
// runs.
func recorded(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	local, err := wire.Open(ctx, wire.ServeConfig{Data: ts.MkAbs("data"), Log: slog.New(slog.DiscardHandler)})
	ts.Check(err)
	defer func() { ts.Check(local.Close(ctx)) }()
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	years, err := strconv.Atoi(args[1])
	ts.Check(err)
	for range n {
		_, err := local.Store.AppendAudit(ctx, audit.Record{
			Time: time.Now().AddDate(-years, 0, 0), Actor: "ada", Scope: ref.Scope{Account: "default"}, Action: audit.Update, Kind: "pipeline", ID: "web",
		})
		ts.Check(err)
	}
}

// untilStatus waits until an execution has a status: "until-status ID STATUS".
func untilStatus(ts *testscript.TestScript, _ bool, args []string) {
	a := newApp(process{env: ts.Getenv})
	a.caller.changed = func(string) bool { return false }
	client, _, err := a.caller.connect()
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last api.ExecutionTree
	err = client.Watch(ctx, args[0], func(t api.ExecutionTree) {
		if last = t; string(t.Status) == args[1] {
			cancel()
		}
	})
	if string(last.Status) != args[1] {
		ts.Fatalf("execution %s is %s; want %s (%v)", args[0], last.Status, args[1], err)
	}
}
