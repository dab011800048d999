package storetest

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func entityCases() []testCase {
	return []testCase{
		{"a saved entity is read as it was", savedAsItWas},
		{"an update moves the version on and keeps the creation time", updateEntity},
		{"a save of an old version is refused and leaves nothing", saveStale},
		{"one of many creations wins", raceCreate},
		{"one of many updates wins", raceUpdate},
		{"the document is kept byte for byte", documentBytes},
		{"scopes, kinds and environments are apart", entitiesApart},
		{"lists go by id and page", listEntities},
		{"names go by id", listNames},
		{"lists filter infrastructure by environment", listInfrastructure},
		{"deletes need the version", deleteEntity},
		{"one of many deletes wins", raceDelete},
		{"what others name can't be deleted", deleteReferenced},
		{"an entity that names itself can be deleted", deleteSelfReference},
		{"an update replaces the references", updateReferences},
		{"referrers page", pageReferrers},
		{"a delete and a first reference don't both happen unseen", raceDeleteAndRefer},
		{"a delete and a new reference don't both happen unseen", raceDeleteAndReferAgain},
		{"tokens that no list gave are refused", badTokens},
		{"changes of who may do what are counted", accessVersion},
		{"a change of who may do what is made as it was judged", judgedLate},
	}
}

func (b *bench) key(kind ref.Kind, id string) store.EntityKey {
	return store.EntityKey{Scope: b.scope(), Kind: kind, ID: id}
}

func (b *bench) entity(kind ref.Kind, id string, refs ...store.EntityKey) store.Entity {
	return store.Entity{
		Key: b.key(kind, id), Name: "Name of " + id, YAML: []byte(string(kind) + ":\n  identifier: " + id + "\n"), Refs: refs,
		UpdatedBy: "ann", CreatedAt: at(1), UpdatedAt: at(1),
	}
}

// save stores e and gives it back with its version.
func (b *bench) save(e store.Entity) store.Entity {
	b.Helper()
	action := audit.Create
	if e.Version > 0 {
		action = audit.Update
	}
	saved, err := b.Store.SaveEntity(b.ctx(), e, b.record(action, e.Key.ID))
	b.ok(err)
	return saved
}

func savedAsItWas(b *bench) {
	e := b.entity(ref.Pipeline, "deploy", b.key(ref.Service, "shop"), store.EntityKey{
		Scope: ref.Scope{Account: b.account}, Kind: ref.Infrastructure, Env: "account.prod", ID: "east",
	})
	e.By = &store.Identity{Principal: b.key(ref.ServiceAccount, "ci"), Within: b.scope(), Since: at(7)}
	saved := b.save(e)
	e.Version = 1
	same(b, "saved", e, saved)
	read, err := b.Store.Entity(b.ctx(), e.Key)
	b.ok(err)
	same(b, "read", e, read)
	b.audited(audit.Create)
	_, err = b.Store.Entity(b.ctx(), b.key(ref.Pipeline, "other"))
	b.refused(err, fault.NotFound)
}

func updateEntity(b *bench) {
	e := b.save(b.entity(ref.Service, "shop"))
	e.Name, e.YAML, e.UpdatedBy, e.UpdatedAt = "New", []byte("service: {}\n"), "bob", at(9)
	changed := e
	changed.CreatedAt = at(8) // a caller that doesn't know when it was made can't change that
	want := e
	want.Version = 2
	same(b, "saved", want, b.save(changed))
	read, err := b.Store.Entity(b.ctx(), e.Key)
	b.ok(err)
	same(b, "read", want, read)
	b.audited(audit.Create, audit.Update)
}

func saveStale(b *bench) {
	first := b.save(b.entity(ref.Service, "shop"))
	second := b.save(first)
	for _, version := range []int64{0, 1, 3} {
		e := b.entity(ref.Service, "shop", b.key(ref.Connector, "git"))
		e.Version = version
		_, err := b.Store.SaveEntity(b.ctx(), e, b.record(audit.Update, "shop"))
		b.refused(err, fault.StaleVersion)
	}
	missing := b.entity(ref.Service, "other")
	missing.Version = 1
	_, err := b.Store.SaveEntity(b.ctx(), missing, b.record(audit.Update, "other"))
	b.refused(err, fault.StaleVersion)
	read, err := b.Store.Entity(b.ctx(), first.Key)
	b.ok(err)
	same(b, "read", second, read)
	who, _, err := b.Store.Referrers(b.ctx(), b.key(ref.Connector, "git"), store.Page{})
	b.ok(err)
	same(b, "referrers", nil, who)
	b.audited(audit.Create, audit.Update)
}

func raceCreate(b *bench) {
	winner := b.oneWins(fault.StaleVersion, func(i int) error {
		e := b.entity(ref.Service, "shop")
		e.Name = fmt.Sprint(i)
		_, err := b.Store.SaveEntity(b.ctx(), e, b.record(audit.Create, "shop"))
		return err
	})
	read, err := b.Store.Entity(b.ctx(), b.key(ref.Service, "shop"))
	b.ok(err)
	same(b, "name", fmt.Sprint(winner), read.Name)
	b.audited(audit.Create)
}

func raceUpdate(b *bench) {
	made := b.save(b.entity(ref.Service, "shop"))
	winner := b.oneWins(fault.StaleVersion, func(i int) error {
		e := made
		e.Name = fmt.Sprint(i)
		_, err := b.Store.SaveEntity(b.ctx(), e, b.record(audit.Update, "shop"))
		return err
	})
	read, err := b.Store.Entity(b.ctx(), made.Key)
	b.ok(err)
	same(b, "name", fmt.Sprint(winner), read.Name)
	same(b, "version", 2, read.Version)
	b.audited(audit.Create, audit.Update)
}

func documentBytes(b *bench) {
	e := b.entity(ref.Pipeline, "deploy")
	e.YAML = []byte("# caf\xc3\xa9 \x00\xff\r\n" + strings.Repeat("x: \"<+pipeline.name> & more\"\n", 10_000))
	b.save(e)
	read, err := b.Store.Entity(b.ctx(), e.Key)
	b.ok(err)
	if string(read.YAML) != string(e.YAML) {
		b.Errorf("a document of %d bytes came back as other %d bytes", len(e.YAML), len(read.YAML))
	}
}

func entitiesApart(b *bench) {
	account, org := b.entity(ref.Infrastructure, "x"), b.entity(ref.Infrastructure, "x")
	account.Key.Scope, org.Key.Scope = ref.Scope{Account: b.account}, ref.Scope{Account: b.account, Org: "default"}
	elsewhere, service := b.entity(ref.Infrastructure, "x"), b.entity(ref.Service, "x")
	elsewhere.Key.Scope.Project = "other"
	inEnv := b.entity(ref.Infrastructure, "x")
	inEnv.Key.Env = "dev"
	for i, e := range []store.Entity{account, org, elsewhere, service, inEnv, b.entity(ref.Infrastructure, "x")} {
		e.Name = fmt.Sprint(i)
		b.save(e)
		read, err := b.Store.Entity(b.ctx(), e.Key)
		b.ok(err)
		same(b, "name", fmt.Sprint(i), read.Name)
	}
	for _, scope := range []ref.Scope{account.Key.Scope, org.Key.Scope, elsewhere.Key.Scope} {
		list, _, err := b.Store.ListEntities(b.ctx(), scope, ref.Infrastructure, "", store.Page{})
		b.ok(err)
		same(b, "entities in "+scope.String(), 1, len(list))
	}
}

func listEntities(b *bench) {
	ids := numbered("s", 11)
	ids = append([]string{"A", "a", "a_b"}, ids...)
	for i := range ids { // saved in another order than listed
		b.save(b.entity(ref.Service, ids[(i*5)%len(ids)]))
	}
	b.save(b.entity(ref.Connector, "z"))
	for _, limit := range []int{1, 4, 14, 50} {
		list := everyPage(b, limit, func(p store.Page) ([]store.Entity, string, error) {
			return b.Store.ListEntities(b.ctx(), b.scope(), ref.Service, "", p)
		})
		var got []string
		for _, e := range list {
			got = append(got, e.Key.ID)
		}
		same(b, fmt.Sprintf("ids by %d", limit), ids, got)
	}
	list, next, err := b.Store.ListEntities(b.ctx(), b.scope(), ref.Pipeline, "", store.Page{})
	b.ok(err)
	if len(list) != 0 || next != "" {
		b.Errorf("a list of none has %d and the next token %q", len(list), next)
	}
}

func listNames(b *bench) {
	names := func() []store.EntityName {
		list, err := b.Store.Names(b.ctx(), b.scope(), ref.Infrastructure)
		b.ok(err)
		return list
	}
	same(b, "names of none", 0, len(names()))
	var want []store.EntityName
	for _, id := range []string{"a", "b#1%", "c"} {
		for _, env := range []string{"account.dev", "dev"} {
			e := b.entity(ref.Infrastructure, id)
			e.Key.Env, e.Name = env, "The #1 % 🚀 "+id+env
			b.save(e)
			want = append(want, store.EntityName{Key: e.Key, Name: e.Name})
		}
	}
	b.save(b.entity(ref.Service, "a"))
	elsewhere := b.entity(ref.Infrastructure, "a")
	elsewhere.Key.Scope.Project = "other"
	b.save(elsewhere)
	same(b, "names", want, names())
	e, err := b.Store.Entity(b.ctx(), want[1].Key)
	b.ok(err)
	e.Name = "Another"
	b.save(e)
	b.ok(b.Store.DeleteEntity(b.ctx(), want[0].Key, 1, b.record(audit.Delete, "a")))
	want[1].Name = e.Name
	same(b, "names of those that are left", want[1:], names())
}

func listInfrastructure(b *bench) {
	for _, env := range []string{"dev", "account.dev", "v", "prod"} {
		for _, id := range []string{"a", "b", "c"} {
			e := b.entity(ref.Infrastructure, id)
			e.Key.Env = env
			b.save(e)
		}
	}
	for env, want := range map[string]int{"dev": 3, "account.dev": 3, "v": 3, "": 12, "none": 0} {
		list := everyPage(b, 2, func(p store.Page) ([]store.Entity, string, error) {
			return b.Store.ListEntities(b.ctx(), b.scope(), ref.Infrastructure, env, p)
		})
		same(b, fmt.Sprintf("entities of environment %q", env), want, len(list))
		for _, e := range list {
			if env != "" && e.Key.Env != env {
				b.Errorf("environment %q lists one of %q", env, e.Key.Env)
			}
		}
	}
}

func deleteEntity(b *bench) {
	e := b.save(b.save(b.entity(ref.Service, "shop", b.key(ref.Connector, "git"))))
	err := b.Store.DeleteEntity(b.ctx(), e.Key, 1, b.record(audit.Delete, "shop"))
	b.refused(err, fault.StaleVersion)
	b.ok(b.Store.DeleteEntity(b.ctx(), e.Key, 2, b.record(audit.Delete, "shop")))
	_, err = b.Store.Entity(b.ctx(), e.Key)
	b.refused(err, fault.NotFound)
	err = b.Store.DeleteEntity(b.ctx(), e.Key, 2, b.record(audit.Delete, "shop"))
	b.refused(err, fault.NotFound)
	who, _, err := b.Store.Referrers(b.ctx(), b.key(ref.Connector, "git"), store.Page{})
	b.ok(err)
	same(b, "referrers of what it named", nil, who)
	b.audited(audit.Create, audit.Update, audit.Delete)
	same(b, "version after making it anew", 1, b.save(b.entity(ref.Service, "shop")).Version)
}

func raceDelete(b *bench) {
	e := b.save(b.entity(ref.Service, "shop"))
	b.oneWins(fault.NotFound, func(int) error {
		return b.Store.DeleteEntity(b.ctx(), e.Key, 1, b.record(audit.Delete, "shop"))
	})
	b.audited(audit.Create, audit.Delete)
}

func deleteReferenced(b *bench) {
	shop := b.save(b.entity(ref.Service, "shop"))
	pipeline := b.save(b.entity(ref.Pipeline, "deploy", shop.Key, shop.Key))
	err := b.Store.DeleteEntity(b.ctx(), shop.Key, shop.Version, b.record(audit.Delete, "shop"))
	b.refused(err, fault.Referenced)
	if err.Error() == "" || !strings.Contains(fmt.Sprintf("%+v", detailsOf(err)), "deploy") {
		b.Errorf("the details don't name the referrer: %+v", detailsOf(err))
	}
	who, _, err := b.Store.Referrers(b.ctx(), shop.Key, store.Page{})
	b.ok(err)
	same(b, "referrers", []store.EntityKey{pipeline.Key}, who)
	b.ok(b.Store.DeleteEntity(b.ctx(), pipeline.Key, pipeline.Version, b.record(audit.Delete, "deploy")))
	b.ok(b.Store.DeleteEntity(b.ctx(), shop.Key, shop.Version, b.record(audit.Delete, "shop")))
}

func deleteSelfReference(b *bench) {
	e := b.save(b.entity(ref.Pipeline, "deploy", b.key(ref.Pipeline, "deploy")))
	b.ok(b.Store.DeleteEntity(b.ctx(), e.Key, e.Version, b.record(audit.Delete, "deploy")))
}

func updateReferences(b *bench) {
	e := b.save(b.entity(ref.Pipeline, "deploy", b.key(ref.Service, "old"), b.key(ref.Service, "kept")))
	e.Refs = []store.EntityKey{b.key(ref.Service, "kept"), b.key(ref.Service, "new")}
	b.save(e)
	for id, want := range map[string]int{"old": 0, "kept": 1, "new": 1} {
		who, _, err := b.Store.Referrers(b.ctx(), b.key(ref.Service, id), store.Page{})
		b.ok(err)
		same(b, "referrers of "+id, want, len(who))
	}
}

func pageReferrers(b *bench) {
	for _, id := range numbered("p", 7) {
		b.save(b.entity(ref.Pipeline, id, b.key(ref.Service, "shop")))
	}
	all := everyPage(b, 3, func(p store.Page) ([]store.EntityKey, string, error) {
		return b.Store.Referrers(b.ctx(), b.key(ref.Service, "shop"), p)
	})
	seen := map[string]bool{}
	for _, k := range all {
		seen[k.ID] = true
	}
	same(b, "distinct referrers", 7, len(seen))
	same(b, "referrers", 7, len(all))
}

func raceDeleteAndRefer(b *bench) {
	b.raceDeleteAndRefer(b.save(b.entity(ref.Service, "shop")))
}

func raceDeleteAndReferAgain(b *bench) {
	shop := b.save(b.entity(ref.Service, "shop"))
	former := b.save(b.entity(ref.Pipeline, "former", shop.Key))
	b.ok(b.Store.DeleteEntity(b.ctx(), former.Key, former.Version, b.record(audit.Delete, "former")))
	b.raceDeleteAndRefer(shop)
}

func (b *bench) raceDeleteAndRefer(shop store.Entity) {
	b.Helper()
	b.deleteOrRefer(shop.Key, func(r audit.Record) error {
		return b.Store.DeleteEntity(b.ctx(), shop.Key, shop.Version, r)
	}, func() error {
		_, err := b.Store.Entity(b.ctx(), shop.Key)
		return err
	})
}

// deleteOrRefer: whoever has saved a reference and still finds what it is to
// can rely on it.
func (b *bench) deleteOrRefer(target store.EntityKey, remove func(audit.Record) error, find func() error) {
	b.Helper()
	var relied atomic.Bool
	errs := race(func(i int) error {
		r := b.record(audit.Update, "shop")
		r.Scope.Account += fmt.Sprint(i) // or they would wait for each other at the trail
		if i%2 == 0 {
			return remove(r)
		}
		_, err := b.Store.SaveEntity(b.ctx(), b.entity(ref.Pipeline, fmt.Sprintf("p%d", i), target), r)
		if err != nil {
			return err
		}
		err = find()
		if err == nil {
			relied.Store(true)
		} else if fault.Is(err, fault.NotFound) {
			err = nil
		}
		return err
	})
	deleted := 0
	for i, err := range errs {
		switch {
		case i%2 == 1:
			b.ok(err)
		case err == nil:
			deleted++
		case !fault.Is(err, fault.Referenced) && !fault.Is(err, fault.NotFound):
			b.Errorf("a delete is refused with code %q: %v", fault.CodeOf(err), err)
		}
	}
	if deleted > 1 || deleted == 1 && relied.Load() {
		b.Errorf("%d deletes succeeded; somebody relied on the deleted: %t", deleted, relied.Load())
	}
	who, _, err := b.Store.Referrers(b.ctx(), target, store.Page{Limit: 100})
	b.ok(err)
	same(b, "referrers", racers/2, len(who))
}

func badTokens(b *bench) {
	page := store.Page{Token: "!not a token!"}
	_, _, err := b.Store.ListEntities(b.ctx(), b.scope(), ref.Service, "", page)
	b.refused(err, fault.Invalid)
	_, _, err = b.Store.Referrers(b.ctx(), b.key(ref.Service, "shop"), page)
	b.refused(err, fault.Invalid)
	_, _, err = b.Store.ListExecutions(b.ctx(), store.ExecutionFilter{Scope: b.scope()}, page)
	b.refused(err, fault.Invalid)
	_, _, err = b.Store.OpenTasks(b.ctx(), b.account, page)
	b.refused(err, fault.Invalid)
}

func detailsOf(err error) []fault.Detail {
	if e, ok := asFault(err); ok {
		return e.Details
	}
	return nil
}

func accessVersion(b *bench) {
	version := func(want int64) {
		b.Helper()
		got, err := b.Store.AccessVersion(b.ctx(), b.account)
		b.ok(err)
		same(b, "access version", want, got)
	}
	version(0)
	b.save(b.entity(ref.Service, "shop"))
	version(0)
	role := b.save(b.entity(ref.Role, "deployer"))
	version(1)
	b.save(role)
	version(2)
	_, err := b.Store.SaveEntity(b.ctx(), role, b.record(audit.Update, "deployer"))
	b.refused(err, fault.StaleVersion)
	version(2)
	saved, err := b.Store.SaveEntities(b.ctx(), []store.Save{
		{Entity: b.entity(ref.UserGroup, "devs"), Audit: b.record(audit.Create, "devs")}, {Entity: b.entity(ref.Pipeline, "p"), Audit: b.record(audit.Create, "p")},
	})
	b.ok(err)
	version(3)
	b.ok(b.Store.DeleteEntity(b.ctx(), saved[0].Key, 1, b.record(audit.Delete, "devs")))
	version(4)
	b.ok(b.Store.DeleteEntity(b.ctx(), saved[1].Key, 1, b.record(audit.Delete, "p")))
	version(4)
}

// judgedLate: a change that was judged by who may do what is made only as long as that
// is so. Other documents are changed whatever it is.
func judgedLate(b *bench) {
	admin, ops := b.entity(ref.RoleAssignment, "admin"), b.entity(ref.RoleAssignment, "ops")
	_, err := b.Store.Judged(0).SaveEntities(b.ctx(), []store.Save{{Entity: admin, Audit: b.record(audit.Create, "admin")}, {Entity: ops, Audit: b.record(audit.Create, "ops")}})
	b.ok(err)
	judged, err := b.Store.AccessVersion(b.ctx(), b.account)
	b.ok(err)
	b.ok(b.Store.Judged(judged).DeleteEntity(b.ctx(), admin.Key, 1, b.record(audit.Delete, "admin")))
	b.refused(b.Store.Judged(judged).DeleteEntity(b.ctx(), ops.Key, 1, b.record(audit.Delete, "ops")), fault.StaleVersion)
	for _, late := range []int64{0, judged} {
		_, err = b.Store.Judged(late).SaveEntity(b.ctx(), b.entity(ref.Role, "late"), b.record(audit.Create, "late"))
		b.refused(err, fault.StaleVersion)
		_, err = b.Store.Judged(late).SaveEntities(b.ctx(), []store.Save{
			{Entity: b.entity(ref.Pipeline, "with"), Audit: b.record(audit.Create, "with")}, {Entity: b.entity(ref.Role, "late"), Audit: b.record(audit.Create, "late")},
		})
		b.refused(err, fault.StaleVersion)
	}
	_, err = b.Store.Entity(b.ctx(), b.entity(ref.Pipeline, "with").Key)
	b.refused(err, fault.NotFound)
	_, err = b.Store.Entity(b.ctx(), ops.Key)
	b.ok(err)
	_, err = b.Store.Judged(judged).SaveEntity(b.ctx(), b.entity(ref.Service, "shop"), b.record(audit.Create, "shop"))
	b.ok(err)
}
