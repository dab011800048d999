package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// A step that looks again and again (semantics/pipeline §7.9) waits between two
// looks, keeps its attempt and its deadline, and divides the history of its
// machine run.
func TestLooking(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		plan   *plan.Node
		script map[string][]any
		ends   string
		begun  int
		took   time.Duration
		parts  int
	}{
		{
			name: "the third look finds an answer",
			plan: pipeline(stage("s", st("a", timeout("1h")), st("b"))), script: map[string][]any{"a": {looks(2)}},
			ends: "p:Success s:Success a:Success b:Success", begun: 4, took: 2 * time.Minute, parts: 1,
		},
		{
			name: "no answer in time",
			plan: pipeline(stage("s", st("a", timeout("150s")))), script: map[string][]any{"a": {looks(99)}},
			ends: "p:Expired s:Expired a:Expired", begun: 3, took: 150 * time.Second, parts: 1,
		},
		{
			name: "the stage's time is up",
			plan: pipeline(with(stage("s", st("a", timeout("1h"))), timeout("90s"))), script: map[string][]any{"a": {looks(99)}},
			ends: "p:Expired s:Expired a:Expired", begun: 2, took: 90 * time.Second, parts: 1,
		},
		{
			name:   "a retry is an attempt, a look is none",
			plan:   pipeline(stage("s", st("a", timeout("1h"), level(on(retryOnce()))))),
			script: map[string][]any{"a": {fails{fault.Unknown}, looks(1)}},
			ends:   "p:Success s:Success a:Success", begun: 3, took: time.Minute, parts: 1,
		},
		{
			name: "many looks of a sequence go on in another machine run",
			plan: pipeline(stage("s", st("a", timeout("24h")), st("b"))), script: map[string][]any{"a": {looks(2*partSize + 1)}},
			ends: "p:Success s:Success a:Success b:Success", begun: 2*partSize + 3, took: (2*partSize + 1) * time.Minute, parts: 3,
		},
		{
			name: "and those of a parallel member",
			plan: pipeline(stage("s", parallel(st("a", timeout("24h")), st("b", timeout("24h"))))), script: map[string][]any{"a": {looks(partSize + 1)}},
			ends: "p:Success s:Success a:Success b:Success", begun: partSize + 3, took: (partSize + 1) * time.Minute, parts: 2,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, twice := range []bool{false, true} {
				s := newSim(t, tt.plan)
				s.twice, s.script = twice, tt.script
				began := s.now
				s.run(s.plan.Root.ID)
				if got := s.ends(); got != tt.ends {
					t.Errorf("ends\n%s; want\n%s", got, tt.ends)
				}
				if len(s.begun) != tt.begun || s.now.Sub(began) != tt.took || s.parts != tt.parts {
					t.Errorf("%d tasks in %s and %d runs (%s); want %d in %s and %d",
						len(s.begun), s.now.Sub(began), s.parts, strings.Join(s.begun, " "), tt.begun, tt.took, tt.parts)
				}
			}
		})
	}
}

func retryOnce() plan.Action {
	then := act(plan.MarkAsFailure)
	return plan.Action{Type: plan.Retry, RetryCount: 1, Then: &then}
}

// A look that is lost with its delegate is done again; other work isn't.
func TestALostLookIsRepeated(t *testing.T) {
	t.Parallel()
	for _, repeated := range []bool{true, false} {
		s := newSim(t, pipeline(stage("s", st("a", timeout("1h")))))
		first := s.advance("p", 0, At{})
		for first.Do == DoChildren {
			first = s.advance(first.Children[0].Node, 0, At{})
		}
		in := s.input("p.s", 0, first.At)
		in.Task = func(*plan.Node, int, int) TaskFacts {
			return TaskFacts{Exists: true, Claimed: true, Lost: true, Looks: repeated}
		}
		d := Next(in)
		if waits := d.Do == DoAwait && d.At.Wait == plan.WaitLook && d.At.Look == 1; waits != repeated {
			t.Errorf("looks %t: the decision is %s at %+v", repeated, d.Do, d.At)
		}
		if len(d.Cancel) != 1 || d.Cancel[0].Look != 0 {
			t.Errorf("looks %t: cancelled %+v; want the task that was lost", repeated, d.Cancel)
		}
	}
}

// A timeout tells of the delegate that would have been needed.
func TestATimeoutSaysThatNobodyTookTheTask(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		claimed bool
		want    string
	}{
		{false, "timed out after 1m0s before a delegate took the task: nobody is blue"},
		{true, "timed out after 1m0s"},
	} {
		s := newSim(t, pipeline(stage("s", st("a", timeout("1m")))))
		first := s.advance("p", 0, At{})
		for first.Do == DoChildren {
			first = s.advance(first.Children[0].Node, 0, At{})
		}
		s.now = s.now.Add(time.Minute)
		in := s.input("p.s", 0, first.At)
		in.Task = func(*plan.Node, int, int) TaskFacts {
			return TaskFacts{Exists: true, Claimed: tt.claimed, Created: s.now, Eligible: func() (bool, string) { return false, "nobody is blue" }}
		}
		got := ""
		for _, w := range Next(in).Writes {
			if w.Node == "p.s.a" {
				got = w.State.Message
			}
		}
		if got != tt.want {
			t.Errorf("claimed %t: the message is %q; want %q", tt.claimed, got, tt.want)
		}
	}
}
