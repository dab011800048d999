package apiclient_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// answer serves one handler for every path.
func answer(t *testing.T, h http.HandlerFunc) *apiclient.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return apiclient.New(s.URL+"/", "pat.x")
}

func TestRefusalsAreFaults(t *testing.T) {
	t.Parallel()
	details := []fault.Detail{{Line: 3, Message: "wrong"}}
	for _, c := range []struct {
		name   string
		status int
		body   any
		want   fault.Code
	}{
		{"ours", 400, api.Problem{Code: fault.Invalid, Message: "no", Details: details}, fault.Invalid},
		{"of something between", 502, "bad gateway", fault.Unavailable},
		{"empty", 401, nil, fault.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := answer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_ = json.NewEncoder(w).Encode(c.body)
			})
			_, err := client.Execution(t.Context(), "x")
			if fault.CodeOf(err) != c.want {
				t.Fatalf("error is %v; want code %s", err, c.want)
			}
			var f *fault.Error
			if errors.As(err, &f) && c.want == fault.Invalid {
				if diff := cmp.Diff(details, f.Details); diff != "" {
					t.Errorf("details (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestAnUnreachableServerIsNamed(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := apiclient.New(s.URL, "pat.x").Execution(t.Context(), "x")
	if !fault.Is(err, fault.Unavailable) || strings.Count(err.Error(), s.URL) != 1 {
		t.Errorf("error is %v; want UNAVAILABLE that names %s once", err, s.URL)
	}
}

func TestPathsAreEscaped(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	client := answer(t, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.URL.EscapedPath())
		fmt.Fprint(w, "{}")
	})
	if _, err := client.Log(t.Context(), "x", "pipeline.stages#1/../a", apiclient.LogQuery{}); err != nil {
		t.Fatal(err)
	}
	if want := "/v1/executions/x/nodes/pipeline.stages%231%2F..%2Fa/log"; got.Load() != want {
		t.Errorf("path is %s; want %s", got.Load(), want)
	}
}

func TestAllReadsEveryPart(t *testing.T) {
	t.Parallel()
	part := func(p apiclient.Page) ([]int, string, error) {
		from := len(p.Token)
		var out []int
		for i := from; i < min(from+min(p.Limit, 2), 5); i++ {
			out = append(out, i)
		}
		if from+len(out) == 5 {
			return out, "", nil
		}
		return out, strings.Repeat("x", from+len(out)), nil
	}
	for limit, want := range map[int][]int{0: {0, 1, 2, 3, 4}, 1: {0}, 3: {0, 1, 2}, 9: {0, 1, 2, 3, 4}} {
		got, err := apiclient.All(limit, part)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
}

// tree is an execution of one step with a status.
func tree(s plan.Status) api.ExecutionTree {
	t := api.ExecutionTree{Root: &execution.TreeNode{ID: "p", Children: []*execution.TreeNode{{ID: "p.a", Status: s}}}}
	t.ID, t.Status = "x", s
	return t
}

func send(w http.ResponseWriter, name string, data any) {
	doc, _ := json.Marshal(data) // the tests' own values
	fmt.Fprintf(w, ":\n\nevent: %s\ndata: %s\n\n", name, doc)
}

func TestWatchOutlivesBrokenConnections(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	client := answer(t, func(w http.ResponseWriter, _ *http.Request) {
		switch connections.Add(1) {
		case 1: // breaks off within an event
			send(w, api.EventTree, tree(plan.Running))
			fmt.Fprint(w, "event: change\ndata: {\"execution\"")
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		default:
			send(w, api.EventTree, tree(plan.Running))
			send(w, "of a newer server", "what")
			send(w, api.EventChange, api.ExecutionChange{
				Execution: api.Execution{ID: "x", Status: plan.Success},
				Nodes:     []*execution.TreeNode{{ID: "p.a", Status: plan.Success}},
			})
		}
	})
	var seen []plan.Status
	err := client.Watch(t.Context(), "x", func(tree api.ExecutionTree) {
		seen = append(seen, tree.Root.Children[0].Status)
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]plan.Status{plan.Running, plan.Running, plan.Success}, seen); diff != "" {
		t.Errorf("the step's statuses (-want +got):\n%s", diff)
	}
}

func TestWatchGivesUpOnRefusals(t *testing.T) {
	t.Parallel()
	client := answer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(api.Problem{Code: fault.NotFound, Message: "no execution"})
	})
	err := client.Watch(t.Context(), "x", func(api.ExecutionTree) { t.Error("told of nothing") })
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("error is %v; want NOT_FOUND", err)
	}
}
