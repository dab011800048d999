package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

// meanwhile is a store in which something happens right after the first
// template is read.
type meanwhile struct {
	store.Entities

	happen func()
}

func (m *meanwhile) Entity(ctx context.Context, key store.EntityKey) (store.Entity, error) {
	e, err := m.Entities.Entity(ctx, key)
	if key.Kind == ref.Template && m.happen != nil {
		m.happen()
		m.happen = nil
	}
	return e, err
}

// idle is a Runner whose runs do nothing.
type idle struct{ statemachine.Runner }

func (idle) Start(context.Context, string, json.RawMessage) error { return nil }

// setup gives a catalog over a real store.
func setup(t *testing.T) (*catalog.Catalog, store.Store) {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test is over
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return catalog.New(catalog.Config{Store: s.Store, Options: builtin.Options(ref.Scope{}), Now: time.Now}), s.Store
}

// TestAPlanIsRememberedByWhatWasRead: a version that becomes stable while a
// plan is made is in the next one.
func TestAPlanIsRememberedByWhatWasRead(t *testing.T) {
	t.Parallel()
	c, s := setup(t)
	scope, by := ref.Scope{Account: "acme", Org: "o", Project: "p"}, audit.Author{Actor: "me"}
	save := func(doc string) {
		t.Helper()
		if _, err := c.Save(t.Context(), catalog.Draft{Scope: scope, YAML: []byte(doc), Version: catalog.AnyVersion}, by); err != nil {
			t.Fatal(err)
		}
	}
	for _, label := range []string{"v1", "v2"} {
		save(fmt.Sprintf("template: {name: nap, identifier: nap, versionLabel: %s, type: Step, spec: {type: Wait, spec: {duration: 1m}}}", label))
	}
	save("pipeline: {name: p, identifier: p, stages: [{stage: {name: s, identifier: s, type: Custom, spec: {execution: {steps: " +
		"[{step: {name: nap, identifier: nap, template: {templateRef: nap}}}]}}}}]}")
	planner := newPlanner(&meanwhile{Entities: s, happen: func() {
		if err := c.SetStable(t.Context(), ref.Ref{Scope: scope, ID: "nap"}, "v2", by); err != nil {
			t.Error(err)
		}
	}}, builtin.Options(ref.Scope{}))
	var names []string
	for range 3 {
		made, err := planner.plan(t.Context(), Request{Scope: scope, Pipeline: "p"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Decode(made.Doc)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, p.Templates[0].Version)
	}
	if diff := cmp.Diff([]string{"v1", "v2", "v2"}, names); diff != "" {
		t.Errorf("versions of three plans (-want +got):\n%s", diff)
	}
}

// TestAPlanIsForgottenWithItsPipeline: one that is deleted and made again has
// the same version, and nothing else in common.
func TestAPlanIsForgottenWithItsPipeline(t *testing.T) {
	t.Parallel()
	c, s := setup(t)
	scope, by := ref.Scope{Account: "acme", Org: "o", Project: "p"}, audit.Author{Actor: "me"}
	planner := newPlanner(s, builtin.Options(ref.Scope{}))
	var names []string
	for _, step := range []string{"before", "after"} {
		doc := "pipeline: {name: p, identifier: p, stages: [{stage: {name: s, identifier: s, type: Custom, spec: {execution: {steps: " +
			"[{step: {name: " + step + ", identifier: " + step + ", type: Wait, spec: {duration: 1m}}}]}}}}]}"
		if _, err := c.Save(t.Context(), catalog.Draft{Scope: scope, YAML: []byte(doc), Version: catalog.AnyVersion}, by); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			made, err := planner.plan(t.Context(), Request{Scope: scope, Pipeline: "p"})
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.Decode(made.Doc)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, p.Root.Children[0].Children[0].Identifier)
		}
		if err := c.Delete(t.Context(), store.EntityKey{Scope: scope, Kind: ref.Pipeline, ID: "p"}, catalog.AnyVersion, by, catalog.Deleter{}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"before", "before", "after", "after"}, names); diff != "" {
		t.Errorf("the first steps of four plans (-want +got):\n%s", diff)
	}
}
