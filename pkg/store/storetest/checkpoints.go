package storetest

import (
	"bytes"
	"errors"
	"strconv"
	"sync"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

func checkpointCases() []testCase {
	return []testCase{
		{"the first checkpoint of a key is its stage's", firstCheckpoint},
		{"only the holder of a task keeps checkpoints", strangersCheckpoint},
		{"a stage's are listed, the newest first", listCheckpoints},
		{"a stage has as many bytes as it may have", checkpointBound},
		{"of many at once one is first", raceCheckpoint},
	}
}

const checkpointRoom = 1 << 20

// heldTask is a task that the delegate d1 holds, with its fence.
func (b *bench) heldTask(name string) (store.Task, int64) {
	t := b.task(name)
	_, err := b.Store.CreateTask(b.ctx(), t)
	b.ok(err)
	claimed, err := b.Store.ClaimTasks(b.ctx(), b.id("d1"), 1, []task.ID{t.ID}, at(60))
	b.ok(err)
	if len(claimed) != 1 {
		b.Fatalf("claimed %d tasks", len(claimed))
	}
	return claimed[0], claimed[0].Fence
}

func (b *bench) checkpoint(t store.Task, key, data string, second int) store.Checkpoint {
	return store.Checkpoint{Execution: b.id("x1"), Stage: "pipeline.stages.a", Key: key, Step: "pipeline.stages.a.spec.execution.steps.s", Task: t.ID, At: at(second), Data: []byte(data)}
}

func firstCheckpoint(b *bench) {
	t, fence := b.heldTask("t1")
	first := b.checkpoint(t, "arn:a", "before", 1)
	got, err := b.Store.KeepCheckpoint(b.ctx(), first, b.id("d1"), fence, checkpointRoom)
	b.ok(err)
	same(b, "the first", first, got)
	got, err = b.Store.KeepCheckpoint(b.ctx(), b.checkpoint(t, "arn:a", "half made", 2), b.id("d1"), fence, checkpointRoom)
	b.ok(err)
	same(b, "another", first, got)

	again, fence := b.heldTask("t2") // of a retry
	got, err = b.Store.KeepCheckpoint(b.ctx(), b.checkpoint(again, "arn:a", "half made", 3), b.id("d1"), fence, checkpointRoom)
	b.ok(err)
	same(b, "a retry's", first, got)
	elsewhere := b.checkpoint(again, "arn:a", "of another stage", 4)
	elsewhere.Stage = "pipeline.stages.aa"
	got, err = b.Store.KeepCheckpoint(b.ctx(), elsewhere, b.id("d1"), fence, checkpointRoom)
	b.ok(err)
	same(b, "of another stage", elsewhere, got)
}

func strangersCheckpoint(b *bench) {
	t, fence := b.heldTask("t1")
	c := b.checkpoint(t, "arn:a", "x", 1)
	_, err := b.Store.KeepCheckpoint(b.ctx(), c, b.id("d2"), fence, checkpointRoom)
	b.refused(err, fault.LeaseLost)
	_, err = b.Store.KeepCheckpoint(b.ctx(), c, b.id("d1"), fence+1, checkpointRoom)
	b.refused(err, fault.LeaseLost)
	_, err = b.Store.CancelTask(b.ctx(), t.ID)
	b.ok(err)
	_, err = b.Store.KeepCheckpoint(b.ctx(), c, b.id("d1"), fence, checkpointRoom)
	b.refused(err, fault.LeaseLost)
	none, err := b.Store.ListCheckpoints(b.ctx(), b.id("x1"), c.Stage)
	b.ok(err)
	same(b, "kept", 0, len(none))
}

func listCheckpoints(b *bench) {
	t, fence := b.heldTask("t1")
	large := string(bytes.Repeat([]byte("\xff\x00"), 130<<10)) // with its key larger than an item
	old, mid, last := b.checkpoint(t, "b", large, 1), b.checkpoint(t, "c", "", 2), b.checkpoint(t, "a", "{}", 3)
	mid.Data = []byte{}
	for _, c := range []store.Checkpoint{mid, old, last} {
		_, err := b.Store.KeepCheckpoint(b.ctx(), c, b.id("d1"), fence, checkpointRoom)
		b.ok(err)
	}
	got, err := b.Store.ListCheckpoints(b.ctx(), b.id("x1"), old.Stage)
	b.ok(err)
	same(b, "listed", []store.Checkpoint{last, mid, old}, got)
	for _, of := range []struct {
		execution string
		stage     plan.NodeID
	}{{b.id("x1"), "pipeline.stages"}, {b.id("x2"), old.Stage}} {
		none, err := b.Store.ListCheckpoints(b.ctx(), of.execution, of.stage)
		b.ok(err)
		same(b, "of "+of.execution, 0, len(none))
	}
}

func checkpointBound(b *bench) {
	t, fence := b.heldTask("t1")
	one, two := b.checkpoint(t, "a", "12345", 1), b.checkpoint(t, "b", "12345", 2)
	room := one.Size() + two.Size()
	keep := func(c store.Checkpoint) error {
		_, err := b.Store.KeepCheckpoint(b.ctx(), c, b.id("d1"), fence, room)
		return err
	}
	b.ok(keep(one))
	b.refused(keep(b.checkpoint(t, "b", "123456", 2)), fault.TooLarge)
	b.ok(keep(two))
	b.ok(keep(b.checkpoint(t, "b", "again", 3)))
	b.refused(keep(b.checkpoint(t, "c", "", 3)), fault.TooLarge)
}

func raceCheckpoint(b *bench) {
	t, fence := b.heldTask("t1")
	kept := make([]store.Checkpoint, 8)
	errs := make([]error, len(kept))
	var all sync.WaitGroup
	for i := range kept {
		all.Go(func() {
			kept[i], errs[i] = b.Store.KeepCheckpoint(b.ctx(), b.checkpoint(t, "a", strconv.Itoa(i), i), b.id("d1"), fence, checkpointRoom)
		})
	}
	all.Wait()
	b.ok(errors.Join(errs...))
	for _, c := range kept {
		same(b, "kept", kept[0], c)
	}
}
