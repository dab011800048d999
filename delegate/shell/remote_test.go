package shell

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// login runs a script on a host. The folder holds the known hosts.
func login(ctx context.Context, t *testing.T, folder string, h *host, p task.Shell) (task.Result, *executortest.Env, error) {
	t.Helper()
	if p.Remote == nil {
		p.Remote = &h.login
	}
	if p.Shell == "" {
		p.Shell = "Bash"
	}
	env := executortest.New(t, nil)
	r, err := New(os.Environ(), folder)(ctx, executortest.Assignment(t, task.KindShell, p), env.Env)
	return r, env, err
}

func TestRemoteScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outputs := []task.ShellOutput{{Name: "a", Variable: "a"}, {Name: "n", Variable: "n", Number: true}, {Name: "s", Variable: "s", Secret: true}}
	tests := []struct {
		name   string
		task   task.Shell
		status task.Status
		log    string
		stderr string
		want   string // outputVariables
		secret string
	}{
		{
			name:   "outputs, also of several lines and secret ones, and an environment that needs quotes",
			task:   task.Shell{Script: "echo \"$GREETING\"\na='x\ny'\nn=7\ns=hidden", Env: map[string]string{"GREETING": "it's `me` $HOME"}, Outputs: outputs},
			status: task.Succeeded, log: "it's `me` $HOME\nThe script ended with exit code 0", want: `{"a":"x\ny","n":7}`, secret: "hidden",
		},
		{name: "a script that fails", task: task.Shell{Script: "echo no >&2; exit 3", Outputs: outputs}, status: task.Failed, stderr: "no\nThe script ended with exit code 3", want: `{}`},
		{name: "an early exit has no outputs", task: task.Shell{Script: "a=1; exit 0", Outputs: outputs[:1]}, status: task.Succeeded, want: `{}`},
		{name: "a directory", task: task.Shell{Script: "pwd", WorkingDirectory: dir}, status: task.Succeeded, log: dir + "\n", want: `{}`},
		{name: "no such directory", task: task.Shell{Script: "pwd", WorkingDirectory: dir + "/none"}, status: task.Failed, stderr: "none", want: `{}`},
		{name: "another interpreter", task: task.Shell{Script: "#!/usr/bin/env python3\nimport os\nprint(os.environ['X'])", Env: map[string]string{"X": "y"}}, status: task.Succeeded, log: "y\n", want: `{}`},
		{name: "a Bourne shell by its name", task: task.Shell{Script: "#!/bin/sh -e\na=1", Outputs: outputs[:1]}, status: task.Succeeded, want: `{"a":"1"}`},
		{name: "no PowerShell", task: task.Shell{Shell: "PowerShell", Script: "Write-Host x", Env: map[string]string{"PATH": "/nowhere:/bin:/usr/bin"}}, status: task.Failed, stderr: "there is no PowerShell on this host", want: `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, env, err := login(t.Context(), t, t.TempDir(), newHost(t), tt.task)
			if err != nil || r.Status != tt.status {
				t.Fatalf("%v, %s: %s; want %s", err, r.Status, r.Message, tt.status)
			}
			var got struct {
				Output struct {
					Variables json.RawMessage `json:"outputVariables"`
				}
			}
			if err := json.Unmarshal(r.Outputs, &got); err != nil {
				t.Fatal(err)
			}
			if string(got.Output.Variables) != tt.want || r.SecretOutputs["output.outputVariables.s"] != tt.secret {
				t.Errorf("outputs %s and %v; want %s and %q", got.Output.Variables, r.SecretOutputs, tt.want, tt.secret)
			}
			if log := env.Text(Unit, executor.Info); !strings.Contains(log, tt.log) {
				t.Errorf("log %q; want %q in it", log, tt.log)
			}
			if log := env.Text(Unit, executor.Error); !strings.Contains(log, tt.stderr) {
				t.Errorf("errors %q; want %q in them", log, tt.stderr)
			}
		})
	}
}

// Nothing stays on the host, also when the script fails.
func TestRemoteFolderIsRemoved(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"dirname $0", "dirname $0; exit 1"} {
		_, env, err := login(t.Context(), t, t.TempDir(), newHost(t), task.Shell{Script: script})
		if err != nil {
			t.Fatal(err)
		}
		folder, _, _ := strings.Cut(env.Text(Unit, executor.Info), "\n")
		if !strings.HasPrefix(folder, "/tmp/slipway-") {
			t.Fatalf("the script's folder is %q", folder)
		}
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stays: %v", folder, err)
		}
	}
}

func TestRemoteFailures(t *testing.T) {
	t.Parallel()
	other, _ := keyPair(t)
	tests := []struct {
		name   string
		change func(*task.SSH)
		says   string
		typ    fault.FailureType
	}{
		{"nobody listens", func(s *task.SSH) { s.Port = 1 }, "host 127.0.0.1:1 is out of reach", fault.Connectivity},
		{"another key", func(s *task.SSH) { s.Key = other }, "doesn't let ada in", fault.Authentication},
		{"another user", func(s *task.SSH) { s.User = "eve" }, "doesn't let eve in", fault.Authentication},
		{"no key", func(s *task.SSH) { s.Key = "nonsense" }, "the private key can't be read", fault.ConfigurationFailure},
		{"no host", func(s *task.SSH) { s.Host = "" }, `the host is ""`, fault.ConfigurationFailure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			tt.change(&h.login)
			r, env, err := login(t.Context(), t, t.TempDir(), h, task.Shell{Script: "pwd"})
			if err != nil || r.Status != task.Failed || !strings.Contains(r.Message, tt.says) || r.FailureTypes[0] != tt.typ {
				t.Errorf("%v, %s %v: %s; want Failed, %s: …%s", err, r.Status, r.FailureTypes, r.Message, tt.typ, tt.says)
			}
			if !strings.Contains(env.Text(Unit, executor.Error), tt.says) {
				t.Error("the log doesn't say why")
			}
		})
	}
}

// A new host's key is remembered; a known host with another key is refused
// before anything is sent to it.
func TestKnownHosts(t *testing.T) {
	t.Parallel()
	h, folder := newHost(t), t.TempDir()
	for range 2 {
		if r, _, err := login(t.Context(), t, folder, h, task.Shell{Script: "pwd"}); err != nil || r.Status != task.Succeeded {
			t.Fatalf("%v, %s: %s", err, r.Status, r.Message)
		}
	}
	known, err := os.ReadFile(filepath.Join(folder, "known_hosts"))
	if err != nil || strings.Count(string(known), "\n") != 1 {
		t.Errorf("%v, known hosts:\n%s\nwant one line", err, known)
	}
	before := h.ran()
	h.becomeAnother(t)
	r, _, err := login(t.Context(), t, folder, h, task.Shell{Script: "pwd"})
	if err != nil || r.Status != task.Failed || !strings.Contains(r.Message, "has another key than the one that this delegate knows") {
		t.Errorf("%v, %s: %s", err, r.Status, r.Message)
	}
	if diff := cmp.Diff([]fault.FailureType{fault.Authentication}, r.FailureTypes); diff != "" {
		t.Errorf("failure types (-want +got):\n%s", diff)
	}
	if h.ran() != before {
		t.Error("a command was sent to the host")
	}
}

// A cancel ends the script and its children on the host.
func TestRemoteCancel(t *testing.T) {
	t.Parallel()
	h, pids := newHost(t), filepath.Join(t.TempDir(), "pids")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := login(ctx, t, t.TempDir(), h, task.Shell{Env: map[string]string{"pids": pids}, Script: `sleep 300 & echo $! >>"$pids"; echo $$ ready >>"$pids"; wait`})
		ended <- err
	}()
	ids := started(t, pids)
	cancel(executor.ErrCancelled)
	if err := <-ended; !errors.Is(err, executor.ErrCancelled) {
		t.Errorf("error %v, want the cause %v", err, executor.ErrCancelled)
	}
	for _, id := range ids {
		eventually(t, func() bool { return gone(id) })
	}
}

// TestRemoteCancelOfASilentHost: a host that has gone silent can't be told to
// stop, and keeps nobody waiting.
func TestRemoteCancelOfASilentHost(t *testing.T) {
	t.Parallel()
	h, pids := newHost(t), filepath.Join(t.TempDir(), "pids")
	silent := between(t, h)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := login(ctx, t, t.TempDir(), h, task.Shell{Env: map[string]string{"pids": pids}, Script: `echo $$ ready >>"$pids"; exec sleep 20`})
		ended <- err
	}()
	started(t, pids)
	close(silent)
	cancel(executor.ErrCancelled)
	if err := <-ended; !errors.Is(err, executor.ErrCancelled) {
		t.Errorf("error %v, want the cause %v", err, executor.ErrCancelled)
	}
}

// between puts a proxy before a host; it passes nothing on any more once the
// channel is closed.
func between(t *testing.T, h *host) (silent chan struct{}) {
	t.Helper()
	silent = make(chan struct{})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	to := net.JoinHostPort(h.login.Host, strconv.Itoa(h.login.Port))
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("listens at %v", l.Addr())
	}
	h.login.Port = addr.Port
	pass := func(from, to net.Conn) {
		for part := make([]byte, 32<<10); ; {
			n, err := from.Read(part)
			select {
			case <-silent:
				return
			default:
			}
			if _, werr := to.Write(part[:n]); err != nil || werr != nil {
				return
			}
		}
	}
	go func() {
		here, err := l.Accept()
		if err != nil {
			return // the test has ended
		}
		there, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to)
		if err != nil {
			return // likewise
		}
		go pass(here, there)
		pass(there, here)
	}()
	return silent
}
