package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/live"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

const (
	// mostMatches is how many are found at most.
	mostMatches = 50
	// mostJudged is how many entities are read whose names match, to see which of them
	// the caller may see.
	mostJudged = 1000
	// numbersApart is how far in a list from where its time says an execution of a
	// number is: clocks of several hosts aren't quite one.
	numbersApart = 100
)

// match is something that was searched for.
type match struct {
	EntityKey
	Name      string `json:"name"`
	Execution string `json:"execution,omitempty" doc:"The id, of an execution; the kind then is execution, and the id that of its pipeline"`
	Sequence  int64  `json:"sequence,omitempty" doc:"Of an execution"`
}

// searched is what a search has found.
type searched struct {
	Matches  []match `json:"matches" nullable:"false" doc:"Those whose identifier is what was searched for come first, then by identifier"`
	Complete bool    `json:"complete" doc:"false: there is more than is told"`
}

type searches struct {
	Scoped
	Q     string     `query:"q" required:"true" minLength:"1" maxLength:"128" doc:"What identifiers, names or words of names begin with, in any case; PIPELINE#NUMBER is an execution"`
	Kinds []ref.Kind `query:"kinds" maxItems:"10" doc:"Only these kinds; none: pipelines, services, environments, connectors, templates and secrets"`
	Limit int        `query:"limit" minimum:"1" maximum:"50" default:"20" doc:"At most so many"`
}

func searchEndpoint(s *Server) {
	exempt(s, action.Self, huma.Operation{
		OperationID: "search", Method: http.MethodGet, Path: "/v1/search", Tags: []string{"Entities"},
		Summary: "Find entities by what their names begin with, in a scope and in those around it, of what the caller may see",
	}, s.steering.search)
}

// search looks through what entities are called, and reads those alone that are
// called so. What the caller may not see isn't found.
func (s *steering) search(ctx context.Context, in *searches) (*struct{ Body searched }, error) {
	scope, err := anyScope(ctx, in.Scoped)
	if err != nil {
		return nil, err
	}
	kinds := in.Kinds
	if len(kinds) == 0 {
		kinds = []ref.Kind{ref.Pipeline, ref.Service, ref.Environment, ref.Connector, ref.Template, ref.Secret}
	}
	for _, kind := range kinds {
		if !slices.Contains(ref.Kinds(), kind) {
			return nil, invalid("kinds: there is no kind %q", kind)
		}
	}
	q := strings.ToLower(strings.TrimSpace(in.Q))
	called, err := s.called(ctx, scope, kinds, q)
	if err != nil {
		return nil, err
	}
	limit := min(in.Limit, mostMatches)
	out := searched{Matches: []match{}, Complete: true}
	if err := s.searchExecutions(ctx, scope, q, &out); err != nil {
		return nil, err
	}
	for judged := 0; len(called) > 0 && out.Complete; judged += limit {
		if len(out.Matches) > limit || judged >= mostJudged {
			out.Complete = false
			break
		}
		part := called[:min(limit, len(called))]
		called = called[len(part):]
		if err := s.seen(ctx, part, &out); err != nil {
			return nil, err
		}
	}
	if len(out.Matches) > limit {
		out.Matches, out.Complete = out.Matches[:limit], false
	}
	return &struct{ Body searched }{out}, nil
}

// called are what entities are called in a scope and around it that begins with a text
// of small letters: those first whose identifier it is, then by identifier, and then
// what is nearest.
func (s *steering) called(ctx context.Context, scope ref.Scope, kinds []ref.Kind, q string) ([]store.EntityName, error) {
	type list struct {
		at   ref.Scope
		kind ref.Kind
	}
	var lists []list
	for _, kind := range kinds {
		for _, at := range slices.Backward(scope.Around()) {
			if ref.Home(kind, at) == at { // others are looked for where they live
				lists = append(lists, list{at, kind})
			}
		}
	}
	found := make([][]store.EntityName, len(lists))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(6) // as many as there are kinds: each of them is a query or two
	for i, l := range lists {
		g.Go(func() error {
			names, err := s.Store.Names(ctx, l.at, l.kind)
			found[i] = slices.DeleteFunc(names, func(n store.EntityName) bool { return !begins(n, q) })
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortStableFunc(all, func(a, b store.EntityName) int {
		return cmp.Or(-exactly(a, q)+exactly(b, q), cmp.Compare(a.Key.ID, b.Key.ID))
	})
	return all, nil
}

func exactly(n store.EntityName, q string) int {
	if strings.EqualFold(n.Key.ID, q) {
		return 1
	}
	return 0
}

// begins says whether an entity's identifier, its name or a word of that begins
// with a text of small letters.
func begins(n store.EntityName, q string) bool {
	name := strings.ToLower(n.Name)
	return strings.HasPrefix(strings.ToLower(n.Key.ID), q) || strings.HasPrefix(name, q) ||
		slices.ContainsFunc(strings.Fields(name), func(word string) bool { return strings.HasPrefix(word, q) })
}

// seen tells of some entities, in their order, those that the caller may see.
func (s *steering) seen(ctx context.Context, names []store.EntityName, out *searched) error {
	keys := make([]store.EntityKey, len(names))
	for i, n := range names {
		keys[i] = n.Key
	}
	list, err := s.Store.EntitiesAt(ctx, keys)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b store.Entity) int {
		return cmp.Compare(slices.Index(keys, a.Key), slices.Index(keys, b.Key))
	})
	list, err = grants.Sees(ctx, asker(ctx), action.EntityView, list, func(e store.Entity) right.Resource {
		on := grants.Resource(e.Key)
		if ref.Parent(e.Key.Kind) == "" {
			on.Attribute = grants.AttributesOf(e.Key.Kind, e.YAML)
		}
		return on
	})
	for _, e := range list {
		out.Matches = append(out.Matches, match{EntityKey: keyOf(e.Key), Name: e.Name})
	}
	return err
}

// searchExecutions finds the execution that PIPELINE#NUMBER names.
func (s *steering) searchExecutions(ctx context.Context, scope ref.Scope, q string, out *searched) error {
	pipeline, number, ok := strings.Cut(q, "#")
	sequence, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if !ok || err != nil || scope.Project == "" {
		return nil // it isn't one
	}
	names, err := s.Store.Names(ctx, scope, ref.Pipeline)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(names, func(n store.EntityName) bool { return strings.EqualFold(n.Key.ID, strings.TrimSpace(pipeline)) })
	if at < 0 {
		return nil
	}
	list, err := numbered(ctx, s.Store, store.ExecutionFilter{Scope: scope, Pipeline: names[at].Key.ID}, sequence)
	if err != nil {
		return err
	}
	if list, err = grants.Sees(ctx, asker(ctx), action.ExecutionView, list, live.Resource); err != nil {
		return err
	}
	for _, e := range list {
		out.Matches = append(out.Matches, match{
			EntityKey: EntityKey{Kind: "execution", ID: e.Pipeline, Org: e.Scope.Org, Project: e.Scope.Project}, Name: e.Name, Execution: e.ID, Sequence: e.Sequence,
		})
	}
	return nil
}

// numbered finds the execution of a pipeline that has a number, none if there is none.
// Lists go by time, and numbers nearly so: it halves the time in which it began until
// that is near, and looks there.
func numbered(ctx context.Context, executions store.Executions, f store.ExecutionFilter, sequence int64) ([]store.Execution, error) {
	newest := func(before time.Time) ([]store.Execution, error) {
		f.Before = before
		list, _, err := executions.ListExecutions(ctx, f, store.Page{Limit: 1})
		return list, err
	}
	last, err := newest(time.Time{})
	if err != nil || len(last) == 0 || last[0].Sequence < sequence {
		return nil, err
	}
	late, after := last[0], time.Time{} // it began by late, or a little later, and since after
	for step := time.Hour; late.Sequence-sequence > numbersApart; {
		middle := late.StartedAt.Add(-step)
		if !after.IsZero() {
			if late.StartedAt.Sub(after) <= time.Millisecond {
				break // that many began at once
			}
			middle = after.Add(late.StartedAt.Sub(after) / 2)
		}
		step *= 2
		one, err := newest(middle)
		switch {
		case err != nil:
			return nil, err
		case len(one) == 0 || one[0].Sequence < sequence:
			after = middle
		default:
			late = one[0]
		}
	}
	f.Before = late.StartedAt.Add(time.Millisecond)
	for page := (store.Page{Limit: 2 * numbersApart}); ; {
		list, next, err := executions.ListExecutions(ctx, f, page)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(list, func(e store.Execution) bool { return e.Sequence == sequence }); at >= 0 {
			return list[at : at+1], nil
		}
		if next == "" || list[len(list)-1].Sequence < sequence-numbersApart {
			return nil, nil
		}
		page.Token = next
	}
}
