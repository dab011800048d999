package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// saving is an entity on its way into the table.
type saving struct {
	saved    store.Entity // as it will be
	record   audit.Record
	writes   []write  // the entity and the values that it brings
	source   string   // its name in references
	had, has []string // what it named, and what it names
	bytes    int      // about what it brings into a transaction
}

// SaveEntity writes e over the version that it was read as.
func (s entities) SaveEntity(ctx context.Context, e store.Entity, a audit.Record, values ...store.Secret) (store.Entity, error) {
	saved, err := s.SaveEntities(ctx, []store.Save{{Entity: e, Audit: a, Values: values}})
	if err != nil {
		return store.Entity{}, err
	}
	return saved[0], nil
}

// SaveEntities is SaveEntity for several: as many at once as a transaction takes.
func (s entities) SaveEntities(ctx context.Context, saves []store.Save) ([]store.Entity, error) {
	all, err := s.savings(ctx, saves)
	if err != nil {
		return nil, err
	}
	var saved []store.Entity
	for len(all) > 0 {
		n := fitting(all)
		if err := s.saveTogether(ctx, all[:n]); err != nil {
			return saved, fmt.Errorf("save %s: %w", all[0].saved.Key.Describe(), err)
		}
		if s.judged != nil && slices.ContainsFunc(all[:n], func(p saving) bool { return ref.OfAccess(p.saved.Key.Kind) }) {
			own := *s.judged + 1 // this part has counted, and the next was judged with it
			s.judged = &own
		}
		for _, p := range all[:n] {
			saved = append(saved, p.saved)
		}
		all = all[n:]
	}
	return saved, nil
}

// savings reads what entities are saved over. One that isn't as it was read
// keeps all from being saved.
func (s entities) savings(ctx context.Context, saves []store.Save) ([]saving, error) {
	before, err := s.before(ctx, saves)
	if err != nil {
		return nil, err
	}
	all := make([]saving, len(saves))
	for i, one := range saves {
		if all[i], err = s.saving(ctx, one, before[entityAt(one.Entity.Key)]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s entities) before(ctx context.Context, saves []store.Save) (map[key]item, error) {
	var keys []key
	for _, one := range saves {
		if one.Entity.Version > 0 {
			keys = append(keys, entityAt(one.Entity.Key))
		}
	}
	before := make(map[key]item, len(keys))
	if len(keys) == 1 {
		it, err := s.table.get(ctx, keys[0])
		before[keys[0]] = it
		return before, err
	}
	found, err := s.table.getAll(ctx, keys)
	for _, it := range found {
		before[keyOf(it)] = it
	}
	return before, err
}

func (s entities) saving(ctx context.Context, one store.Save, before item) (saving, error) {
	e := one.Entity
	lost := store.Stale(e.Key.Describe(), e.Version)
	if e.Version > 0 {
		if before == nil || number(before, "version") != e.Version {
			return saving{}, lost
		}
		e.CreatedAt = fromMillis(number(before, "created"))
	}
	p := saving{saved: e, record: one.Audit, source: entityText(e.Key), had: refsOf(before)}
	p.saved.Version++
	it, err := s.entityItem(ctx, p.saved)
	if err != nil {
		return saving{}, err
	}
	p.has = refsOf(it)
	if e.Version > 0 {
		p.writes = append(p.writes, s.table.put(it, "#version = :version", item{":version": num(e.Version)}, lost))
	} else {
		p.writes = append(p.writes, s.table.put(it, missing, nil, lost))
	}
	for _, v := range one.Values {
		value, err := secretItem(ctx, s.table.bodies, v)
		if err != nil {
			return saving{}, err
		}
		p.writes = append(p.writes, s.table.put(value, "", nil, nil))
		p.bytes += len(bytes(value, "ciphertext"))
	}
	record, err := json.Marshal(one.Audit)
	if err != nil {
		return saving{}, fmt.Errorf("encode the audit record of %s: %w", e.Key.Describe(), err)
	}
	p.bytes += len(bytes(it, "yaml")) + 100*len(p.has) + min(len(record), largestValue)
	return p, nil
}

// largestSaves is about how many bytes of entities go into one transaction,
// which may have 4 MB with their references.
const largestSaves = 3 << 20

// fitting is how many of the entities fit into one transaction, with their
// audit records; one does. References that don't fit are written around it.
func fitting(all []saving) int {
	writes, size := mostEntering, 0 // one of them may count the change
	for i, p := range all {
		writes, size = writes+len(p.writes)+1, size+p.bytes
		if i > 0 && (writes > largestTransaction || size > largestSaves) {
			return i
		}
	}
	return len(all)
}

func (s entities) saveTogether(ctx context.Context, part []saving) error {
	var writes []write
	var records []audit.Record
	var keys []store.EntityKey
	for _, p := range part {
		writes, records, keys = append(writes, p.writes...), append(records, p.record), append(keys, p.saved.Key)
	}
	writes = append(writes, s.counting(keys...)...)
	names := s.references.bring(part, largestTransaction-len(writes)-len(records)-(mostEntering-1))
	for _, r := range names.around {
		if _, _, err := s.table.place(ctx, referenceItem(r.target, r.source), ""); err != nil {
			return err
		}
	}
	writes = append(writes, names.within...)
	if err := s.audits.recorded(ctx, records, func() ([]write, error) { return writes, nil }); err != nil {
		return err
	}
	for _, r := range names.around {
		if err := again(ctx, func() error { return s.table.transact(ctx, s.references.count(r.target, 1)) }); err != nil {
			return err
		}
	}
	return nil
}
