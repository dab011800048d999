package agent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/pullsecret"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// line is one line of a step's log, as it is stored.
type line struct {
	Time  int64  `json:"t"`
	Unit  string `json:"u"`
	Level string `json:"l"`
	Text  string `json:"m"`
}

// lines reads a task's log as "unit level: text".
func (p *plane) lines(id task.ID) []string {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, doc := range bytes.Split(bytes.TrimSpace(slices.Concat(p.logs[id]...)), []byte("\n")) {
		if len(doc) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(doc, &l); err != nil {
			p.t.Fatalf("log line %q: %v", doc, err)
		}
		if l.Time == 0 {
			p.t.Errorf("a log line has no time: %q", doc)
		}
		out = append(out, fmt.Sprintf("%s %s: %s", l.Unit, l.Level, l.Text))
	}
	return out
}

func TestLog(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	a := assignment("t1")
	a.Secrets = map[string]string{"⟦s-1⟧": "opensesame"}
	p.offer(a)
	s := p.start(func(_ context.Context, _ task.Assignment, env executor.Env) (task.Result, error) {
		fmt.Fprint(env.Log("Fetch"), "first\nsec")
		fmt.Fprint(env.Log("Fetch"), "ond open")
		fmt.Fprint(env.LogError("Apply"), "\"quoted\"\n")
		fmt.Fprint(env.Log("Fetch"), "sesame\n")
		env.Mask("s3cr3t-found")
		fmt.Fprint(env.Log("Wrap Up"), "it is s3cr3t-found, without an end")
		return task.Result{
			Status: task.Failed, Message: "opensesame and s3cr3t-found",
			Outputs: json.RawMessage(`{"output":{"n":1.50,"x":"an opensesame"}}`),
		}, nil
	}, nil)
	<-p.done
	s.finish()
	got := p.lines("t1")
	slices.Sort(got) // lines of different units may overtake each other
	want := []string{
		`Apply ERROR: "quoted"`, "Fetch INFO: first", "Fetch INFO: second **************", "Wrap Up INFO: it is **************, without an end",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	r, _ := p.resultOf("t1")
	if want := "************** and **************"; r.Message != want {
		t.Errorf("message %q, want %q", r.Message, want)
	}
	if want := `{"output":{"n":1.50,"x":"an **************"}}`; string(r.Outputs) != want {
		t.Errorf("outputs %s, want %s", r.Outputs, want)
	}
}

func TestATaskThatSaysNothingSendsNoLog(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.offer(ids(3)...)
	s := p.start(func(_ context.Context, _ task.Assignment, env executor.Env) (task.Result, error) {
		env.Log("Fetch")
		return task.Result{Status: task.Succeeded}, nil
	}, nil)
	for range 3 {
		<-p.done
	}
	s.finish()
	if n := p.count("logs"); n != 0 {
		t.Errorf("%d log requests, want none", n)
	}
}

// TestLogIsLive: what a running task says is sent soon, not at its end.
func TestLogIsLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.offer(assignment("t1"))
		s := p.start(func(_ context.Context, _ task.Assignment, env executor.Env) (task.Result, error) {
			fmt.Fprintln(env.Log("Execute"), "hello")
			elapse(time.Minute)
			return task.Result{Status: task.Succeeded}, nil
		}, nil)
		elapse(5 * time.Second)
		if diff := cmp.Diff([]string{"Execute INFO: hello"}, p.lines("t1")); diff != "" {
			t.Errorf("log after 5 s (-want +got):\n%s", diff)
		}
		<-p.done
		s.finish()
	})
}

// TestLogSurvivesAnOutage: chunks are sent again, in order and once each (the
// plane checks their numbers), and the result waits for them.
func TestLogSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.refuse = func(what string, n int) error {
			if what == "logs" && n < 4 {
				return fault.New(fault.Unavailable, "busy")
			}
			return nil
		}
		p.offer(assignment("t1"))
		s := p.start(func(_ context.Context, _ task.Assignment, env executor.Env) (task.Result, error) {
			for i := range 3 {
				fmt.Fprintln(env.Log("Execute"), i)
				elapse(time.Second)
			}
			return task.Result{Status: task.Succeeded}, nil
		}, nil)
		<-p.done
		want := []string{"Execute INFO: 0", "Execute INFO: 1", "Execute INFO: 2"}
		if diff := cmp.Diff(want, p.lines("t1")); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		s.finish()
	})
}

// TestAFullLogEndsNoTask: what the control plane has no room for isn't sent
// again and again, and the result doesn't wait for it.
func TestAFullLogEndsNoTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.refuse = func(what string, _ int) error {
			if what == "logs" {
				return fault.New(fault.TooLarge, "the log has no room")
			}
			return nil
		}
		p.offer(assignment("t1"))
		begin := time.Now()
		s := p.start(func(_ context.Context, _ task.Assignment, env executor.Env) (task.Result, error) {
			for i := range 30 {
				fmt.Fprintln(env.Log("Execute"), i)
				elapse(time.Second)
			}
			return task.Result{Status: task.Succeeded}, nil
		}, nil)
		<-p.done
		if took := time.Since(begin); took > 40*time.Second || p.count("logs") > 3 {
			t.Errorf("the result came after %s and %d tries to send the log; want them not to wait for it", took, p.count("logs"))
		}
		if r, ok := p.resultOf("t1"); !ok || r.Status != task.Succeeded {
			t.Errorf("the result is %+v, %t; want that the task succeeded", r, ok)
		}
		s.finish()
	})
}

// TestLeaseLostByALog: the control plane may say so at any request.
func TestLeaseLostByALog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.refuse = func(what string, _ int) error {
			if what == "logs" {
				return fault.New(fault.LeaseLost, "not yours")
			}
			return nil
		}
		p.offer(assignment("t1"))
		stopped := make(chan error, 1)
		s := p.start(func(ctx context.Context, _ task.Assignment, env executor.Env) (task.Result, error) {
			fmt.Fprintln(env.Log("Execute"), "hello")
			<-ctx.Done()
			stopped <- context.Cause(ctx)
			return task.Result{}, context.Cause(ctx)
		}, nil)
		if cause := <-stopped; cause == nil || !strings.Contains(cause.Error(), "lease") {
			t.Errorf("stopped because %v, want %v", cause, executor.ErrLeaseLost)
		}
		s.finish()
		if n := p.count("result"); n != 0 {
			t.Errorf("reported %d times, want never", n)
		}
	})
}

// What pulls images is made on the delegate of the task's secrets, wherever
// its placeholder stands, and nobody reads it in the log.
func TestPullSecrets(t *testing.T) {
	t.Parallel()
	pull := func(placeholder string) map[string]task.LateSecret {
		return map[string]task.LateSecret{placeholder: {Pull: &task.PullSecret{Form: task.PullDockerCfg, Registry: "https://r", Username: "me", Password: "⟦s-1⟧"}}}
	}
	p := newPlane(t)
	p.resolved = func(protocol.Resolve) protocol.Resolved {
		return protocol.Resolved{Texts: map[string]string{"v": "⟦p-2⟧"}, Secrets: map[string]string{"⟦s-1⟧": "0ther"}, LateSecrets: pull("⟦p-2⟧")}
	}
	a := assignment("t1")
	a.Payload = json.RawMessage(`{"text":"⟦p-1⟧"}`)
	a.Secrets, a.LateSecrets = map[string]string{"⟦s-1⟧": "hunter2"}, pull("⟦p-1⟧")
	p.offer(a)
	got := make(chan string, 2)
	s := p.start(func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		texts, err := env.Resolve(ctx, map[string]string{"v": "<+artifact.imagePullSecret>"})
		got <- string(a.Payload)
		got <- texts["v"]
		fmt.Fprintln(env.Log("Fetch"), texts["v"], "hunter2 0ther")
		return task.Result{Status: task.Succeeded}, err
	}, func(c *agent.Config) { c.PullSecret = pullsecret.New() })
	<-p.done
	s.finish()
	want := func(password string) string {
		doc := fmt.Sprintf(`{"https://r":{"username":"me","password":%q,"auth":%q}}`, password, base64.StdEncoding.EncodeToString([]byte("me:"+password)))
		return base64.StdEncoding.EncodeToString([]byte(doc))
	}
	if diff := cmp.Diff([]string{`{"text":"` + want("hunter2") + `"}`, want("0ther")}, []string{<-got, <-got}); diff != "" {
		t.Errorf("the executor got (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Fetch INFO: ************** ************** **************"}, p.lines("t1")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.resolved = func(in protocol.Resolve) protocol.Resolved {
		return protocol.Resolved{
			Texts:   map[string]string{"values.yaml": strings.ReplaceAll(in.Texts["values.yaml"], "<+secrets.getValue('p')>", "⟦s-9⟧")},
			Secrets: map[string]string{"⟦s-9⟧": "p4ssw0rd"},
		}
	}
	p.offer(assignment("t1"))
	got := make(chan string, 1)
	s := p.start(func(ctx context.Context, _ task.Assignment, env executor.Env) (task.Result, error) {
		texts, err := env.Resolve(ctx, map[string]string{"values.yaml": "password: <+secrets.getValue('p')>"})
		got <- texts["values.yaml"]
		fmt.Fprintln(env.Log("Fetch"), texts["values.yaml"])
		return task.Result{Status: task.Succeeded}, err
	}, nil)
	<-p.done
	s.finish()
	if text := <-got; text != "password: p4ssw0rd" {
		t.Errorf("resolved to %q", text)
	}
	if diff := cmp.Diff([]string{"Fetch INFO: password: **************"}, p.lines("t1")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestLogLasts: what goes on after its task has its log, masked, until it ends or the
// delegate stops, and keeps no place from other tasks.
func TestLogLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		a := assignment("t1")
		a.Secrets = map[string]string{"⟦s-1⟧": "opensesame"}
		p.offer(a)
		s := p.start(func(_ context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
			fmt.Fprintln(env.Log("Execute"), "begun")
			if a.ID == "t1" {
				env.Linger(func(ctx context.Context) {
					elapse(time.Minute)
					fmt.Fprintln(env.Log("Execute"), "opensesame goes on")
					<-ctx.Done()
					fmt.Fprint(env.Log("Execute"), "stopped")
				})
			}
			return task.Result{Status: task.Succeeded}, nil
		}, func(c *agent.Config) { c.Capacity = 1 })
		if id := <-p.done; id != "t1" || !slices.Equal(p.lines("t1"), []string{"Execute INFO: begun"}) {
			t.Errorf("%s has ended, and its log is %q", id, p.lines("t1"))
		}
		p.offer(assignment("t2"))
		if id := <-p.done; id != "t2" {
			t.Errorf("%s has ended", id)
		}
		elapse(2 * time.Minute)
		s.finish()
		want := []string{"Execute INFO: begun", "Execute INFO: ************** goes on", "Execute INFO: stopped"}
		if diff := cmp.Diff(want, p.lines("t1")); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// TestLogEndsForAll: what would go on ends with a task that fails, and when nobody takes
// its log any more.
func TestLogEndsForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.offer(ids(2)...)
		ended := make(chan task.ID, 2)
		s := p.start(func(_ context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
			env.Linger(func(ctx context.Context) {
				if a.ID == "t1" {
					p.mu.Lock()
					p.refuse = func(what string, _ int) error {
						if what == "logs" {
							return fault.New(fault.LeaseLost, "it is another's")
						}
						return nil
					}
					p.mu.Unlock()
					fmt.Fprintln(env.Log("Execute"), "more")
				}
				<-ctx.Done()
				ended <- a.ID
			})
			fmt.Fprintln(env.Log("Execute"), "begun")
			if a.ID == "t0" {
				return task.Result{Status: task.Failed}, nil
			}
			return task.Result{Status: task.Succeeded}, nil
		}, nil)
		<-ended
		<-ended
		s.finish()
	})
}
