package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// executions is store.Executions.
type executions struct {
	table  *table
	audits audits
}

// executionDoc is what no condition and no key asks an execution for.
type executionDoc struct {
	Scope     ref.Scope       `json:"scope"`
	Pipeline  string          `json:"pipeline"`
	Name      string          `json:"name,omitempty"`
	PlanHash  string          `json:"plan,omitempty"`
	Message   string          `json:"message,omitempty"`
	Inputs    json.RawMessage `json:"inputs,omitempty"`
	Actor     string          `json:"actor,omitempty"`
	RetryOf   string          `json:"retryOf,omitempty"`
	Resume    *store.Resume   `json:"resume,omitempty"`
	Back      string          `json:"rollbackOf,omitempty"`
	Parent    store.Holder    `json:"parent,omitzero"`
	Preview   bool            `json:"preview,omitempty"`
	Override  *store.Override `json:"override,omitempty"` // of deployment freezes
	As        *store.Identity `json:"as,omitempty"`
	Starts    bool            `json:"stepsAreJudged,omitempty"` // see store.Execution.JudgesSteps
	Interrupt store.Interrupt `json:"interrupt,omitempty"`
	EndedAt   int64           `json:"ended,omitempty"`
	Deadline  int64           `json:"deadline,omitempty"`
}

func docOf(e store.Execution) executionDoc {
	return executionDoc{
		Scope: e.Scope, Pipeline: e.Pipeline, Name: e.Name, PlanHash: e.PlanHash, Message: e.Message, Inputs: e.Inputs, Actor: e.Actor,
		RetryOf: e.RetryOf, Resume: e.Resume, Back: e.RollbackOf, Parent: e.Parent, Preview: e.Preview, Override: e.Override, As: e.As, Starts: e.JudgesSteps, Interrupt: e.Interrupt, EndedAt: millis(e.EndedAt), Deadline: millis(e.Deadline),
	}
}

func readExecution(ctx context.Context, b bodies, it item) (store.Execution, error) {
	var d executionDoc
	if err := b.decode(ctx, it, "doc", &d); err != nil {
		return store.Execution{}, err
	}
	return store.Execution{
		ID: text(it, "id"), Scope: d.Scope, Pipeline: d.Pipeline, Name: d.Name, Sequence: number(it, "sequence"), PlanHash: d.PlanHash,
		Status: plan.Status(text(it, "status")), Message: d.Message, Inputs: d.Inputs, Actor: d.Actor, RetryOf: d.RetryOf, Resume: d.Resume, RollbackOf: d.Back, Parent: d.Parent, Preview: d.Preview, Override: d.Override, As: d.As, JudgesSteps: d.Starts,
		Waits: store.Waits{
			Approvals: int(number(it, "approvals")), Inputs: int(number(it, "inputs")), Interventions: int(number(it, "interventions")), Turns: int(number(it, "turns")), Held: int(number(it, "held")),
		},
		Interrupt: d.Interrupt, Version: number(it, "version"), StartedAt: fromMillis(number(it, "started")),
		EndedAt: fromMillis(d.EndedAt), Deadline: fromMillis(d.Deadline),
	}, nil
}

// errExists: the execution was created before.
var errExists = errors.New("the execution is there already")

// CreateExecution stores an execution, or gives back the one with its id.
func (s executions) CreateExecution(ctx context.Context, e store.Execution, planDoc []byte, a audit.Record) (store.Execution, error) {
	if err := s.putPlan(ctx, e.PlanHash, planDoc); err != nil {
		return store.Execution{}, fmt.Errorf("store the plan of execution %s: %w", e.ID, err)
	}
	e.Version = 1
	it, err := s.executionItem(ctx, e)
	if err != nil {
		return store.Execution{}, err
	}
	var turn sequenceTurn
	err = s.audits.decided(ctx, a, func() ([]write, error) {
		writes, err := s.numbering(ctx, &turn, &e)
		if err != nil {
			return nil, err
		}
		it["sequence"] = num(e.Sequence)
		return append(writes, s.table.put(it, missing, nil, errExists)), nil
	})
	if errors.Is(err, errExists) {
		s.table.abandon(ctx, s.table.put(it, missing, nil, errExists))
		return s.Execution(ctx, e.ID)
	}
	if err != nil {
		return store.Execution{}, fmt.Errorf("create execution %s: %w", e.ID, err)
	}
	return e, nil
}

// executionItem is a new execution's item but for its sequence number.
func (s executions) executionItem(ctx context.Context, e store.Execution) (item, error) {
	it := executionAt(e.ID).item()
	it["id"], it["status"], it["version"] = str(e.ID), str(string(e.Status)), num(e.Version)
	it["started"] = num(millis(e.StartedAt))
	if !e.Status.Terminal() {
		it["pk2"], it["sk2"] = str(runningPK), str(momentText(e.StartedAt, e.ID))
	}
	return it, s.table.encodeOwn(ctx, it, "doc", docOf(e), largestValue)
}

// sequenceTurn is how a new execution comes to its sequence number.
type sequenceTurn struct {
	tried bool // to take it together with the start
	taken bool // alone, before the start
}

// numbering gives e the next sequence number of its pipeline, and the writes
// that take it and list e. From the second try on, because others start at the
// same moment, it is taken before the start: it stays unused if that isn't made
// after all.
func (s executions) numbering(ctx context.Context, turn *sequenceTurn, e *store.Execution) ([]write, error) {
	at, month := sequenceAt(e.Scope, e.Pipeline), monthOf(e.StartedAt)
	if turn.tried && !turn.taken && !e.Preview {
		// Not in a new month: its first execution writes what finds the month.
		next, ok, err := s.table.change(ctx, at, "ADD #last :one", "#month = :month", item{":one": num(1), ":month": str(month)})
		if err != nil {
			return nil, err
		}
		if turn.taken = ok; ok {
			e.Sequence = number(next, "last")
		}
	}
	if turn.taken {
		return s.listing(*e, month), nil
	}
	turn.tried = true
	sequence, err := s.table.get(ctx, at)
	if err != nil {
		return nil, err
	}
	e.Sequence = number(sequence, "last") + 1
	if e.Preview {
		return nil, nil // no list has it, and the number is left to others
	}
	next := at.item()
	next["last"], next["month"] = num(e.Sequence), str(month)
	asRead, values := "#last = :last", item{":last": sequence["last"]}
	if sequence == nil {
		asRead, values = missing, nil
	}
	return append(s.listing(*e, text(sequence, "month")), s.table.put(next, asRead, values, errAgain)), nil
}

// putPlan stores a plan unless it is there. It comes before the execution that
// names it, and alone is harmless.
func (s executions) putPlan(ctx context.Context, hash string, doc []byte) error {
	// A refused write would cost as much as the plan is large.
	have, err := s.table.get(ctx, planAt(hash))
	if err != nil || have != nil {
		return err
	}
	it := planAt(hash).item()
	if it["doc"], err = s.table.packed(ctx, doc, largestValue); err != nil {
		return err
	}
	_, _, err = s.table.place(ctx, it, missing)
	return err
}

// Plan reads a plan document by its hash.
func (s executions) Plan(ctx context.Context, hash string) ([]byte, error) {
	it, err := s.table.find(ctx, planAt(hash), "plan %q", hash)
	if err != nil {
		return nil, err
	}
	return s.table.unpacked(ctx, it, "doc")
}

// Execution reads one.
func (s executions) Execution(ctx context.Context, id string) (store.Execution, error) {
	it, err := s.table.find(ctx, executionAt(id), "execution %q", id)
	if err != nil {
		return store.Execution{}, err
	}
	return readExecution(ctx, s.table.bodies, it)
}

// updating writes e over the version that it was read as, and counts what more of
// it waits.
func (s executions) updating(ctx context.Context, e store.Execution, more store.Waits, lost error) (write, error) {
	values := item{":status": str(string(e.Status)), ":version": num(e.Version), ":next": num(e.Version + 1)}
	if err := s.table.encodeOwn(ctx, values, ":doc", docOf(e), largestValue); err != nil {
		return write{}, err
	}
	change := "SET #status = :status, #version = :next, #doc = :doc"
	if e.Status.Terminal() {
		change += " REMOVE pk2, sk2"
	}
	return s.table.update(executionAt(e.ID), change+counting(more, values), "#version = :version", values, lost), nil
}

// waiting counts what more of an execution waits, whatever its version is.
func (s executions) waiting(id string, more store.Waits) write {
	values := item{}
	change := strings.TrimSpace(counting(more, values))
	return s.table.update(executionAt(id), change, "attribute_exists(#status)", values, fault.New(fault.NotFound, "there is no execution %q", id))
}

// counting is the part of an update that counts, and adds what it names to values.
func counting(more store.Waits, values item) string {
	if more == (store.Waits{}) {
		return ""
	}
	for name, n := range map[string]int{
		":approvals": more.Approvals, ":inputs": more.Inputs, ":interventions": more.Interventions, ":turns": more.Turns, ":held": more.Held,
	} {
		values[name] = num(int64(n))
	}
	return " ADD #approvals :approvals, #inputs :inputs, #interventions :interventions, #turns :turns, #held :held"
}

// SetInterrupt marks an execution that is under way.
func (s executions) SetInterrupt(ctx context.Context, id string, i store.Interrupt, a audit.Record) (store.Execution, error) {
	var marked store.Execution
	entered := entry{records: []audit.Record{a}}
	err := again(ctx, func() error {
		e, err := s.Execution(ctx, id)
		if err != nil {
			return err
		}
		if marked = e; e.Interrupt == i && !e.Status.Terminal() {
			return nil
		}
		if err := store.Interruptible(e); err != nil {
			return err
		}
		e.Interrupt = i
		updated, err := s.updating(ctx, e, store.Waits{}, errAgain)
		if err != nil {
			return err
		}
		entering, err := s.audits.entering(ctx, &entered)
		if err != nil {
			return err
		}
		e.Version++
		marked = e
		err = s.table.transact(ctx, append(entering, updated)...)
		if errors.Is(err, errAgain) { // the next try has another blob
			s.table.abandon(ctx, updated)
		}
		return err
	})
	if err != nil {
		return store.Execution{}, err
	}
	s.audits.settle(ctx, entered)
	return marked, nil
}
