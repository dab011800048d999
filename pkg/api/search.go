package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/live"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

const (
	// mostSearched is how many entities of a kind are looked at in each scope, and
	// how many executions of a pipeline.
	mostSearched = 200
	// mostMatches is how many are found at most.
	mostMatches = 50
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
	Complete bool    `json:"complete" doc:"false: there is more than was looked at, or than is told"`
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

// search looks through a part of each list rather than through an index: what is
// typed into the console is looked for among what a team has. What the caller may
// not see isn't found.
func (s *steering) search(ctx context.Context, in *searches) (*struct{ Body searched }, error) {
	scope, err := anyScope(ctx, in.Scoped)
	if err != nil {
		return nil, err
	}
	out := searched{Matches: []match{}, Complete: true}
	q := strings.ToLower(strings.TrimSpace(in.Q))
	if err := s.searchExecutions(ctx, scope, q, &out); err != nil {
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
		for _, at := range slices.Backward(scope.Around()) { // what is nearest first
			if err := s.searchKind(ctx, at, kind, q, &out); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(out.Matches, func(a, b match) int {
		return cmp.Or(-exactly(a, q)+exactly(b, q), cmp.Compare(a.ID, b.ID))
	})
	if most := min(in.Limit, mostMatches); len(out.Matches) > most {
		out.Matches, out.Complete = out.Matches[:most], false
	}
	return &struct{ Body searched }{out}, nil
}

func exactly(m match, q string) int {
	if strings.EqualFold(m.ID, q) {
		return 1
	}
	return 0
}

func (s *steering) searchKind(ctx context.Context, scope ref.Scope, kind ref.Kind, q string, out *searched) error {
	if ref.Home(kind, scope) != scope {
		return nil // those are looked for where they live
	}
	list, next, err := s.Store.ListEntities(ctx, scope, kind, "", store.Page{Limit: mostSearched})
	if err != nil {
		return err
	}
	out.Complete = out.Complete && next == ""
	list = slices.DeleteFunc(list, func(e store.Entity) bool { return !begins(e, q) })
	seen, err := grants.Sees(ctx, asker(ctx), action.EntityView, list, func(e store.Entity) right.Resource {
		on := grants.Resource(e.Key)
		if ref.Parent(kind) == "" {
			on.Attribute = grants.AttributesOf(kind, e.YAML)
		}
		return on
	})
	for _, e := range seen {
		out.Matches = append(out.Matches, match{EntityKey: keyOf(e.Key), Name: e.Name})
	}
	return err
}

// begins says whether an entity's identifier, its name or a word of that begins
// with a text of small letters.
func begins(e store.Entity, q string) bool {
	name := strings.ToLower(e.Name)
	return strings.HasPrefix(strings.ToLower(e.Key.ID), q) || strings.HasPrefix(name, q) ||
		slices.ContainsFunc(strings.Fields(name), func(word string) bool { return strings.HasPrefix(word, q) })
}

// searchExecutions finds the execution that PIPELINE#NUMBER names.
func (s *steering) searchExecutions(ctx context.Context, scope ref.Scope, q string, out *searched) error {
	pipeline, number, ok := strings.Cut(q, "#")
	sequence, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if !ok || err != nil || scope.Project == "" {
		return nil // it isn't one
	}
	all, next, err := s.Store.ListEntities(ctx, scope, ref.Pipeline, "", store.Page{Limit: mostSearched})
	if err != nil {
		return err
	}
	out.Complete = out.Complete && next == ""
	at := slices.IndexFunc(all, func(e store.Entity) bool { return strings.EqualFold(e.Key.ID, strings.TrimSpace(pipeline)) })
	if at < 0 {
		return nil
	}
	list, next, err := s.Store.ListExecutions(ctx, store.ExecutionFilter{Scope: scope, Pipeline: all[at].Key.ID}, store.Page{Limit: mostSearched})
	if err != nil {
		return err
	}
	oldest := next == "" || len(list) > 0 && list[len(list)-1].Sequence <= sequence
	out.Complete = out.Complete && oldest
	list = slices.DeleteFunc(list, func(e store.Execution) bool { return e.Sequence != sequence })
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
