package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// pods are instances as a step finds them after a roll-out.
func pods(n, containers int) []task.Instance {
	out := make([]task.Instance, n)
	for i := range out {
		out[i] = task.Instance{Name: fmt.Sprintf("web-5d8f7c9b6d-%05d", i), Namespace: "shop", IP: "10.1.2.3", Release: "release-1a2b3c", Phase: "Running", Ready: true}
		for c := range containers {
			out[i].Images = append(out[i].Images, fmt.Sprintf("registry.example.com/shop/container-%d:1.2.3", c))
		}
	}
	return out
}

// However many pods a good roll-out has, it is reported as good: what its
// watcher finds by itself is left out of a report that would be too large.
func TestALargeRollOutIsReportedAsGood(t *testing.T) {
	t.Parallel()
	workloads := func(n int) []task.Workload {
		out := make([]task.Workload, n)
		for i := range out {
			out[i] = task.Workload{Resource: fmt.Sprintf("apps/Deployment/shop/web-%05d", i), Images: []string{"registry.example.com/shop/web:1.2.3"}, Selector: "app=web"}
		}
		return out
	}
	for name, c := range map[string]struct {
		change    task.Change
		message   string
		cut       bool
		workloads int
	}{
		"a few":                        {change: task.Change{Instances: pods(100, 2)}},
		"1,200 pods of two containers": {change: task.Change{Instances: pods(1200, 2), Workloads: workloads(2)}, cut: true, workloads: 2},
		"2,000 pods of ten containers": {change: task.Change{Instances: pods(task.MaxInstances, 10), Workloads: workloads(2)}, cut: true, workloads: 2},
		"a message that is too long":   {change: task.Change{Instances: pods(1, 1)}, message: strings.Repeat("é", task.MaxResult), cut: true},
		"very many workloads":          {change: task.Change{Workloads: workloads(5000)}, cut: true},
		"very many resources":          {change: task.Change{Resources: strings.Split(strings.Repeat("apps/Deployment/shop/web-12345 ", 20000), " ")}, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c.change.Target, c.change.Action = "kubernetes:shop/release-1a2b3c", "applied"
				p := newPlane(t)
				p.offer(assignment("t1"))
				s := p.start(func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
					return task.Result{Status: task.Succeeded, Message: c.message, Changes: []task.Change{c.change}}, nil
				}, nil)
				<-p.done
				got, _ := p.resultOf("t1")
				if got.Status != task.Succeeded || len(got.Changes) != 1 || got.Changes[0].Target != c.change.Target {
					t.Fatalf("the result is %s with %d changes: %s", got.Status, len(got.Changes), got.Message)
				}
				if cut := got.Changes[0].Cut; cut != c.cut || !cut && len(got.Changes[0].Instances) != len(c.change.Instances) || len(got.Changes[0].Workloads) != c.workloads && c.workloads > 0 {
					t.Errorf("cut: %t, with %d instances and %d workloads; want cut: %t", cut, len(got.Changes[0].Instances), len(got.Changes[0].Workloads), c.cut)
				}
				if n := p.count("result"); n != 1 {
					t.Errorf("it was reported %d times, want once", n)
				}
				s.finish()
			})
		})
	}
}

// What is measured is what is sent: at the limit a report is as it was, one
// byte past it something is left out. Outputs never are: a step whose outputs
// don't fit has failed.
func TestAReportAtTheLimit(t *testing.T) {
	t.Parallel()
	base, err := json.Marshal(protocol.Report{Fence: 1, Result: task.Result{Status: task.Succeeded, Outputs: json.RawMessage(`{"x":""}`), Changes: []task.Change{{Target: "t", Action: "applied", Instances: pods(1, 1)}}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		over   int
		status task.Status
		cut    bool
	}{
		"at the limit":                {0, task.Succeeded, false},
		"one byte past it":            {1, task.Succeeded, true},
		"outputs that never could be": {task.MaxResult, task.Failed, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlane(t)
				p.offer(assignment("t1"))
				s := p.start(func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
					fill := strings.Repeat("x", task.MaxResult-len(base)+c.over)
					return task.Result{Status: task.Succeeded, Outputs: json.RawMessage(`{"x":"` + fill + `"}`), Changes: []task.Change{{Target: "t", Action: "applied", Instances: pods(1, 1)}}}, nil
				}, nil)
				<-p.done
				got, _ := p.resultOf("t1")
				if got.Status != c.status || got.Changes[0].Cut != c.cut || p.count("result") != 1 {
					t.Errorf("the result is %s, cut: %t, after %d reports: %s", got.Status, got.Changes[0].Cut, p.count("result"), got.Message)
				}
				s.finish()
			})
		})
	}
}
