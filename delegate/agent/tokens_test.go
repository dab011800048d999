package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/identity"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// counted gives tokens of 15 minutes that say which they are.
func counted(asked *[]string) func(task.ID, string) (any, error) {
	return func(of task.ID, name string) (any, error) {
		*asked = append(*asked, fmt.Sprintf("%s %s", of, name))
		return task.IdentityToken{Text: fmt.Sprintf("eyToken%d", len(*asked)), Good: 15 * time.Minute}, nil
	}
}

// A task that runs for long has a token that is good whenever it asks, asks the
// control plane for as few as that needs, and shows none.
func TestTokensAreKeptFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		var asked []string
		p.token = counted(&asked)
		one := assignment("t1")
		one.Tokens = map[string]task.IdentityToken{"aws": {Text: "eyToken0", Good: 15 * time.Minute}}
		p.offer(one)
		var got []string
		s := p.start(func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
			if a.Tokens != nil || strings.Contains(string(a.Payload), "ey") {
				t.Errorf("the executor is given tokens that it didn't ask for: %v, %s", a.Tokens, a.Payload)
			}
			for range 5 {
				token, err := identity.Token(ctx, "aws")
				if err != nil {
					return task.Result{}, err
				}
				got = append(got, token)
				fmt.Fprintln(env.Log("Deploy"), "with", token)
				elapse(7 * time.Minute)
			}
			return task.Result{Status: task.Succeeded, Message: "by " + got[4]}, nil
		}, nil)
		<-p.done
		s.finish()
		if d := cmp.Diff([]string{"eyToken0", "eyToken0", "eyToken1", "eyToken1", "eyToken2"}, got); d != "" {
			t.Errorf("tokens (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"t1 aws", "t1 aws"}, asked); d != "" {
			t.Errorf("the control plane was asked (-want +got):\n%s", d)
		}
		if lines := strings.Join(p.lines("t1"), "\n"); strings.Contains(lines, "ey") || !strings.Contains(lines, "with ******") {
			t.Errorf("the log shows tokens:\n%s", lines)
		}
		if r, _ := p.resultOf("t1"); r.Status != task.Succeeded || r.Message != "by **************" {
			t.Errorf("the result is %+v", r)
		}
	})
}

// A control plane that is away for a moment costs no task its login; one that
// says no does, and so does the end of the task.
func TestATokenThatIsNotGiven(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		refuse fault.Code
		times  int
		good   bool
	}{
		"away for a moment": {fault.Unavailable, 3, true},
		"it says no":        {fault.NotFound, 1, false},
		"it is away":        {fault.Unavailable, 1_000_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlane(t)
				var asked []string
				give, refused := counted(&asked), 0
				p.token = func(of task.ID, name string) (any, error) {
					if refused++; refused <= tt.times {
						return nil, fault.New(tt.refuse, "not now")
					}
					return give(of, name)
				}
				p.offer(assignment("t1"))
				s := p.start(func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
					if _, err := identity.Token(ctx, "aws"); err != nil {
						return task.Result{}, err
					}
					return succeed(ctx, a, env)
				}, nil)
				<-p.done
				s.finish()
				if r, _ := p.resultOf("t1"); (r.Status == task.Succeeded) != tt.good {
					t.Errorf("the result is %+v; want success: %t", r, tt.good)
				}
			})
		})
	}
}

func TestTokensOfAWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		var asked []string
		p.token = counted(&asked)
		one := watchOf("a", 1)
		one.Tokens = map[string]task.IdentityToken{"aws": {Text: "eyToken0", Good: 15 * time.Minute}}
		p.want(one)
		s := p.start(succeed, func(c *agent.Config) {
			c.Kinds[lane.Kind] = executor.Kind{Watch: func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
				if w.Tokens != nil {
					t.Errorf("the watcher is given tokens that it didn't ask for: %v", w.Tokens)
				}
				for range 2 {
					token, err := identity.Token(ctx, "aws")
					if err != nil {
						return err
					}
					if err := report(ctx, task.Observed{Trouble: token + " was refused"}); err != nil {
						return err
					}
					elapse(time.Hour)
				}
				<-ctx.Done()
				return nil
			}}
		})
		for range 2 {
			if o := <-p.observed; o.Trouble != "************** was refused" {
				t.Errorf("the report shows %q", o.Trouble)
			}
		}
		s.finish()
		if d := cmp.Diff([]string{" aws"}, asked); d != "" {
			t.Errorf("the control plane was asked (-want +got):\n%s", d)
		}
	})
}
