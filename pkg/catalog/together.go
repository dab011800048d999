package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/templatestore"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// CheckAll says what SaveAll would do. It changes nothing.
func (c *Catalog) CheckAll(ctx context.Context, set []Draft) ([]Result, error) {
	set = slices.Clone(set)
	for i := range set {
		set[i].checked = true
	}
	all, _, err := c.prepareAll(ctx, set)
	return results(all, nil), err
}

// SaveAll saves drafts as one set, over whatever is there. Each is checked
// against the others as they will be, and nothing is saved if anything is wrong
// with one of them. Their errors and warnings are those of all, at their places.
// What the store can't change at once is saved in parts, see store.SaveEntities.
//
// The results are in the order of saving: what is named comes before what
// names it. A draft that is there twice, byte for byte, is one.
func (c *Catalog) SaveAll(ctx context.Context, set []Draft, by audit.Author) ([]Result, error) {
	done := map[store.EntityKey]Result{}
	for range maxRaces {
		all, v, err := c.prepareAll(ctx, set)
		if err == nil {
			err = c.writeAll(ctx, all, v, by, done)
		}
		switch {
		case err == nil:
			return results(all, done), c.tell(ctx, slices.Collect(maps.Keys(done))...)
		case !fault.Is(err, fault.StaleVersion):
			for key, denied := range v.denied {
				if kept := c.keepDenial(ctx, key, by, denied); fault.CodeOf(kept) != fault.PolicyDenied {
					return nil, kept
				}
			}
			return nil, partly(err, done, len(set))
		}
	}
	return nil, partly(fault.New(fault.Conflict, "others changed what is to be saved %d times meanwhile; save it again", maxRaces), done, len(set))
}

// results are what was done; done are the changes of tries before the last.
func results(all []prepared, done map[store.EntityKey]Result) []Result {
	var out []Result
	for _, p := range all {
		r := p.result()
		if earlier, ok := done[r.Key]; ok {
			r.Version, r.Change = earlier.Version, earlier.Change
		}
		out = append(out, r)
	}
	return out
}

// partly says of an error what had been saved before it.
func partly(err error, done map[store.EntityKey]Result, of int) error {
	if len(done) == 0 {
		return err
	}
	var names []string
	for key := range done {
		names = append(names, key.Describe())
	}
	slices.Sort(names)
	const shown = 20
	if more := len(names) - shown; more > 0 {
		names = append(names[:shown], fmt.Sprintf("and %d more", more))
	}
	code := fault.CodeOf(err)
	switch code {
	case fault.Internal:
		code = fault.Unavailable
	case fault.Invalid: // which would mean that nothing was done
		code = fault.Conflict
	default:
	}
	return fault.New(code, "%d of %d documents were saved, and then: %w; apply them again, which goes on from there. Saved were %s",
		len(done), of, err, strings.Join(names, ", ")).With(detailsOf(err)...)
}

func detailsOf(err error) []fault.Detail {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Details
	}
	return nil
}

// prepareAll checks a set. What is wrong with any of it is one error.
func (c *Catalog) prepareAll(ctx context.Context, set []Draft) ([]prepared, *view, error) {
	v := newView(c.Store.Entity)
	v.Entities = c.Policies.Entities(c.Store.Entities)
	v.templates(set)
	then := c.Config
	then.Store.Entities = v
	in := New(then)
	in.near = &neighbours{}
	read := make([]reading, len(set))
	var bad faults
	for i, d := range set {
		e, report, err := in.read(ctx, d)
		if err := bad.add(d, err); err != nil {
			return nil, v, err
		}
		read[i] = reading{draft: d, entity: e, report: report, good: err == nil}
		v.add(e, d)
		if err == nil {
			in.near.set = append(in.near.set, e)
		}
	}
	if err := v.prefetch(ctx); err != nil {
		return nil, v, err
	}
	again := bad.repeated(read)
	var all []prepared
	for i, r := range read {
		if !r.good || again[i] {
			continue
		}
		p, err := in.fitted(ctx, r, v.saved)
		if err := bad.add(r.draft, err); err != nil {
			return nil, v, err
		}
		if fault.Is(err, fault.PolicyDenied) {
			v.denied[p.next.Key] = err
		}
		if err == nil {
			p.warnings = r.draft.placed(p.warnings)
			all = append(all, p)
		}
	}
	order(all)
	if err := bad.err(); err != nil || len(set) == 0 {
		return all, v, err
	}
	return all, v, keeps(ctx, c, set[0].Scope.Account, set[0].By, all...)
}

// reading is a draft that has been read.
type reading struct {
	draft  Draft
	entity *entity.Entity
	report *yamldoc.Report
	good   bool
}

// placed moves findings from a draft's lines to those of its file. What a
// template brought stays where it is.
func (d Draft) placed(found []fault.Detail) []fault.Detail {
	out := slices.Clone(found)
	for i, f := range out {
		if f.File != "" && f.File != d.File {
			continue
		}
		if out[i].File = d.File; f.Line > 0 {
			out[i].Line += d.Before
		}
	}
	return out
}

// faults collects what is wrong with the documents of a set.
type faults struct {
	codes   []fault.Code
	details []fault.Detail
}

// add takes an error about a draft; what isn't about it comes back.
func (b *faults) add(d Draft, err error) error {
	var f *fault.Error
	if err == nil || !errors.As(err, &f) || fault.CodeOf(err) == fault.Internal || fault.CodeOf(err) == fault.Unavailable {
		return err
	}
	details := f.Details
	if len(details) == 0 {
		details = []fault.Detail{{File: d.File, Line: 1, Column: 1, Severity: "error", Code: string(f.Code), Message: f.Message}}
	}
	b.codes, b.details = append(b.codes, f.Code), append(b.details, d.placed(details)...)
	return nil
}

// repeated finds drafts that have the name of another. The same bytes again
// are harmless, and left out.
func (b *faults) repeated(read []reading) map[int]bool {
	entities := make([]*entity.Entity, len(read))
	for i, r := range read {
		entities[i] = r.entity
	}
	out := map[int]bool{}
	for i, first := range Repeated(entities) {
		out[i] = true
		one, other := read[i], read[first]
		if bytes.Equal(bytes.TrimSpace(one.draft.YAML), bytes.TrimSpace(other.draft.YAML)) {
			continue
		}
		b.codes, b.details = append(b.codes, fault.Invalid), append(b.details, Twice(one.draft, one.entity, other.draft, other.entity))
	}
	return out
}

// Twice is the finding about a document that has the name of another, which
// stands before it.
func Twice(d Draft, e *entity.Entity, first Draft, other *entity.Entity) fault.Detail {
	at := e.Identifier.At
	return fault.Detail{
		File: d.File, Path: at.Path, Line: d.Before + at.Line, Column: at.Column, Severity: "error", Code: "DUPLICATE_DOCUMENT",
		Message: fmt.Sprintf("the %s %q stands in %s:%d already, with other content", e.Kind, e.Identifier.Value, first.File, first.Before+other.Identifier.At.Line),
	}
}

func (b *faults) err() error {
	if len(b.codes) == 0 {
		return nil
	}
	code := b.codes[0]
	if slices.ContainsFunc(b.codes, func(c fault.Code) bool { return c != code }) {
		code = fault.Invalid
	}
	return fault.New(code, "the documents can't be saved; nothing was").With(b.details...)
}

// writeAll stores a set, and notes in done what has been.
func (c *Catalog) writeAll(ctx context.Context, all []prepared, v *view, by audit.Author, done map[store.EntityKey]Result) error {
	var saves []store.Save
	changed := map[store.EntityKey]*prepared{}
	var judged *int64 // when the first of them was
	for i := range all {
		p := &all[i]
		if p.asOf != nil && (judged == nil || *p.asOf < *judged) {
			judged = p.asOf
		}
		if p.change != Unchanged {
			one, err := c.saving(ctx, p, by)
			if err != nil {
				return err
			}
			saves = append(saves, one)
			changed[p.next.Key] = p
		}
		if p.entity.Kind != ref.Template || !v.first(p.next.Key) {
			continue
		}
		id := p.entity.Identifier.Value
		if _, err := templatestore.Stable(ctx, c.Store.Entity, ref.Ref{Scope: p.next.Key.Scope, ID: id}); !fault.Is(err, fault.NotFound) {
			if err != nil {
				return err
			}
			continue
		}
		saves = append(saves, c.pointing(store.Entity{}, ref.Ref{Scope: p.next.Key.Scope, ID: id}, p.entity.Template.VersionLabel.Value, by))
	}
	if err := c.scopes().found(ctx, by, slices.Collect(maps.Keys(changed))); err != nil {
		return err
	}
	saved, err := judgedBy(c.Store.Entities, judged).SaveEntities(ctx, saves)
	c.changed(slices.Collect(maps.Keys(changed))...)
	for _, e := range saved {
		if p, ok := changed[e.Key]; ok {
			p.next = e
			done[e.Key] = p.result()
		}
	}
	return err
}

// Decoded is a document that has been decoded, see Misfits.
type Decoded struct {
	Draft

	Entity *entity.Entity
}

// Misfits says how the documents of a set don't fit each other, or what saved
// gives: what SaveAll would say beside what decoding them said. It is for who
// has no store, and decoded them with the options.
func Misfits(ctx context.Context, set []Decoded, saved Find, o entity.Options) ([]fault.Detail, error) {
	v := newView(saved)
	drafts, entities := make([]Draft, len(set)), make([]*entity.Entity, len(set))
	for i, d := range set {
		drafts[i], entities[i] = d.Draft, d.Entity
	}
	v.templates(drafts)
	for _, d := range set {
		v.add(d.Entity, d.Draft)
	}
	var bad faults
	var warnings []fault.Detail
	for _, d := range set {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if d.Entity == nil || d.Entity.Identifier.Value == "" {
			continue
		}
		some, err := Find(v.Entity).misfit(ctx, d.Entity, d.Draft, o)
		if err := bad.add(d.Draft, err); err != nil {
			return nil, err
		}
		warnings = append(warnings, d.placed(some)...)
		if d.Entity.User == nil {
			continue
		}
		report, users := yamldoc.NewReport(d.File), mails{}
		users.add(d.Entity.Scope.Account, entities)
		users.taken(d.Entity, report)
		if err := bad.add(d.Draft, report.Err()); err != nil {
			return nil, err
		}
	}
	return append(bad.details, warnings...), nil
}
