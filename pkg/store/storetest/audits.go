package storetest

import (
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func auditCases() []testCase {
	return []testCase{
		{"an appended record is chained and read as it was", appendAudit},
		{"lists go by sequence from a number on", listAudit},
		{"accounts have chains of their own", auditApart},
		{"the chain holds under many appends of all sorts", raceAudit},
		{"a record of a key is appended once", appendAuditOnce},
		{"a refused change leaves no gap", auditRefused},
		{"a commit and its record happen together", auditCommit},
		{"the beginning of a trail goes, and what is left verifies", trimAudit},
		{"of many who remove the same beginning one records it", raceTrimAudit},
		{"how far a trail has come is kept by its version", saveStream},
		{"of many who save the same version of a stream one wins", raceStream},
	}
}

// chain reads an account's whole trail and checks it.
func (b *bench) chain() []audit.Record {
	b.Helper()
	var all []audit.Record
	var v audit.Verifier
	for {
		part, err := b.Store.ListAudit(b.ctx(), b.account, int64(len(all)+1), 7)
		b.ok(err)
		if len(part) == 0 {
			return all
		}
		for _, r := range part {
			b.ok(v.Check(r))
		}
		all = append(all, part...)
	}
}

func appendAudit(b *bench) {
	r := b.record(audit.CreateToken, "t1")
	r.Before, r.After, r.Request = "a: <1>\n", "a: 2 & \"3\"\n", "req-1"
	got, err := b.Store.AppendAudit(b.ctx(), r)
	b.ok(err)
	want, err := audit.Chain(r, 0, "")
	b.ok(err)
	same(b, "appended", want, got)
	same(b, "read", []audit.Record{want}, b.chain())
}

func listAudit(b *bench) {
	none, err := b.Store.LastAudit(b.ctx(), b.account)
	b.ok(err)
	same(b, "last of no records", 0, none)
	for i := range 12 {
		_, err := b.Store.AppendAudit(b.ctx(), b.record(audit.Update, fmt.Sprint(i)))
		b.ok(err)
	}
	for _, c := range []struct {
		from  int64
		limit int
		want  []int64
	}{
		{1, 3, []int64{1, 2, 3}},
		{11, 5, []int64{11, 12}},
		{13, 5, nil},
		{0, 1, []int64{1}},
	} {
		list, err := b.Store.ListAudit(b.ctx(), b.account, c.from, c.limit)
		b.ok(err)
		var got []int64
		for _, r := range list {
			got = append(got, r.Sequence)
		}
		same(b, fmt.Sprintf("from %d, at most %d", c.from, c.limit), c.want, got)
	}
	last, err := b.Store.LastAudit(b.ctx(), b.account)
	b.ok(err)
	same(b, "last", 12, last)
}

func auditApart(b *bench) {
	other := b.record(audit.Update, "x")
	other.Scope = ref.Scope{Account: b.account + "x"}
	for range 2 {
		_, err := b.Store.AppendAudit(b.ctx(), other)
		b.ok(err)
	}
	got, err := b.Store.AppendAudit(b.ctx(), b.record(audit.Update, "y"))
	b.ok(err)
	same(b, "sequence", 1, got.Sequence)
	same(b, "records", 1, len(b.chain()))
}

func appendAuditOnce(b *bench) {
	expires := at(3600)
	once := func(key string) error {
		return b.Store.AppendAuditOnce(b.ctx(), b.record(audit.Reveal, key), b.id(key), expires)
	}
	b.allSucceed(func(i int) error { return once(fmt.Sprint("k", i%2)) })
	b.ok(once("k1"))
	got := map[string]int{}
	for _, r := range b.chain() {
		got[r.ID]++
	}
	same(b, "records by their keys", map[string]int{"k0": 1, "k1": 1}, got)
}

func raceAudit(b *bench) {
	b.allSucceed(func(i int) error {
		switch i % 4 {
		case 0:
			_, err := b.Store.AppendAudit(b.ctx(), b.record(audit.CreateToken, fmt.Sprint(i)))
			return err
		case 1:
			_, err := b.Store.SaveEntity(b.ctx(), b.entity(ref.Service, fmt.Sprint("s", i)), b.record(audit.Create, fmt.Sprint(i)))
			return err
		case 2:
			r := b.record(audit.Approve, fmt.Sprint(i))
			nodes := []store.Node{b.node(plan.NodeID(fmt.Sprint("n", i)), plan.Running)}
			return b.Store.CommitExecution(b.ctx(), b.id("x"), store.Commit{Nodes: nodes, Audit: &r})
		default:
			e := b.execution(fmt.Sprint("x", i))
			_, err := b.Store.CreateExecution(b.ctx(), e, []byte(`{}`), b.record(audit.Start, e.ID))
			return err
		}
	})
	same(b, "records", racers, len(b.chain()))
}

func auditRefused(b *bench) {
	e := b.save(b.entity(ref.Service, "shop"))
	for range 3 {
		_, err := b.Store.SaveEntity(b.ctx(), store.Entity{Key: e.Key}, b.record(audit.Create, "shop"))
		b.refused(err, fault.StaleVersion)
	}
	b.save(e)
	same(b, "records", 2, len(b.chain()))
}

func auditCommit(b *bench) {
	n, r := b.node("pipeline.ask", plan.ApprovalWaiting), b.record(audit.Approve, "x1/pipeline.ask")
	b.ok(b.Store.CommitExecution(b.ctx(), b.id("x1"), store.Commit{Nodes: []store.Node{n}, Audit: &r}))
	err := b.Store.CommitExecution(b.ctx(), b.id("x1"), store.Commit{Nodes: []store.Node{n}, Audit: &r})
	b.refused(err, fault.StaleVersion)
	if got := b.chain(); len(got) != 1 || got[0].Action != audit.Approve || got[0].ID != r.ID {
		b.Errorf("the trail is %+v; want the record of the commit that happened", got)
	}
}

// left reads what is left of an account's trail and checks it from there on.
func (b *bench) left() []audit.Record {
	b.Helper()
	removed, err := b.Store.RemovedAudit(b.ctx(), b.account)
	b.ok(err)
	list, err := b.Store.ListAudit(b.ctx(), b.account, 0, 500)
	b.ok(err)
	var v audit.Verifier
	v.From(removed)
	for _, r := range list {
		b.ok(v.Check(r))
	}
	return list
}

func trimAudit(b *bench) {
	none, err := b.Store.RemovedAudit(b.ctx(), b.account)
	b.ok(err)
	same(b, "removed from a whole trail", audit.Place{}, none)
	var places []audit.Place
	for i := range 130 { // more than is deleted at a time
		r := b.record(audit.Update, fmt.Sprint(i))
		if i == 3 {
			r.After = strings.Repeat("large ", 100_000) // in a blob
		}
		made, err := b.Store.AppendAudit(b.ctx(), r)
		b.ok(err)
		places = append(places, made.Place())
	}
	trim := func(n int) {
		b.Helper()
		b.ok(b.Store.TrimAudit(b.ctx(), b.account, places[n-1], audit.Expiry(at(9), b.account, places[n-1])))
	}
	trim(120)
	list := b.left()
	same(b, "records left", 11, len(list))
	same(b, "the first of them", 121, list[0].Sequence)
	same(b, "the last tells of it", true, list[10].Tells(places[119]))
	trim(120) // again, and of what is gone already
	trim(5)
	same(b, "records left", 11, len(b.left()))
	removed, err := b.Store.RemovedAudit(b.ctx(), b.account)
	b.ok(err)
	same(b, "removed", places[119], removed)
	trim(130)
	list = b.left() // what tells of the first, and of the second
	same(b, "records left", 2, len(list))
	made, err := b.Store.AppendAudit(b.ctx(), b.record(audit.Update, "next"))
	b.ok(err)
	same(b, "the next one's number", 133, made.Sequence)
	b.left()
}

func raceTrimAudit(b *bench) {
	var last audit.Record
	for i := range 5 {
		var err error
		last, err = b.Store.AppendAudit(b.ctx(), b.record(audit.Update, fmt.Sprint(i)))
		b.ok(err)
	}
	b.allSucceed(func(int) error {
		return b.Store.TrimAudit(b.ctx(), b.account, last.Place(), audit.Expiry(at(9), b.account, last.Place()))
	})
	list := b.left()
	if len(list) != 1 || !list[0].Tells(last.Place()) {
		b.Errorf("the trail is %+v; want the one record that the others were removed", list)
	}
}

func saveStream(b *bench) {
	none, err := b.Store.Stream(b.ctx(), b.account, "siem")
	b.ok(err)
	same(b, "of a destination to which nothing was sent", store.Stream{Account: b.account, Destination: "siem"}, none)
	none.Made, none.Document, none.Sequence, none.Sent = at(1), 2, 500, at(3)
	none.Failures, none.Failed, none.Error, none.Next = 4, at(5), "siem.example.com answered 503", at(6)
	saved, err := b.Store.SaveStream(b.ctx(), none)
	b.ok(err)
	same(b, "version", 1, saved.Version)
	read, err := b.Store.Stream(b.ctx(), b.account, "siem")
	b.ok(err)
	same(b, "read", saved, read)
	_, err = b.Store.SaveStream(b.ctx(), none)
	b.refused(err, fault.StaleVersion)
	saved.Sequence = 700
	_, err = b.Store.SaveStream(b.ctx(), saved)
	b.ok(err)
	other, err := b.Store.Stream(b.ctx(), b.account+"x", "siem")
	b.ok(err)
	same(b, "of another account", 0, other.Sequence)
}

func raceStream(b *bench) {
	winner := b.oneWins(fault.StaleVersion, func(i int) error {
		_, err := b.Store.SaveStream(b.ctx(), store.Stream{Account: b.account, Destination: "siem", Sequence: int64(i)})
		return err
	})
	got, err := b.Store.Stream(b.ctx(), b.account, "siem")
	b.ok(err)
	same(b, "sequence", int64(winner), got.Sequence)
}
