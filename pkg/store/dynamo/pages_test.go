package dynamo_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
)

func save(t *testing.T, s *dynamo.Store, id string, refs ...store.EntityKey) store.Entity {
	t.Helper()
	e := store.Entity{Key: store.EntityKey{Scope: scope, Kind: ref.Service, ID: id}, Refs: refs}
	e, err := s.SaveEntity(t.Context(), e, audit.Record{Scope: scope, Action: audit.Create})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestPageTokensAreSealed(t *testing.T) {
	t.Parallel()
	client, name := table(t)
	s := dynamo.New(client, config(name))
	for _, id := range []string{"needle1", "needle2", "needle3"} {
		save(t, s, id)
	}
	list := func(s *dynamo.Store, kind ref.Kind, token string) (string, error) {
		_, next, err := s.ListEntities(t.Context(), scope, kind, "", store.Page{Limit: 1, Token: token})
		return next, err
	}
	token, err := list(s, ref.Service, "")
	if err != nil || token == "" {
		t.Fatalf("the first page has the token %q, %v", token, err)
	}
	if _, err := list(s, ref.Service, token); err != nil {
		t.Errorf("the token of the first page is refused: %v", err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || strings.Contains(string(raw), "needle") {
		t.Errorf("the token can be read: %q, %v", raw, err)
	}
	again, err := list(s, ref.Service, "")
	if err != nil || again == token {
		t.Errorf("two tokens are the same: %q, %v", again, err)
	}

	changed := slices.Clone(raw)
	changed[len(changed)/2] ^= 1
	for what, forged := range map[string]string{
		"changed":    base64.RawURLEncoding.EncodeToString(changed),
		"cut":        token[:len(token)/2],
		"short":      "AAAA",
		"no base64":  "!",
		"a bare key": base64.RawURLEncoding.EncodeToString([]byte("needle1#")),
	} {
		if _, err := list(s, ref.Service, forged); !fault.Is(err, fault.Invalid) {
			t.Errorf("a token that is %s has the error %v, want one with the code %s", what, err, fault.Invalid)
		}
	}
	if _, err := list(s, ref.Environment, token); !fault.Is(err, fault.Invalid) {
		t.Errorf("a token of another list has the error %v, want one with the code %s", err, fault.Invalid)
	}
	other := config(name)
	other.PageKey = []byte("a key that others have")
	if _, err := list(dynamo.New(client, other), ref.Service, token); !fault.Is(err, fault.Invalid) {
		t.Errorf("a token with another key has the error %v, want one with the code %s", err, fault.Invalid)
	}
	other.PageKey = nil
	if _, err := list(dynamo.New(client, other), ref.Service, ""); !fault.Is(err, fault.Internal) {
		t.Errorf("a list without a key has the error %v, want one with the code %s", err, fault.Internal)
	}
}

// TestListsGoOnInEarlierMonths: years of executions, most months without any.
func TestListsGoOnInEarlierMonths(t *testing.T) {
	t.Parallel()
	m := &meter{}
	s := open(t, m.watch)
	var want []string
	for i := range 12 {
		e := store.Execution{ID: fmt.Sprintf("x%02d", i), Scope: scope, Pipeline: []string{"a", "b"}[i%2], Status: plan.Success,
			StartedAt: time.Date(2026, time.Month(-5*(i/3)), 1, 0, 0, 0, 0, time.UTC).Add(-time.Duration(i) * time.Millisecond)}
		if _, err := s.CreateExecution(t.Context(), e, nil, audit.Record{Scope: scope}); err != nil {
			t.Fatal(err)
		}
		want = append(want, e.ID)
	}
	for _, limit := range []int{1, 2, 5, 12, 50} {
		var got []string
		page := store.Page{Limit: limit}
		for {
			m.reading()
			list, next, err := s.ListExecutions(t.Context(), store.ExecutionFilter{Scope: scope}, page)
			if err != nil {
				t.Fatal(err)
			}
			if requests, _ := m.reading(); len(requests) > 8 { // the directory, its at most six months, the executions
				t.Errorf("a page of %d makes the requests %v", limit, requests)
			}
			for _, e := range list {
				got = append(got, e.ID)
			}
			if page.Token = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d have %v, want %v", limit, got, want)
		}
	}
	m.reading()
	since := time.Date(2026, time.Month(-5), 1, 0, 0, 0, 0, time.UTC).Add(-time.Hour)
	list, _, err := s.ListExecutions(t.Context(), store.ExecutionFilter{Scope: scope, Since: since}, store.Page{})
	if requests, _ := m.reading(); err != nil || len(list) != 6 || len(requests) > 5 {
		t.Errorf("%d executions of the last two of four months by %v, %v; want 6", len(list), requests, err)
	}
	list, _, err = s.ListExecutions(t.Context(), store.ExecutionFilter{Scope: scope, Pipeline: "b"}, store.Page{})
	if err != nil || len(list) != 6 {
		t.Errorf("%d executions of one of two pipelines, %v; want 6", len(list), err)
	}
}
