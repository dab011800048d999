package catalog

import (
	"context"
	"maps"
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/templatestore"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// view is what entities there will be once a set of documents is saved.
type view struct {
	store.Entities

	saved Find // what is there already
	mine  map[store.EntityKey]store.Entity
	read  int // bytes that were asked for
	// denied are those that policies are against, with their messages.
	denied map[store.EntityKey]error
}

func newView(saved Find) *view {
	return &view{saved: saved, mine: map[store.EntityKey]store.Entity{}, denied: map[store.EntityKey]error{}}
}

// Entity reads one. Which version of a template is stable stays, if there is
// one; else it is the first of the set.
func (v *view) Entity(ctx context.Context, key store.EntityKey) (store.Entity, error) {
	mine, ok := v.mine[key]
	if ok && key.Kind != store.StableTemplate {
		return mine, v.readAgain(len(mine.YAML))
	}
	e, err := v.saved(ctx, key)
	if ok && fault.Is(err, fault.NotFound) {
		return mine, nil
	}
	if err == nil {
		err = v.readAgain(len(e.YAML))
	}
	return e, err
}

// EntitiesAt reads those of many that there are.
func (v *view) EntitiesAt(ctx context.Context, keys []store.EntityKey) ([]store.Entity, error) {
	var found []store.Entity
	var others []store.EntityKey
	for _, k := range keys {
		if e, ok := v.mine[k]; ok {
			found = append(found, e)
		} else {
			others = append(others, k)
		}
	}
	saved, err := v.Entities.EntitiesAt(ctx, others)
	return append(found, saved...), err
}

// prefetch reads at once what is there already of the set.
func (v *view) prefetch(ctx context.Context) error {
	found, err := v.Entities.EntitiesAt(ctx, slices.Collect(maps.Keys(v.mine)))
	if err != nil {
		return err
	}
	there := make(map[store.EntityKey]store.Entity, len(found))
	for _, e := range found {
		there[e.Key] = e
	}
	beyond := v.saved
	v.saved = func(ctx context.Context, key store.EntityKey) (store.Entity, error) {
		if _, asked := v.mine[key]; !asked {
			return beyond(ctx, key)
		}
		if e, ok := there[key]; ok {
			return e, nil
		}
		return store.Entity{}, fault.New(fault.NotFound, "%s doesn't exist", key.Describe())
	}
	return nil
}

// ListEntities lists what is there already, as it will be, and behind that what
// isn't yet.
func (v *view) ListEntities(ctx context.Context, scope ref.Scope, kind ref.Kind, parent string, page store.Page) ([]store.Entity, string, error) {
	list, next, err := v.Entities.ListEntities(ctx, scope, kind, parent, page)
	if err != nil {
		return nil, "", err
	}
	for i, e := range list {
		if mine, ok := v.mine[e.Key]; ok {
			list[i] = mine
		}
	}
	if next != "" {
		return list, next, nil
	}
	for k, e := range v.mine {
		if k.Scope != scope || k.Kind != kind || parent != "" && k.Env != parent {
			continue
		}
		if _, err := v.saved(ctx, k); fault.Is(err, fault.NotFound) {
			list = append(list, e)
		}
	}
	return list, "", nil
}

// has says whether an entity is one of the set.
func (v *view) has(key store.EntityKey) bool {
	_, ok := v.mine[key]
	return ok
}

// templates adds the templates of a set, which its other documents are made of.
func (v *view) templates(set []Draft) {
	for _, d := range set {
		docs, _ := yamldoc.Parse("", d.YAML) // what is wrong is said when it is read
		if len(docs) != 1 || docs[0].Get(string(ref.Template)) == nil {
			continue
		}
		body := docs[0].Get(string(ref.Template))
		id, label := body.Get("identifier"), body.Get("versionLabel")
		if id == nil || label == nil {
			continue
		}
		name := ref.Ref{Scope: entity.ScopeOf(docs[0], d.Scope), ID: id.Value}
		key := templatestore.VersionKey(name, label.Value)
		v.mine[key] = store.Entity{Key: key, YAML: d.YAML}
		if _, ok := v.mine[templatestore.StableKey(name)]; !ok {
			v.mine[templatestore.StableKey(name)] = store.Entity{Key: templatestore.StableKey(name), Refs: []store.EntityKey{key}}
		}
	}
}

// add adds an entity, right or wrong: what is wrong with it is said at it alone.
func (v *view) add(e *entity.Entity, d Draft) {
	if e == nil || e.Identifier.Value == "" {
		return
	}
	key := KeyOf(e)
	v.mine[key] = store.Entity{Key: key, Name: e.Name.Value, YAML: d.YAML}
}

// first says whether a version of a template is the one of the set that becomes
// the stable one, if there is none.
func (v *view) first(key store.EntityKey) bool {
	id, _ := template.SplitID(key.ID)
	e, ok := v.mine[templatestore.StableKey(ref.Ref{Scope: key.Scope, ID: id})]
	return ok && e.Refs[0] == key
}
