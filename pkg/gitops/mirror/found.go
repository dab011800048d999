package mirror

import (
	"context"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Found is an application: a document, or one that a set has made.
type Found struct {
	Key      store.EntityKey
	Version  int64  // of the document; 0: there is none
	Set      string // whose it is; empty: it is a document
	Document *gitops.Application
	Reported bool // its agent has told how it is
	Known    store.GitOpsApp
}

// Find finds an application. One of a set is where the set is.
func (m *Mirror) Find(ctx context.Context, key store.EntityKey) (Found, error) {
	e, missing := m.Store.Entity(ctx, key)
	if missing != nil && !fault.Is(missing, fault.NotFound) {
		return Found{}, missing
	}
	known, err := m.Known(ctx, key)
	if err != nil {
		return Found{}, err
	}
	k, reported := known[key]
	if missing == nil {
		return m.kept(e, k, reported)
	}
	if k.Summary.Generated == nil {
		return Found{}, missing
	}
	set := store.EntityKey{Scope: key.Scope, Kind: ref.GitOpsApplicationSet, Env: key.Env, ID: k.Summary.Generated.Set}
	if _, err := m.Store.Entity(ctx, set); err != nil {
		if fault.Is(err, fault.NotFound) {
			err = missing // it is another project's, or goes with its set
		}
		return Found{}, err
	}
	return made(key, k), nil
}

// kept is the application of a document. What is told of a set's of the same name
// isn't about it.
func (m *Mirror) kept(e store.Entity, known store.GitOpsApp, reported bool) (Found, error) {
	doc, err := m.Read(e)
	if known.Summary.Generated != nil {
		known, reported = store.GitOpsApp{}, false
	}
	return Found{Key: e.Key, Version: e.Version, Document: doc, Reported: reported, Known: known}, err
}

// made is an application of a set.
func made(key store.EntityKey, known store.GitOpsApp) Found {
	return Found{Key: key, Set: known.Summary.Generated.Set, Document: &known.Summary.Generated.Application, Reported: true, Known: known}
}

// madeToken begins the tokens of pages with the applications of sets, which come after
// the documents.
const madeToken = "sets:"

// List lists the applications of a scope, or of one of its agents.
func (m *Mirror) List(ctx context.Context, scope ref.Scope, agent string, page store.Page) ([]Found, string, error) {
	after, ofSets := strings.CutPrefix(page.Token, madeToken)
	var out []Found
	if !ofSets {
		after = ""
		found, next, err := m.Store.ListEntities(ctx, scope, ref.GitOpsApplication, agent, page)
		if err != nil {
			return nil, "", err
		}
		known, err := m.Known(ctx, keysOf(found)...)
		if err != nil {
			return nil, "", err
		}
		for _, e := range found {
			k, reported := known[e.Key]
			one, err := m.kept(e, k, reported)
			if err != nil {
				return nil, "", err
			}
			out = append(out, one)
		}
		if next != "" {
			return out, next, nil
		}
	}
	more, next, err := m.ofSets(ctx, scope, agent, after, page.Limit-len(out))
	return append(out, more...), next, err
}

func keysOf(found []store.Entity) []store.EntityKey {
	keys := make([]store.EntityKey, len(found))
	for i, e := range found {
		keys[i] = e.Key
	}
	return keys
}

// ofSets lists applications of the sets of a scope, by agent and name.
func (m *Mirror) ofSets(ctx context.Context, scope ref.Scope, agent, after string, limit int) ([]Found, string, error) {
	var keys []store.EntityKey
	const largest = 500
	for page := (store.Page{Limit: largest}); ; {
		sets, next, err := m.Store.ListEntities(ctx, scope, ref.GitOpsApplicationSet, agent, page)
		if err != nil {
			return nil, "", err
		}
		known, err := m.Known(ctx, keysOf(sets)...)
		if err != nil {
			return nil, "", err
		}
		for key, k := range known {
			if k.Summary.Set == nil {
				continue
			}
			for _, name := range k.Summary.Set.Applications {
				one := store.EntityKey{Scope: scope, Kind: ref.GitOpsApplication, Env: key.Env, ID: name}
				if token(one) > after {
					keys = append(keys, one)
				}
			}
		}
		if page.Token = next; next == "" {
			break
		}
	}
	slices.SortFunc(keys, func(a, b store.EntityKey) int { return strings.Compare(token(a), token(b)) })
	next := ""
	if len(keys) > limit {
		keys = keys[:limit]
		next = madeToken + after
		if limit > 0 {
			next = madeToken + token(keys[limit-1])
		}
	}
	known, err := m.Known(ctx, keys...)
	if err != nil {
		return nil, "", err
	}
	var out []Found
	for _, key := range keys {
		if k, ok := known[key]; ok && k.Summary.Generated != nil {
			out = append(out, made(key, k))
		}
	}
	return out, next, nil
}

func token(k store.EntityKey) string { return k.Env + "/" + k.ID }

// reportKey is what an application, or a set, is reported by.
func reportKey(k store.EntityKey) protocol.AppKey {
	if k.Kind == ref.GitOpsApplicationSet {
		return protocol.SetKey(k.ID)
	}
	return protocol.AppKey{Name: k.ID}
}
