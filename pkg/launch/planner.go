package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/target"
)

// planner makes plans of saved entities. A plan depends on the versions of
// what it was made of and on the inputs alone, so it is remembered by these.
type planner struct {
	entities store.Entities
	options  entity.Options // say what a pipeline is checked against

	mu    sync.Mutex
	plans map[string]Planned // by what they were made of
	order []string           // oldest first
	parts map[string][]store.EntityKey
}

// Planned is a plan ready to be stored.
type Planned struct {
	Name   string // of the pipeline
	Hash   string
	Doc    []byte // the plan, encoded
	Root   plan.NodeID
	Inputs []byte // Given as JSON
	// chained are the scopes of the pipelines that it chains.
	chained []ref.Scope
	// judgesSteps says that policies are asked about the start of each step.
	judgesSteps bool
}

// rememberedPlans bounds the planner's memory; a plan has some 20 KB.
const rememberedPlans = 128

func newPlanner(entities store.Entities, o entity.Options) *planner {
	return &planner{entities: entities, options: o, plans: map[string]Planned{}, parts: map[string][]store.EntityKey{}}
}

// plan reads what the pipeline is made of and gives its plan.
func (p *planner) plan(ctx context.Context, r Request) (Planned, error) {
	key := store.EntityKey{Scope: r.Scope, Kind: ref.Pipeline, ID: r.Pipeline}
	pipeline, err := p.entities.Entity(ctx, key)
	if err != nil {
		return Planned{}, err
	}
	if r.Trigger != nil { // no other execution has the same event
		b := p.build(ctx, pipeline)
		b.trigger, b.stages, b.values = r.Trigger, r.Stages, r.Values
		return b.plan(r.Inputs)
	}
	asked, err := json.Marshal(struct {
		Inputs Inputs
		Stages []string
		Values map[string]string
	}{r.Inputs, r.Stages, r.Values})
	if err != nil {
		return Planned{}, fmt.Errorf("encode the inputs: %w", err)
	}
	made, err := p.fingerprint(ctx, pipeline, asked)
	if err != nil {
		return Planned{}, err
	}
	if known, ok := p.remembered(made); ok {
		return known, nil
	}
	b := p.build(ctx, pipeline)
	b.stages, b.values = r.Stages, r.Values
	fresh, err := b.plan(r.Inputs)
	if err != nil {
		return Planned{}, err
	}
	p.remember(p.learn(pipeline, b.read.read, asked), fresh)
	return fresh, nil
}

// fingerprint names what a plan would be made of: the pipeline's version, the
// versions of what it used last time, and what inputs were asked for. Empty when it isn't
// known yet what this version uses.
func (p *planner) fingerprint(ctx context.Context, pipeline store.Entity, inputs []byte) (string, error) {
	id := versioned(pipeline)
	p.mu.Lock()
	parts, ok := p.parts[id+shortHash(string(inputs))]
	p.mu.Unlock()
	if !ok {
		return "", nil
	}
	return p.describe(ctx, id, parts, inputs)
}

func (p *planner) describe(ctx context.Context, id string, parts []store.EntityKey, inputs []byte) (string, error) {
	found, err := p.entities.EntitiesAt(ctx, distinct(parts))
	if err != nil {
		return "", err
	}
	there := make(map[store.EntityKey]store.Entity, len(found))
	for _, e := range found {
		there[e.Key] = e
	}
	all := []string{id}
	for _, key := range parts {
		e, ok := there[key]
		if !ok {
			e = store.Entity{Key: key}
		}
		all = append(all, versioned(e))
	}
	return fingerprintOf(all, inputs), nil
}

// distinct leaves out what stands there twice.
func distinct(keys []store.EntityKey) []store.EntityKey {
	var out []store.EntityKey
	for _, k := range keys {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func fingerprintOf(parts []string, inputs []byte) string {
	return strings.Join(append(parts, string(inputs)), "\n")
}

// versioned names a version by its document as well: what is deleted and made
// again counts from 1.
func versioned(e store.Entity) string {
	return fmt.Sprintf("%s %s %s %s@%d %x", e.Key.Scope, e.Key.Kind, e.Key.Env, e.Key.ID, e.Version, sha256.Sum256(e.YAML))
}

// learn remembers what a plan was made of, and names it by the versions that
// were read, which needn't be the present ones any more.
func (p *planner) learn(pipeline store.Entity, read []store.Entity, inputs []byte) string {
	all := []string{versioned(pipeline)}
	var parts []store.EntityKey
	for _, e := range read {
		all, parts = append(all, versioned(e)), append(parts, e.Key)
	}
	p.mu.Lock()
	if len(p.parts) > 8*rememberedPlans {
		clear(p.parts)
	}
	p.parts[versioned(pipeline)+shortHash(string(inputs))] = parts
	p.mu.Unlock()
	return fingerprintOf(all, inputs)
}

func (p *planner) remembered(made string) (Planned, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.plans[made]
	return known, ok && made != ""
}

func (p *planner) remember(made string, fresh Planned) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.plans[made]; ok {
		return
	}
	p.plans[made] = fresh
	if p.order = append(p.order, made); len(p.order) > rememberedPlans {
		delete(p.plans, p.order[0])
		p.order = p.order[1:]
	}
}

// recorder notes which entities are read, and in which versions: 0 for those
// that don't exist, such as overrides.
type recorder struct {
	store.Entities

	read []store.Entity
}

// Entity reads one.
func (r *recorder) Entity(ctx context.Context, key store.EntityKey) (store.Entity, error) {
	e, err := r.Entities.Entity(ctx, key)
	if fault.Is(err, fault.NotFound) {
		e = store.Entity{Key: key}
	} else if err != nil {
		return e, err
	}
	if !slices.ContainsFunc(r.read, func(o store.Entity) bool { return o.Key == key && o.Version == e.Version }) {
		r.read = append(r.read, store.Entity{Key: key, Version: e.Version, YAML: e.YAML})
	}
	return e, err
}

// build makes one plan.
type build struct {
	target.Reader

	ctx      context.Context //nolint:containedctx // lives for one call
	read     *recorder
	pipeline store.Entity
	options  entity.Options
	stages   []string // the only ones to run; none: all
	values   map[string]string
	trigger  json.RawMessage
}

func (p *planner) build(ctx context.Context, pipeline store.Entity) *build {
	read := &recorder{Entities: p.entities}
	b := &build{
		Reader: target.Reader{Entities: read, Scope: pipeline.Key.Scope, Types: p.options.Types},
		ctx:    ctx, read: read, pipeline: pipeline, options: p.options,
	}
	b.options.Scope = pipeline.Key.Scope
	return b
}

func (b *build) plan(in Inputs) (Planned, error) {
	merged, err := b.merge(in)
	if err != nil {
		return Planned{}, err
	}
	if err := merged.Err(); err != nil {
		return Planned{}, err
	}
	decoded, err := target.Check(ref.Pipeline, merged.Doc, b.options)
	if err != nil {
		return Planned{}, err
	}
	values, err := valuesOf(b.values, b.stages)
	if err != nil {
		return Planned{}, err
	}
	stages := decoded.Pipeline.Stages.All()
	deployments, err := b.deployments(stages)
	if err != nil {
		return Planned{}, err
	}
	chained, err := b.chained(stages)
	if err != nil {
		return Planned{}, err
	}
	made, err := planning.Build(planning.Source{
		Pipeline: decoded.Pipeline, Deployments: deployments, Inputs: merged.Inputs, Templates: b.Templates, Trigger: b.trigger,
		Values: values, LookedUp: b.Artifacts.LookedUp, Steps: b.options.Steps,
	})
	if err != nil {
		return Planned{}, err
	}
	encoded, err := made.Encode()
	if err != nil {
		return Planned{}, fmt.Errorf("encode the plan of pipeline %s: %w", b.pipeline.Key.ID, err)
	}
	given, err := json.Marshal(Given{
		YAML: string(input.Text(string(ref.Pipeline), merged.Inputs)), Sets: in.Sets, Stages: b.stages, Values: b.values, Warnings: append(merged.Warnings, b.Warnings...),
	})
	if err != nil {
		return Planned{}, fmt.Errorf("encode the inputs of pipeline %s: %w", b.pipeline.Key.ID, err)
	}
	return Planned{Name: b.pipeline.Name, Hash: plan.Hash(encoded), Doc: encoded, Root: made.Root.ID, Inputs: given, chained: chained}, nil
}

// deployments reads what the Deployment stages deploy where. That a stage takes
// nothing from a later one has been checked with the document.
func (b *build) deployments(stages []*entity.Stage) (map[string]*plan.Deployment, error) {
	written, out := map[string]*entity.Deployment{}, map[string]*plan.Deployment{}
	for _, s := range stages {
		written[s.Identifier.Text] = s.Deployment
	}
	for _, s := range stages {
		if s.Deployment == nil {
			continue
		}
		d, err := b.Plan(b.ctx, s.Deployment, written)
		if err != nil {
			return nil, fault.Wrap(err, "stage %s", s.Identifier.Text)
		}
		out[s.Identifier.Text] = d
	}
	return out, nil
}

func shortHash(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:10])
}
