package execution

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// planner makes plans of saved entities. A plan depends on the versions of
// what it was made of and on the inputs alone, so it is remembered by these.
type planner struct {
	entities store.Entities

	mu    sync.Mutex
	plans map[string]planned // by what they were made of
	order []string           // oldest first
	parts map[string][]store.EntityKey
}

// planned is a plan ready to be stored.
type planned struct {
	name   string
	hash   string
	doc    []byte
	root   plan.NodeID
	inputs []byte // Given as JSON
	// chained are the scopes of the pipelines that it chains.
	chained []ref.Scope
}

// rememberedPlans bounds the planner's memory; a plan has some 20 KB.
const rememberedPlans = 128

func newPlanner(entities store.Entities) *planner {
	return &planner{entities: entities, plans: map[string]planned{}, parts: map[string][]store.EntityKey{}}
}

// plan reads what the pipeline is made of and gives its plan.
func (p *planner) plan(ctx context.Context, r StartRequest) (planned, error) {
	key := store.EntityKey{Scope: r.Scope, Kind: ref.Pipeline, ID: r.Pipeline}
	pipeline, err := p.entities.Entity(ctx, key)
	if err != nil {
		return planned{}, err
	}
	if r.Trigger != nil { // no other execution has the same event
		b := build{ctx: ctx, entities: &recorder{Entities: p.entities}, scope: r.Scope, pipeline: pipeline, trigger: r.Trigger, stages: r.Stages}
		return b.plan(r.Inputs)
	}
	asked, err := json.Marshal(struct {
		Inputs Inputs
		Stages []string
	}{r.Inputs, r.Stages})
	if err != nil {
		return planned{}, fmt.Errorf("encode the inputs: %w", err)
	}
	made, err := p.fingerprint(ctx, pipeline, asked)
	if err != nil {
		return planned{}, err
	}
	if known, ok := p.remembered(made); ok {
		return known, nil
	}
	b := build{ctx: ctx, entities: &recorder{Entities: p.entities}, scope: r.Scope, pipeline: pipeline, stages: r.Stages}
	fresh, err := b.plan(r.Inputs)
	if err != nil {
		return planned{}, err
	}
	p.remember(p.learn(pipeline, b.entities.read, asked), fresh)
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
	all := []string{id}
	for _, key := range parts {
		e, err := p.entities.Entity(ctx, key)
		if err != nil {
			return "", err
		}
		all = append(all, versioned(e))
	}
	return fingerprintOf(all, inputs), nil
}

func fingerprintOf(parts []string, inputs []byte) string {
	return strings.Join(append(parts, string(inputs)), "\n")
}

func versioned(e store.Entity) string {
	return fmt.Sprintf("%s %s %s %s@%d", e.Key.Scope, e.Key.Kind, e.Key.Env, e.Key.ID, e.Version)
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

func (p *planner) remembered(made string) (planned, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.plans[made]
	return known, ok && made != ""
}

func (p *planner) remember(made string, fresh planned) {
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

// recorder notes which entities are read, and in which versions.
type recorder struct {
	store.Entities

	read []store.Entity
}

// Entity reads one.
func (r *recorder) Entity(ctx context.Context, key store.EntityKey) (store.Entity, error) {
	e, err := r.Entities.Entity(ctx, key)
	if err == nil && !slices.ContainsFunc(r.read, func(o store.Entity) bool { return o.Key == key && o.Version == e.Version }) {
		r.read = append(r.read, store.Entity{Key: key, Version: e.Version})
	}
	return e, err
}

// build makes one plan.
type build struct {
	ctx      context.Context //nolint:containedctx // lives for one call
	entities *recorder
	scope    ref.Scope
	pipeline store.Entity
	stages   []string       // the only ones to run; none: all
	warnings []fault.Detail // about inputs that have no place
	// templates are the versions that links were resolved with, each once.
	templates []plan.Template
	trigger   json.RawMessage
}

func (b *build) plan(in Inputs) (planned, error) {
	merged, err := b.merge(in)
	if err != nil {
		return planned{}, err
	}
	if err := merged.Err(); err != nil {
		return planned{}, err
	}
	doc := merged.Doc
	if err := check(ref.Pipeline, doc, b.scope); err != nil {
		return planned{}, err
	}
	src := plan.Source{Pipeline: doc, Inputs: merged.Inputs, Trigger: b.trigger, Deployments: map[string]*plan.Deployment{}}
	if err := b.deployments(doc.Get("stages"), src.Deployments); err != nil {
		return planned{}, err
	}
	src.Templates = b.templates
	chained, err := b.chained(doc.Get("stages"))
	if err != nil {
		return planned{}, err
	}
	made, err := plan.Build(src)
	if err != nil {
		return planned{}, err
	}
	encoded, err := made.Encode()
	if err != nil {
		return planned{}, fmt.Errorf("encode the plan of pipeline %s: %w", b.pipeline.Key.ID, err)
	}
	given, err := json.Marshal(Given{
		YAML: string(input.Text(string(ref.Pipeline), merged.Inputs)), Sets: in.Sets, Stages: b.stages, Warnings: append(merged.Warnings, b.warnings...),
	})
	if err != nil {
		return planned{}, fmt.Errorf("encode the inputs of pipeline %s: %w", b.pipeline.Key.ID, err)
	}
	sum := sha256.Sum256(encoded)
	return planned{name: b.pipeline.Name, hash: hex.EncodeToString(sum[:]), doc: encoded, root: made.Root.ID, inputs: given, chained: chained}, nil
}

// root is an entity's document as it was saved.
func root(file string, e store.Entity) (*yamldoc.Node, error) {
	docs, report := yamldoc.Parse(file, e.YAML)
	if err := report.Err(); err != nil {
		return nil, err
	}
	if len(docs) != 1 || docs[0].Get(string(e.Key.Kind)) == nil {
		return nil, fmt.Errorf("%s %s has no document", e.Key.Kind, e.Key.ID)
	}
	return docs[0], nil
}

// deployments reads what the Deployment stages of a list deploy where.
func (b *build) deployments(stages *yamldoc.Node, into map[string]*plan.Deployment) error {
	if stages == nil {
		return nil
	}
	for _, item := range stages.Items {
		if inner := cmp.Or(item.Get("parallel"), item.At("insert", "stages")); inner != nil {
			if err := b.deployments(inner, into); err != nil {
				return err
			}
			continue
		}
		stage := item.Get("stage")
		if text(stage, "type") != "Deployment" {
			continue
		}
		d, err := b.deployment(stage)
		if err != nil {
			return fault.New(fault.CodeOf(err), "stage %s: %w", text(stage, "identifier"), err)
		}
		into[text(stage, "identifier")] = d
	}
	return nil
}

func (b *build) deployment(stage *yamldoc.Node) (*plan.Deployment, error) {
	spec := stage.Get("spec")
	environment := spec.Get("environment")
	infra := environment.Get("infrastructureDefinition")
	if list := environment.Get("infrastructureDefinitions"); list != nil && len(list.Items) == 1 {
		infra = list.Items[0]
	}
	d := &plan.Deployment{
		Type: text(spec, "deploymentType"), ServiceRef: text(spec.Get("service"), "serviceRef"),
		EnvironmentRef: text(environment, "environmentRef"),
	}
	var err error
	if d.Service, err = b.entity(ref.Service, d.ServiceRef, "", spec.At("service", "serviceInputs")); err != nil {
		return nil, err
	}
	if d.Environment, err = b.entity(ref.Environment, d.EnvironmentRef, "", environment.Get("environmentInputs")); err != nil {
		return nil, err
	}
	if d.Infrastructure, err = b.entity(ref.Infrastructure, text(infra, "identifier"), d.EnvironmentRef, infra.Get("inputs")); err != nil {
		return nil, err
	}
	return d, sameType(d)
}

// sameType checks that stage, service and infrastructure are of one
// deployment type (entities spec §2).
func sameType(d *plan.Deployment) error {
	for _, other := range []struct{ what, typ string }{
		{"service " + d.ServiceRef, text(d.Service.Get("serviceDefinition"), "type")},
		{"infrastructure " + text(d.Infrastructure, "identifier"), text(d.Infrastructure, "deploymentType")},
	} {
		if other.typ != d.Type {
			return fault.New(fault.Invalid, "the stage deploys %s, but %s is of type %s", d.Type, other.what, other.typ)
		}
	}
	return nil
}

// entity reads a referenced entity and fills its runtime inputs; env is the
// environment of an infrastructure definition.
func (b *build) entity(kind ref.Kind, name, env string, inputs *yamldoc.Node) (*yamldoc.Node, error) {
	if name == "" || strings.Contains(name, "<+") {
		return nil, fault.New(fault.Unsupported, "the %s is %q; want an identifier: an expression can't choose it yet", kind, name)
	}
	r, err := ref.Parse(name, b.scope)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s %w", kind, err)
	}
	key := store.EntityKey{Scope: r.Scope, Kind: kind, ID: r.ID}
	if kind == ref.Infrastructure {
		from, err := ref.Parse(env, b.scope)
		if err != nil {
			return nil, fault.New(fault.Invalid, "environment %w", err)
		}
		key.Scope, key.Env = from.Scope, from.ID
	}
	e, err := b.entities.Entity(b.ctx, key)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "there is no %s %q in %s", kind, r.ID, key.Scope)
	}
	if err != nil {
		return nil, err
	}
	doc, err := b.document(e)
	if err != nil {
		return nil, err
	}
	merged := input.Merge(doc, nil, input.Source{Doc: inputs, Lenient: true})
	b.warnings = append(b.warnings, merged.Warnings...)
	if err = merged.Err(); err == nil {
		err = check(kind, merged.Doc, key.Scope)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s %s: %w", kind, name, err)
	}
	return merged.Doc, nil
}

// check checks a document again, now that its inputs have values: what was an
// input on save may be anything.
func check(kind ref.Kind, doc *yamldoc.Node, scope ref.Scope) error {
	root := &yamldoc.Node{Kind: yamldoc.Mapping, Line: doc.Line, Column: doc.Column, Entries: []yamldoc.Entry{{Key: string(kind), Line: doc.Line, Column: doc.Column, Value: doc}}}
	report := yamldoc.NewReport(string(kind))
	catalog.Decode(root, report, scope)
	return report.Err()
}

func text(n *yamldoc.Node, key string) string {
	if f := n.Get(key); f != nil {
		return f.Value
	}
	return ""
}

func shortHash(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:10])
}
