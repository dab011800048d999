// Package judge asks the policies that count in a scope: it reads the sets of
// the scope and of those around it, evaluates their policies one by one, and
// gives the verdict.
//
// What a verdict stops is for who asks: pkg/catalog before a save, pkg/launch
// before a run. How Rego is evaluated is pkg/policy/rego's.
package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Judge asks policies. Where one process does all of it, the sets of a scope are
// read once, until some are saved; what documents say is decoded once.
type Judge struct {
	entities    store.Entities
	evaluations store.Evaluations
	kept        *sets // nil: others may save sets, and they are read each time
	engine      policy.Engine
	now         func() time.Time

	mu      sync.Mutex
	decoded map[document]*entity.Entity
}

// document is what a policy or a set is decoded from.
type document struct {
	scope ref.Scope
	text  string
}

// Config is what a Judge needs.
type Config struct {
	Entities    store.Entities
	Evaluations store.Evaluations // where it is kept what policies came to
	Engine      policy.Engine     // nil: there are no policies
	Now         func() time.Time
	Alone       bool // nobody but this process saves sets
}

// New makes a Judge; nil where there is no engine, so that there are no policies.
func New(cfg Config) *Judge {
	if cfg.Engine == nil {
		return nil
	}
	j := &Judge{entities: cfg.Entities, evaluations: cfg.Evaluations, engine: cfg.Engine, now: cfg.Now, decoded: map[document]*entity.Entity{}}
	if cfg.Alone {
		j.kept = &sets{Entities: cfg.Entities, kept: map[ref.Scope][]store.Entity{}}
		j.entities = j.kept
	}
	return j
}

// Case is what is judged.
type Case struct {
	Moment policy.Moment
	Scope  ref.Scope
	Actor  string // who does it
	Entity string // what is judged, for people, e.g. "pipeline web"
	// Execution is the one that is judged, or in which a step is.
	Execution string
	Node      string // of the step
	Attempt   int    // of the step
	Unkept    bool   // nothing depends on it, and what policies come to isn't kept
	// Input is made if there is a policy to ask; what is in every input is added.
	Input func() (map[string]any, error)
	// Entities are read instead of what is saved; nil: that.
	Entities store.Entities
}

// limit is how many bytes an input may have, as JSON.
func (c Case) limit() int {
	if c.Moment.Action == policy.OnSave {
		return policy.MaxSaved
	}
	return policy.MaxRun
}

// On asks the sets that count for a case. A nil Judge has nothing against it.
func (j *Judge) On(ctx context.Context, c Case) (policy.Judged, error) {
	if j == nil {
		return policy.Judged{}, nil
	}
	if c.Entities == nil {
		c.Entities = j.entities
	}
	sets, err := j.around(ctx, c.Entities, c.Scope)
	if err != nil {
		return policy.Judged{}, err
	}
	return j.these(ctx, c, sets)
}

// OnStart is On before a run, and says whether sets are to be asked about each of
// its steps, too.
func (j *Judge) OnStart(ctx context.Context, c Case) (v policy.Judged, steps bool, err error) {
	if j == nil {
		return v, false, nil
	}
	c.Entities = j.entities
	sets, err := j.around(ctx, c.Entities, c.Scope)
	if err != nil {
		return v, false, err
	}
	steps = slices.ContainsFunc(sets, func(s policy.Set) bool {
		return s.Moment == policy.Moment{Type: policy.OfPipeline, Action: policy.OnStepStart}
	})
	v, err = j.these(ctx, c, sets)
	return v, steps, err
}

// these asks those of some sets that are for a case.
func (j *Judge) these(ctx context.Context, c Case, all []policy.Set) (policy.Judged, error) {
	sets := slices.DeleteFunc(slices.Clone(all), func(s policy.Set) bool { return s.Moment != c.Moment })
	if len(sets) == 0 {
		return policy.Judged{}, nil
	}
	input, err := c.Input()
	if err != nil {
		return policy.Judged{}, err
	}
	now := j.now()
	c.Frame(input, now)
	return j.all(ctx, c, sets, input, now)
}

// all asks sets about an input, if that isn't too large, and keeps what they came to.
func (j *Judge) all(ctx context.Context, c Case, sets []policy.Set, input any, now time.Time) (policy.Judged, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return policy.Judged{}, fmt.Errorf("encode what policies are asked about: %w", err)
	}
	if most := c.limit(); len(text) > most {
		return policy.Judged{}, fault.New(fault.TooLarge, "policies would be asked about %d bytes; the limit is %d", len(text), most)
	}
	var out policy.Verdict
	for _, s := range sets {
		result, err := j.ask(ctx, c, s, input, now)
		if err != nil {
			return policy.Judged{}, err
		}
		out = append(out, result)
	}
	id, err := j.keep(ctx, c, out, text, now)
	return policy.Judged{Verdict: out, Evaluation: id}, err
}

// Named asks sets by their names about an input, as a Policy step does, or a step
// that enforces some. One that is disabled isn't asked, and passes.
func (j *Judge) Named(ctx context.Context, c Case, names []string, input any) (policy.Judged, error) {
	if j == nil {
		return policy.Judged{}, fault.New(fault.Unsupported, "no policies are evaluated here")
	}
	c.Entities = j.entities
	var sets []policy.Set
	for _, name := range names {
		r, err := ref.Parse(name, c.Scope)
		if err != nil {
			return policy.Judged{}, fault.New(fault.Invalid, "policy set %q: %w", name, err)
		}
		saved, err := j.entities.Entity(ctx, store.EntityKey{Scope: r.Scope, Kind: ref.PolicySet, ID: r.ID})
		if fault.Is(err, fault.NotFound) {
			return policy.Judged{}, fault.New(fault.NotFound, "there is no policy set %q in %s", r.ID, r.Scope)
		}
		if err != nil {
			return policy.Judged{}, err
		}
		e, err := j.decode(saved)
		if err != nil {
			return policy.Judged{}, err
		}
		set := *e.PolicySet
		if set.Moment != c.Moment {
			return policy.Judged{}, fault.New(fault.Invalid, "policy set %s is for %s; a step asks those for %s", name, set.Moment, c.Moment)
		}
		if !set.Enabled {
			set.Members = nil
		}
		sets = append(sets, set)
	}
	now := j.now()
	if of, ok := input.(map[string]any); ok && of["metadata"] == nil {
		of = maps.Clone(of)
		of["metadata"] = c.Metadata(now)
		input = of
	}
	return j.all(ctx, c, sets, input, now)
}

// Frame adds to an input what is in every one.
func (c Case) Frame(input map[string]any, now time.Time) {
	input["metadata"] = c.Metadata(now)
	input["date"], input["action"] = now.UTC().Format(time.RFC3339), nil
}

// Metadata say what is judged when, and who does it.
func (c Case) Metadata(now time.Time) map[string]any {
	where := map[string]any{"identifier": c.Scope.Project, "orgIdentifier": c.Scope.Org}
	return map[string]any{"action": c.Moment.Action, "type": c.Moment.Type, "timestamp": now.Unix(), "principalIdentifier": c.Actor, "projectMetadata": where}
}

// ask asks one set.
func (j *Judge) ask(ctx context.Context, c Case, s policy.Set, input any, now time.Time) (policy.SetResult, error) {
	out := policy.SetResult{Name: s.Ref.Text(c.Scope), Policies: make([]policy.Result, len(s.Members))}
	var texts []string
	var asked []int
	for i, m := range s.Members {
		out.Policies[i] = policy.Result{Name: m.Policy.Text(c.Scope), Severity: m.Severity}
		text, err := j.rego(ctx, c.Entities, m.Policy)
		switch {
		case fault.Is(err, fault.NotFound):
			out.Policies[i].Err = errors.New("there is no such policy")
		case err != nil:
			return out, err
		default:
			texts, asked = append(texts, text), append(asked, i)
		}
	}
	if len(texts) == 0 {
		return out, nil
	}
	answers, err := j.engine.Ask(ctx, texts, input, now)
	if err != nil {
		return out, fmt.Errorf("ask policy set %s: %w", out.Name, err)
	}
	for i, a := range answers {
		out.Policies[asked[i]].Answer = a
	}
	return out, nil
}

// rego reads a policy.
func (j *Judge) rego(ctx context.Context, entities store.Entities, name ref.Ref) (string, error) {
	saved, err := entities.Entity(ctx, store.EntityKey{Scope: name.Scope, Kind: ref.Policy, ID: name.ID})
	if err != nil {
		return "", err
	}
	e, err := j.decode(saved)
	if err != nil {
		return "", err
	}
	return e.Policy.Rego, nil
}

// around are the enabled sets in a scope and in those around it, the outermost
// first.
func (j *Judge) around(ctx context.Context, entities store.Entities, scope ref.Scope) ([]policy.Set, error) {
	scopes := scope.Around()
	found := make([][]policy.Set, len(scopes))
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range scopes {
		g.Go(func() (err error) {
			found[i], err = j.in(ctx, entities, s)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("read the policy sets around %s: %w", scope, err)
	}
	return slices.Concat(found...), nil
}

// in are the enabled sets in a scope itself.
func (j *Judge) in(ctx context.Context, entities store.Entities, scope ref.Scope) ([]policy.Set, error) {
	var out []policy.Set
	for saved, err := range store.All(ctx, entities, scope, ref.PolicySet, "") {
		if err != nil {
			return nil, err
		}
		e, err := j.decode(saved)
		if err != nil {
			return nil, err
		}
		if e.PolicySet.Enabled {
			out = append(out, *e.PolicySet)
		}
	}
	slices.SortFunc(out, func(a, b policy.Set) int { return strings.Compare(a.Ref.ID, b.Ref.ID) })
	return out, nil
}

// remembered is how many decoded documents are kept.
const remembered = 1000

func (j *Judge) decode(saved store.Entity) (*entity.Entity, error) {
	doc := document{saved.Key.Scope, string(saved.YAML)}
	j.mu.Lock()
	defer j.mu.Unlock()
	if e, known := j.decoded[doc]; known {
		return e, nil
	}
	docs, report := yamldoc.Parse("", saved.YAML)
	if len(docs) != 1 {
		return nil, fmt.Errorf("read %s: found %d documents", saved.Key.Describe(), len(docs))
	}
	e := entity.Decode(docs[0], report, entity.Options{Scope: saved.Key.Scope})
	if err := report.Err(); err != nil {
		return nil, fault.Wrap(err, "read %s", saved.Key.Describe())
	}
	if len(j.decoded) >= remembered {
		clear(j.decoded)
	}
	j.decoded[doc] = e
	return e, nil
}
