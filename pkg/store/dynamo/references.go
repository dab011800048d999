package dynamo

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// A reference is an item of its own below its target, so that who names the
// target can be listed. Whoever names an entity has such an item; the reverse
// need not be, because a transaction holds only so many: what is left over is
// ignored when it is read. The entity itself says what it names.
//
// Each target also counts how often it came to be named. A delete is made from
// a count that hasn't changed since it looked for referrers, so that it and a
// new reference can't both succeed unseen.

// largestTransaction is how many writes DynamoDB takes at once.
const largestTransaction = 100

// refsOf is what an entity's item names, each once, as entityText.
func refsOf(it item) []string {
	list, ok := it["refs"].(*types.AttributeValueMemberL)
	if !ok {
		return nil
	}
	var out []string
	for _, v := range list.Value {
		if r, ok := v.(*types.AttributeValueMemberS); ok && !slices.Contains(out, r.Value) {
			out = append(out, r.Value)
		}
	}
	return out
}

// naming are the writes about references of entities that are saved together.
type naming struct {
	within []write     // that belong into their transaction
	around []reference // that are written around it
}

// references are the items and counts by which it is found who names what.
type references struct{ table *table }

// reference is that source names target.
type reference struct{ target, source string }

// bring brings the reference items from what entities named to what they
// name, with so many writes in the entities' own transaction. Each target is
// counted once there, by how many came to name it.
//
// What doesn't fit is written around it: a new reference's item before, so that
// it is there when the entity is; its count after, so that a delete that didn't
// see the entity yet fails before this save is answered. An item that is too
// many may stay.
func (s references) bring(part []saving, room int) naming {
	var n naming
	counts := map[string]int64{}
	var counted []string
	for _, p := range part {
		for _, target := range without(p.has, p.had) {
			cost := 2
			if counts[target] > 0 {
				cost = 1
			}
			if cost > room {
				n.around = append(n.around, reference{target, p.source})
				continue
			}
			if room -= cost; cost == 2 {
				counted = append(counted, target)
			}
			counts[target]++
			n.within = append(n.within, s.table.put(referenceItem(target, p.source), "", nil, nil))
		}
	}
	for _, target := range counted {
		n.within = append(n.within, s.count(target, counts[target]))
	}
	for _, p := range part {
		lost := without(p.had, p.has)
		lost = lost[:min(len(lost), room)]
		room -= len(lost)
		for _, target := range lost {
			n.within = append(n.within, s.table.remove(referenceAt(target, p.source), "", nil, nil))
		}
	}
	return n
}

func referenceItem(target, source string) item { return referenceAt(target, source).item() }

func (s references) count(target string, n int64) write {
	return s.table.update(referenceCountAt(target), "ADD #count :n", "", item{":n": num(n)}, nil)
}

func without(list, these []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(r string) bool { return slices.Contains(these, r) })
}

// unreferenced gives the conditions that nobody names the targets who doesn't
// do so now, or says who does; what is what would be deleted.
func (s references) unreferenced(ctx context.Context, what string, targets ...store.EntityKey) ([]write, error) {
	const named = 20 // in the message; a person deals with these first
	refused := fault.New(fault.Referenced, "%s can't be deleted: other entities name it", what)
	var asRead []write
	for _, k := range targets {
		target := entityText(k)
		count, err := s.table.get(ctx, referenceCountAt(target))
		if err != nil {
			return nil, err
		}
		who, err := s.referrers(ctx, target, "", named+1)
		if err != nil {
			return nil, err
		}
		for _, source := range who {
			w, err := parseEntity(source)
			if err != nil {
				return nil, err
			}
			if w != k && len(refused.Details) < named {
				refused = refused.With(store.Named(w.Describe(), k))
			}
		}
		if count == nil {
			asRead = append(asRead, s.table.check(referenceCountAt(target), missing, nil, errAgain))
		} else {
			asRead = append(asRead, s.table.check(referenceCountAt(target), "#count = :count", item{":count": count["count"]}, errAgain))
		}
	}
	if len(refused.Details) > 0 {
		return nil, refused
	}
	return asRead, nil
}

// referrers lists up to limit of those that name target, after one of them.
func (s references) referrers(ctx context.Context, target, after string, limit int) ([]string, error) {
	var who []string
	for {
		q := query{pk: referrersPK(target), limit: limit - len(who)}
		if after != "" {
			q.sk, q.values = "sk > :after", item{":after": str(after)}
		}
		found, err := s.table.query(ctx, q)
		if err != nil {
			return nil, err
		}
		named, err := s.sourcesNaming(ctx, target, found)
		if err != nil {
			return nil, err
		}
		if who = append(who, named...); len(who) >= limit || len(found) < q.limit {
			return who, nil
		}
		after = text(found[len(found)-1], "sk")
	}
}

// sourcesNaming gives, of the sources of reference items, those that do name target.
func (s references) sourcesNaming(ctx context.Context, target string, references []item) ([]string, error) {
	var keys []key
	for _, it := range references {
		source, err := parseEntity(text(it, "sk"))
		if err != nil {
			return nil, err
		}
		keys = append(keys, entityAt(source))
	}
	sources, err := s.table.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, it := range sources {
		if slices.Contains(refsOf(it), target) {
			out = append(out, text(it, "key"))
		}
	}
	return out, nil
}

// Referrers lists who names an entity.
func (s entities) Referrers(ctx context.Context, k store.EntityKey, page store.Page) ([]store.EntityKey, string, error) {
	target := entityText(k)
	list := referrersPK(target)
	after, err := s.table.after(list, page.Token)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	found, err := s.references.referrers(ctx, target, after, limit+1)
	if err != nil {
		return nil, "", err
	}
	found, next, err := nextPage(s.table.pages, list, found, limit, func(source string) string { return source })
	if err != nil {
		return nil, "", err
	}
	var who []store.EntityKey
	for _, source := range found {
		w, err := parseEntity(source)
		if err != nil {
			return nil, "", err
		}
		who = append(who, w)
	}
	return who, next, nil
}
