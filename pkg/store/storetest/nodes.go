package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

func nodeCases() []testCase {
	return []testCase{
		{"a committed node is read as it was", nodeAsItWas},
		{"the named nodes are read and no others", readNodes},
		{"a commit is all or nothing", commitAllOrNothing},
		{"of nodes that are known only those that have changed are read", changedNodes},
		{"an execution shows what of it waits for people", waitForPeople},
		{"what waits is counted with the nodes or not at all", raceWaits},
		{"one of many first writes of a node wins", raceNewNode},
		{"one of many commits of one version wins", raceCommitNodes},
		{"commits of different nodes don't disturb each other", commitApart},
		{"ninety nodes go together and more are refused", commitMany},
		{"executions' nodes are apart", nodesApart},
		{"nodes are opened up to a bound", openNodes},
		{"of many who open the last nodes one does", raceOpenNodes},
		{"outputs are kept up to a bound", keepOutputs},
		{"of many who keep the last outputs one does", raceKeepOutputs},
	}
}

func (b *bench) node(id plan.NodeID, status plan.Status) store.Node {
	return store.Node{Execution: b.id("x1"), ID: id, State: plan.State{Status: status}}
}

func (b *bench) commit(nodes ...store.Node) {
	b.Helper()
	b.ok(b.Store.CommitExecution(b.ctx(), b.id("x1"), store.Commit{Nodes: nodes}))
}

// nodes reads every node of the case's execution, by id.
func (b *bench) nodes() map[plan.NodeID]store.Node {
	b.Helper()
	list, err := b.Store.AllNodes(b.ctx(), b.id("x1"))
	b.ok(err)
	out := map[plan.NodeID]store.Node{}
	for _, n := range list {
		out[n.ID] = n
	}
	return out
}

func nodeAsItWas(b *bench) {
	n := b.node("pipeline.stages.deploy.spec.execution.steps.rollout", plan.Failed)
	n.State = plan.State{
		Status: plan.Failed, StartedAt: at(1), EndedAt: at(2), Deadline: at(3), Message: `"<no>" & more`, Attempt: 2, Wait: plan.WaitRetry,
		Token: "tok", Until: at(4), Failures: []fault.FailureType{fault.Timeout}, Outputs: json.RawMessage(`{"a":{"b":[1,2]}}`),
		Outcome:  &plan.Outcome{Status: plan.Failed, Outputs: json.RawMessage(`{}`)},
		History:  []plan.Attempt{{Number: 1, Status: plan.Failed, StartedAt: at(1)}},
		Approval: &plan.Approval{Message: "go?", Minimum: 1, Activities: []plan.ApprovalActivity{{User: "ann", Action: "APPROVE", At: at(2)}}},
	}
	b.commit(n)
	n.Version = 1
	same(b, "read", n, b.nodes()[n.ID])
	n.State = plan.State{Status: plan.Success, EndedAt: at(9)}
	b.commit(n)
	n.Version = 2
	same(b, "read after the update", n, b.nodes()[n.ID])
}

func readNodes(b *bench) {
	var want []plan.NodeID
	for _, id := range numbered("pipeline.n", 30) {
		b.commit(b.node(plan.NodeID(id), plan.Running))
		want = append(want, plan.NodeID(id))
	}
	for _, ids := range [][]plan.NodeID{nil, want[:1], want[3:9], want} {
		asked := append(slices.Clone(ids), "pipeline.none")
		got, err := b.Store.Nodes(b.ctx(), b.id("x1"), append(asked, asked[0])...)
		b.ok(err)
		var found []plan.NodeID
		for _, n := range got {
			found = append(found, n.ID)
		}
		slices.Sort(found)
		same(b, "nodes", ids, found)
	}
	got, err := b.Store.Nodes(b.ctx(), b.id("x1"))
	b.ok(err)
	same(b, "nodes without ids", nil, got)
}

func commitAllOrNothing(b *bench) {
	e := b.create(b.execution("x1"))
	b.commit(b.node("a", plan.Running), b.node("b", plan.Running))
	before := b.nodes()
	a, stale, fresh := before["a"], b.node("b", plan.Success), b.node("c", plan.Success)
	a.State.Status = plan.Success
	ended := e
	ended.Status = plan.Success
	old := ended
	old.Version = 7
	for name, c := range map[string]store.Commit{
		"stale node last":      {Nodes: []store.Node{a, fresh, stale}, Execution: &ended},
		"stale node first":     {Nodes: []store.Node{stale, a, fresh}, Execution: &ended},
		"stale execution":      {Nodes: []store.Node{a, fresh}, Execution: &old},
		"node that isn't made": {Nodes: []store.Node{a, {Execution: a.Execution, ID: "d", Version: 1}}},
	} {
		b.Log(name)
		b.refused(b.Store.CommitExecution(b.ctx(), e.ID, c), fault.StaleVersion)
		same(b, "nodes", before, b.nodes())
		read, err := b.Store.Execution(b.ctx(), e.ID)
		b.ok(err)
		same(b, "execution", e, read)
	}
	b.ok(b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Nodes: []store.Node{a, fresh}, Execution: &ended}))
	same(b, "nodes after the commit", 3, len(b.nodes()))
}

func raceNewNode(b *bench) {
	winner := b.oneWins(fault.StaleVersion, func(i int) error {
		n := b.node("a", plan.Running)
		n.State.Message = fmt.Sprint(i)
		return b.Store.CommitExecution(b.ctx(), b.id("x1"), store.Commit{Nodes: []store.Node{n}})
	})
	same(b, "message", fmt.Sprint(winner), b.nodes()["a"].State.Message)
}

func raceCommitNodes(b *bench) {
	b.commit(b.node("a", plan.Running), b.node("b", plan.Running))
	read := b.nodes()
	winner := b.oneWins(fault.StaleVersion, func(i int) error {
		x, y := read["a"], read["b"]
		x.State.Message, y.State.Message = fmt.Sprint(i), fmt.Sprint(i)
		pair := []store.Node{x, y}
		if i%2 == 1 {
			slices.Reverse(pair)
		}
		return b.Store.CommitExecution(b.ctx(), b.id("x1"), store.Commit{Nodes: pair})
	})
	for _, n := range b.nodes() {
		same(b, "message of "+string(n.ID), fmt.Sprint(winner), n.State.Message)
		same(b, "version of "+string(n.ID), 2, n.Version)
	}
}

func commitApart(b *bench) {
	b.allSucceed(func(i int) error {
		return b.Store.CommitExecution(b.ctx(), b.id("x1"), store.Commit{Nodes: []store.Node{b.node(plan.NodeID(fmt.Sprint("n", i)), plan.Running)}})
	})
	same(b, "nodes", racers, len(b.nodes()))
}

func commitMany(b *bench) {
	var nodes []store.Node
	for _, id := range numbered(strings.Repeat("pipeline.stages.", 8), 91) {
		nodes = append(nodes, b.node(plan.NodeID(id), plan.Running))
	}
	b.refused(b.Store.CommitExecution(b.ctx(), b.id("x1"), store.Commit{Nodes: nodes}), fault.TooLarge)
	same(b, "nodes after the refusal", 0, len(b.nodes()))
	b.commit(nodes[:90]...)
	same(b, "nodes", 90, len(b.nodes()))
}

func nodesApart(b *bench) {
	b.commit(b.node("a", plan.Running))
	other := b.node("a", plan.Success)
	other.Execution = b.id("x10") // begins like the other one
	b.ok(b.Store.CommitExecution(b.ctx(), other.Execution, store.Commit{Nodes: []store.Node{other}}))
	same(b, "nodes", 1, len(b.nodes()))
	same(b, "status", plan.Running, b.nodes()["a"].State.Status)
	none, err := b.Store.AllNodes(b.ctx(), b.id("none"))
	b.ok(err)
	same(b, "nodes of an execution that isn't there", nil, none)
}

func changedNodes(b *bench) {
	b.commit(b.node("a", plan.Running), b.node("b", plan.Running))
	changed := func(have map[plan.NodeID]int64) []plan.NodeID {
		list, err := b.Store.ChangedNodes(b.ctx(), b.id("x1"), have)
		b.ok(err)
		var ids []plan.NodeID
		for _, n := range list {
			same(b, "the node", b.nodes()[n.ID], n)
			ids = append(ids, n.ID)
		}
		slices.Sort(ids)
		return ids
	}
	same(b, "of none that is known", []plan.NodeID{"a", "b"}, changed(nil))
	have := map[plan.NodeID]int64{"a": 1, "b": 1}
	same(b, "of all as they are", nil, changed(have))
	n := b.node("b", plan.Success)
	n.Version = 1
	b.commit(n, b.node("c", plan.Running))
	same(b, "after a change and a new one", []plan.NodeID{"b", "c"}, changed(have))
	same(b, "of a version that isn't there", []plan.NodeID{"a", "b", "c"}, changed(map[plan.NodeID]int64{"a": 9, "b": 1}))
	none, err := b.Store.ChangedNodes(b.ctx(), b.id("none"), have)
	b.ok(err)
	same(b, "of an execution that isn't there", nil, none)
}

func waitForPeople(b *bench) {
	e := b.create(b.execution("x1"))
	shows := func(when string, want plan.Status) {
		b.Helper()
		read, err := b.Store.Execution(b.ctx(), e.ID)
		b.ok(err)
		same(b, when, want, read.Shown())
		same(b, when+", as it is stored", e.Version, read.Version)
		for _, status := range []plan.Status{plan.Running, plan.ApprovalWaiting, plan.InputWaiting, plan.InterventionWaiting, plan.ResourceWaiting, plan.Pausing, plan.Paused, plan.Success} {
			f := store.ExecutionFilter{Scope: b.scope(), Statuses: []plan.Status{status}}
			list, _, err := b.Store.ListExecutions(b.ctx(), f, store.Page{Limit: 10})
			b.ok(err)
			same(b, fmt.Sprint(when, ", listed as ", status), status == want, len(list) == 1)
			if len(list) == 1 {
				same(b, when+", of the list", want, list[0].Shown())
			}
		}
	}
	version := map[plan.NodeID]int64{}
	commit := func(id plan.NodeID, c store.Commit) {
		b.Helper()
		n := b.node(id, plan.Running)
		n.Version = version[id]
		version[id]++
		c.Nodes = []store.Node{n}
		b.ok(b.Store.CommitExecution(b.ctx(), e.ID, c))
	}
	shows("at first", plan.Running)
	commit("t", store.Commit{Waits: store.Waits{Turns: 1}})
	shows("of one that waits for its turn", plan.ResourceWaiting)
	commit("a", store.Commit{Waits: store.Waits{Inputs: 1}})
	shows("of one that asks for inputs", plan.InputWaiting)
	commit("b", store.Commit{Waits: store.Waits{Approvals: 2}})
	shows("of an approval, too", plan.ApprovalWaiting)
	commit("c", store.Commit{Waits: store.Waits{Interventions: 1}, Execution: &e})
	e.Version++
	shows("of an intervention, too", plan.InterventionWaiting)
	commit("c", store.Commit{Waits: store.Waits{Interventions: -1, Approvals: -1}})
	shows("after that", plan.ApprovalWaiting)
	commit("b", store.Commit{Waits: store.Waits{Approvals: -1}})
	shows("inputs come before a turn", plan.InputWaiting)
	commit("b", store.Commit{Waits: store.Waits{Inputs: -1}})
	shows("a turn is left", plan.ResourceWaiting)
	interrupt := func(i store.Interrupt) {
		b.Helper()
		marked, err := b.Store.SetInterrupt(b.ctx(), e.ID, i, b.record(audit.Pause, e.ID))
		b.ok(err)
		e = marked
	}
	interrupt(store.InterruptPause)
	shows("of one that is to be paused", plan.Pausing)
	commit("h", store.Commit{Waits: store.Waits{Held: 1, Approvals: 1}})
	shows("of one that is", plan.Paused)
	interrupt(store.InterruptNone)
	shows("of one that goes on", plan.ApprovalWaiting)
	commit("h", store.Commit{Waits: store.Waits{Held: -1, Approvals: -1}})
	commit("t", store.Commit{Waits: store.Waits{Turns: -1}})
	shows("after the last", plan.Running)
	child := b.execution("x2")
	child.Pipeline = "chained"
	child.Preview = true // in no list, so that the list above has the parent alone
	child = b.create(child)
	below := func(status plan.Status, at int64, waits store.Waits) {
		b.Helper()
		n := b.node("a", status)
		n.Execution, n.Version = child.ID, at
		b.ok(b.Store.CommitExecution(b.ctx(), child.ID, store.Commit{Nodes: []store.Node{n}, Parent: e.ID, Waits: waits}))
	}
	below(plan.ApprovalWaiting, 0, store.Waits{Approvals: 1})
	shows("of one whose chained execution waits", plan.ApprovalWaiting)
	below(plan.Running, 1, store.Waits{Approvals: -1, Held: 1})
	shows("of one whose chained execution is paused", plan.Running)
	below(plan.Running, 2, store.Waits{})
	held, err := b.Store.Execution(b.ctx(), child.ID)
	b.ok(err)
	same(b, "what waits of the chained execution", store.Waits{Held: 1}, held.Waits)
	commit("a", store.Commit{Waits: store.Waits{Approvals: 1}})
	e.Status = plan.Success
	commit("a", store.Commit{Execution: &e})
	e.Version++
	shows("at the end", plan.Success)
	gone := b.node("a", plan.Running)
	gone.Execution = b.id("none")
	b.refused(b.Store.CommitExecution(b.ctx(), gone.Execution, store.Commit{Nodes: []store.Node{gone}, Waits: store.Waits{Inputs: 1}}), fault.NotFound)
}

func raceWaits(b *bench) {
	e := b.create(b.execution("x1"))
	b.oneWins(fault.StaleVersion, func(int) error {
		return b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Nodes: []store.Node{b.node("a", plan.ApprovalWaiting)}, Waits: store.Waits{Approvals: 1}})
	})
	read, err := b.Store.Execution(b.ctx(), e.ID)
	b.ok(err)
	same(b, "what waits", store.Waits{Approvals: 1}, read.Waits)
}

func openNodes(b *bench) {
	open := func(id plan.NodeID, of string, nodes int) error {
		return b.Store.CommitExecution(b.ctx(), b.id("x1"), store.Commit{
			Nodes: []store.Node{b.node(id, plan.Running)}, Opens: store.Opening{Of: b.id(of), Nodes: nodes, Most: 100},
		})
	}
	b.refused(open("over", "x1", 101), fault.TooLarge)
	b.ok(open("a", "x1", 60))
	b.refused(open("b", "x1", 41), fault.TooLarge)
	b.ok(open("c", "x1", 40))
	b.refused(open("d", "x1", 1), fault.TooLarge)
	b.refused(open("a", "x1", 0), fault.StaleVersion) // it is there already, and nothing was to be opened
	b.ok(open("e", "x2", 100))
	same(b, "nodes", 3, len(b.nodes()))
}

func raceOpenNodes(b *bench) {
	b.oneWins(fault.TooLarge, func(i int) error {
		return b.Store.CommitExecution(b.ctx(), b.id("x1"), store.Commit{
			Nodes: []store.Node{b.node(plan.NodeID(fmt.Sprint("n", i)), plan.Running)}, Opens: store.Opening{Of: b.id("x1"), Nodes: 60, Most: 100},
		})
	})
	same(b, "nodes", 1, len(b.nodes()))
}

func keepOutputs(b *bench) {
	keep := func(id plan.NodeID, execution string, size int, opens store.Opening) error {
		n := b.node(id, plan.Success)
		n.Execution = b.id(execution)
		return b.Store.CommitExecution(b.ctx(), b.id(execution), store.Commit{Nodes: []store.Node{n}, Opens: opens, Keeps: store.Keeping{Bytes: size, Most: 100}})
	}
	stuffed := func(err error) {
		b.Helper()
		b.refused(err, fault.TooLarge)
		same(b, "it is known for what it is", true, errors.Is(err, store.ErrStuffed))
	}
	none, some := store.Opening{}, store.Opening{Of: b.id("x1"), Nodes: 60, Most: 100}
	stuffed(keep("over", "x1", 101, none))
	b.ok(keep("a", "x1", 60, some))
	stuffed(keep("b", "x1", 41, none))
	b.ok(keep("c", "x1", 40, none))
	stuffed(keep("d", "x1", 1, none))
	err := keep("d", "x1", 0, some)
	b.refused(err, fault.TooLarge)
	same(b, "nodes are no outputs", false, errors.Is(err, store.ErrStuffed))
	b.ok(keep("d", "x1", 0, none))
	b.ok(keep("a", "x2", 100, none))
	same(b, "nodes", 3, len(b.nodes()))
}

func raceKeepOutputs(b *bench) {
	b.oneWins(fault.TooLarge, func(i int) error {
		return b.Store.CommitExecution(b.ctx(), b.id("x1"), store.Commit{
			Nodes: []store.Node{b.node(plan.NodeID(fmt.Sprint("n", i)), plan.Success)}, Keeps: store.Keeping{Bytes: 60, Most: 100},
		})
	})
	same(b, "nodes", 1, len(b.nodes()))
}
