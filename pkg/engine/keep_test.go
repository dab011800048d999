package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// outputs are a step's outputs of so many bytes.
func outputs(size int) json.RawMessage {
	return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
}

// Outputs are counted from just above the small ones on, where they are new.
func TestLargeOutputsAreCounted(t *testing.T) {
	t.Parallel()
	root := pipeline(rolling(stage("s", st("a"), st("b")), st("r")))
	p := newSim(t, root).plan
	ids := map[string]plan.NodeID{}
	var find func(n *plan.Node)
	find = func(n *plan.Node) {
		ids[n.Identifier] = n.ID
		for _, c := range n.Children {
			find(c)
		}
		for _, c := range n.Rollback {
			find(c)
		}
	}
	find(p.Root)
	large := outputs(extent.SmallOutputs + 1)
	write := func(id string, s plan.State) Write { return Write{Node: ids[id], State: s} }
	for name, tt := range map[string]struct {
		e      store.Execution
		writes []Write
		want   store.Keeping
	}{
		"small ones":      {writes: []Write{write("a", plan.State{Outputs: outputs(extent.SmallOutputs)})}},
		"large ones":      {writes: []Write{write("a", plan.State{Outputs: large}), write("b", plan.State{Outputs: outputs(5000)})}, want: store.Keeping{Bytes: len(large) + 5000, Most: extent.MaxOutputs}},
		"as they were":    {writes: []Write{write("s", plan.State{Outputs: large})}},
		"of another":      {writes: []Write{write("a", plan.State{Outputs: large, Inherited: true})}, want: store.Keeping{Bytes: len(large), Most: 4 * extent.MaxOutputs}},
		"of a rollback":   {writes: []Write{write("r", plan.State{Outputs: large})}, want: store.Keeping{Bytes: len(large), Most: 2 * extent.MaxOutputs}},
		"of a roll back":  {e: store.Execution{RollbackOf: "x"}, writes: []Write{write("a", plan.State{Outputs: large})}, want: store.Keeping{Bytes: len(large), Most: 2 * extent.MaxOutputs}},
		"nothing at all":  {writes: []Write{write("a", plan.State{Status: plan.Running})}},
		"others go again": {writes: []Write{write("s", plan.State{Outputs: outputs(6000)})}, want: store.Keeping{Bytes: 6000, Most: extent.MaxOutputs}},
	} {
		s := &snapshot{execution: tt.e, plan: p, nodes: map[plan.NodeID]store.Node{}}
		for _, id := range ids {
			s.nodes[id] = store.Node{}
		}
		s.nodes[ids["s"]] = store.Node{State: plan.State{Outputs: large}}
		if got := s.keeping(tt.writes); got != tt.want {
			t.Errorf("%s: %+v; want %+v", name, got, tt.want)
		}
	}
}

// Where there is no room, a success with large outputs is a failure that says
// so, and a failure goes without them.
func TestOutputsWithoutRoom(t *testing.T) {
	t.Parallel()
	for _, stuffed := range []bool{false, true} {
		for _, tt := range []struct {
			size   int
			status plan.Status
			want   plan.Status
			says   string
		}{
			{extent.SmallOutputs, plan.Success, plan.Success, ""},
			{extent.SmallOutputs + 1, plan.Success, plan.Failed, fmt.Sprint("the step's outputs have ", extent.SmallOutputs+1, " bytes, and those of the execution would have more than 64 MiB in all")},
			{extent.SmallOutputs + 1, plan.Errored, plan.Errored, "it broke; its outputs are left out: the step's outputs have"},
		} {
			o := plan.Outcome{Status: tt.status, Outputs: outputs(tt.size), Failures: []fault.FailureType{fault.Unknown}}
			if tt.status == plan.Errored {
				o.Message = "it broke"
			}
			got := (&walk{Input: Input{Stuffed: stuffed}}).room(&o)
			if !stuffed || tt.says == "" {
				if got != &o {
					t.Errorf("%s with %d bytes is changed to %+v", tt.status, tt.size, got)
				}
				continue
			}
			if got.Status != tt.want || !strings.HasPrefix(got.Message, tt.says) || len(got.Outputs) > 0 || len(got.Failures) == 0 {
				t.Errorf("%s with %d bytes is %+v", tt.status, tt.size, got)
			}
		}
	}
}
