package entity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// maxGroupDepth is how deep step groups may be nested
// (semantics/pipeline §1.3).
const maxGroupDepth = 10

// StepList is a list of steps, with the line that it begins in.
type StepList struct {
	Items []StepItem
	Line  int
	Open  bool // as of a StageList
}

// StepItem is an item of a list of steps. Exactly one field is set; none for
// an insert, or a parallel block, that was left blank.
type StepItem struct {
	Step     *Step
	Group    *StepGroup
	Parallel StepList
	Insert   StepList // like the list's own, see StageItem
}

// Flat are the items of the list with those of its inserts in their place.
func (l StepList) Flat() []StepItem {
	var out []StepItem
	for _, item := range l.Items {
		if len(item.Insert.Items) > 0 {
			out = append(out, item.Insert.Flat()...)
		} else {
			out = append(out, item)
		}
	}
	return out
}

// Step is a step (semantics/pipeline §1.3).
type Step struct {
	Doc               *yamldoc.Node // all of it
	Linked            bool          // to a template that nobody has put in its place
	Identifier        yamldoc.Field[string]
	Name              yamldoc.Field[string]
	Description       yamldoc.Field[string]
	Type              yamldoc.Field[string]
	Spec              *yamldoc.Node // the step type's
	Timeout           yamldoc.Field[time.Duration]
	When              When
	FailureStrategies []FailureStrategy
	DelegateSelectors yamldoc.Field[[]string] // beside the spec
	SpecSelectors     []string                // those in the spec, which come first
	Loop              Looping
}

// StepGroup is a group of steps (semantics/pipeline §1.3).
type StepGroup struct {
	Doc               *yamldoc.Node // all of it
	Linked            bool          // to a template that nobody has put in its place
	Identifier        yamldoc.Field[string]
	Name              yamldoc.Field[string]
	Description       yamldoc.Field[string]
	Steps             StepList
	RollbackSteps     StepList
	Containerized     bool     // it has a stepGroupInfra, where its steps run programs
	Needs             []string // what the machine of its session must be, such as os=linux
	Variables         []Variable
	When              When
	FailureStrategies []FailureStrategy
	DelegateSelectors yamldoc.Field[[]string]
	Loop              Looping
}

// place is where a list of steps stands.
type place struct {
	stage      string // the stage's type
	deployment string // its deployment type
	gitOps     bool   // it leaves the deployment to GitOps
	rollback   bool
	depth      int           // of step groups
	session    bool          // a group around has one
	provisions bool          // what the stage deploys to isn't there yet
	section    document.Seen // the identifiers of all steps, or of all rollback steps, of the stage
	made       document.Seen // likewise, and with those of its provisioner section: by which provisioners something is made
	traffic    document.Seen // likewise: the types of those that move the traffic of what is deployed
}

// steps decodes a list of steps; ids are the identifiers of its container,
// which a parallel block shares (semantics/pipeline §1.3).
func (d steps) steps(v yamldoc.Value, p place, ids document.Seen) StepList {
	out := StepList{Line: line(v), Open: v.Is(yamldoc.Scalar)}
	for item := range d.Items(v) {
		var one StepItem
		d.Named(item, "stepItem")
		d.Fields(item, document.Keys{
			"step":      func(v yamldoc.Value) { one.Step = d.step(v, p, ids) },
			"stepGroup": func(v yamldoc.Value) { one.Group = d.stepGroup(v, p, ids) },
			"parallel":  func(v yamldoc.Value) { one.Parallel = d.parallelSteps(v, p, ids) },
			"insert": func(v yamldoc.Value) {
				d.insert("steps", func(v yamldoc.Value) { one.Insert = d.steps(v, p, ids) })(v)
				one.Insert.Open = true
			},
		})
		d.OneOf(item, "step", "stepGroup", "parallel", "insert")
		out.Items = append(out.Items, one)
	}
	return out
}

// someSteps decodes the steps of a stage or a group, of which there is one at
// least.
func (d steps) someSteps(v yamldoc.Value, p place) StepList {
	d.Filled(v, document.EmptyList, "found no steps; want one at least")
	return d.steps(v, p, document.Seen{})
}

func (d steps) parallelSteps(v yamldoc.Value, p place, ids document.Seen) StepList {
	out := d.steps(v, p, ids)
	if v.Null() {
		d.Errorf(v, document.EmptyList, "found nothing to run in parallel; want a step at least")
	}
	_, members := stepNodes(out)
	d.bounded(v, extent.Members(members))
	d.Empty(v, "found nothing to run in parallel")
	return out
}

// stepID binds the identifier of a step or a step group.
func (d steps) stepID(f *yamldoc.Field[string], p place, ids document.Seen) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		*f = d.nodeID(v)
		if f.Value == "" {
			return
		}
		first, again := p.section.Again(f.Value, f.At)
		if here, ok := ids.Again(f.Value, f.At); ok {
			d.Errorf(v, document.DuplicateIdentifier, "%q stands twice; the first is in line %d", f.Value, here.Line)
		} else if again {
			d.Warnf(v, repeatedIdentifier, "%q is also the identifier of a step in line %d; execution.steps.%s means the one in the same group", f.Value, first.Line, f.Value)
		}
	}
}

func (d steps) step(v yamldoc.Value, p place, ids document.Seen) *Step {
	s := &Step{Doc: v.Node}
	d.Fields(v, document.Merge(d.stepKeys(v, s, p), document.Keys{
		"identifier": d.stepID(&s.Identifier, p, ids),
		"name":       d.Name(&s.Name),
	}))
	d.Need(v, "identifier", "name")
	d.stepNeeds(v, s, p)
	return s
}

// stepKeys are the keys that a template of a step has too.
func (d steps) stepKeys(v yamldoc.Value, s *Step, p place) document.Keys {
	return document.Keys{
		"description": d.Text(&s.Description),
		"type":        func(v yamldoc.Value) { s.Type = d.stepType(v) },
		"spec": func(spec yamldoc.Value) {
			s.SpecSelectors = selectors(spec.Node.Get("delegateSelectors"))
			if d.Node(&s.Spec)(spec); !bare(spec.Node) {
				d.checkStep(v, spec, p)
			}
		},
		"timeout":           d.Time(&s.Timeout),
		"when":              d.when(&s.When, "stageStatus"),
		"failureStrategies": d.failureStrategies(&s.FailureStrategies, level{node: "step", stage: p.stage, rollback: p.rollback}),
		"delegateSelectors": d.Words(&s.DelegateSelectors),
		"strategy":          d.looping(&s.Loop),
		"enforce":           enforced(d),
		"template":          noted(&s.Linked, d.link),
	}
}

// enforced decodes which policy sets are asked about how a step has ended. They are
// read from its document then (step.EnforcedSets).
func enforced(d steps) document.Rule {
	return func(v yamldoc.Value) {
		d.Fields(v, document.Keys{"policySets": func(v yamldoc.Value) {
			d.Strings(v)
			for item := range document.Literals(v) {
				d.Reference(ref.PolicySet, &yamldoc.Field[string]{})(item)
			}
			if v.Is(yamldoc.Sequence) && len(v.Node.Items) > policy.MaxEnforced {
				d.Errorf(v, document.WrongValue, "the step has %d policy sets asked; the limit is %d", len(v.Node.Items), policy.MaxEnforced)
			}
		}})
	}
}

// OutputAlias is the name under which a step publishes its outputs
// (semantics/pipeline §7.4), and the scope in which; nil if it publishes none.
func OutputAlias(step *yamldoc.Node) (key *yamldoc.Node, scope string) {
	alias := step.At("spec", "outputAlias")
	return alias.Get("key"), alias.Text("scope")
}

// selectors are those that a step's spec has: a list, or one expression for all
// of it. What is wrong with them its type says.
func selectors(n *yamldoc.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind == yamldoc.Scalar && n.Value != "" {
		return []string{n.Value}
	}
	var out []string
	for _, item := range n.Items {
		out = append(out, item.Value)
	}
	return out
}

// bare says whether a spec has nothing in it. Keys that say no are something: a
// step may ask for them.
func bare(spec *yamldoc.Node) bool {
	return document.Neutral(spec) && (spec == nil || len(spec.Entries) == 0)
}

// stepNeeds reports what a step lacks, and what its spec does if it has none.
func (d steps) stepNeeds(v yamldoc.Value, s *Step, p place) {
	s.long(d, v)
	if !linked(v) {
		d.Need(v, "type")
	}
	if d.Watched() || bare(v.Node.Get("spec")) {
		typ := document.Child(v, "type")
		if d.checkStep(v, document.At(v, "spec", &yamldoc.Node{Kind: yamldoc.Mapping, Line: typ.Node.Line, Column: typ.Node.Column}), p) && !linked(v) {
			d.Takes(v, yamldoc.UseNeeded, "spec")
		}
	}
}

// long reports a timeout that is shorter than what the step may well take.
func (s *Step) long(d steps, v yamldoc.Value) {
	if lasts := d.options.Steps.Of(s.Type.Value).Lasts; lasts != nil && s.Timeout.Value > 0 && s.Timeout.Value < lasts.Time {
		d.Warnf(document.Child(v, "timeout"), document.ShortDuration, "found %s; %s may well take %s: %s", s.Timeout.Value, s.Type.Value, lasts.Time, lasts.Why)
	}
}

func (d steps) stepType(v yamldoc.Value) yamldoc.Field[string] {
	f := d.String(v)
	if d.Watched() && d.options.Steps != nil {
		d.Takes(v, yamldoc.UseEnum, d.options.Steps.Names()...)
	}
	d.Plain(v, f.Expr, "the name of a step type")
	return f
}

// checkStep asks a step's type about the step's spec. Of a type that nobody
// here knows it says whether Harness has it. lacks says that the spec has too
// few keys.
func (d steps) checkStep(step, spec yamldoc.Value, p place) (lacks bool) {
	typ, name := document.Child(step, "type"), document.Peek(step, "type")
	if d.options.Steps == nil || name == "" || strings.Contains(name, "<+") {
		return false
	}
	if spec.Is(yamldoc.Scalar) && strings.Contains(spec.Node.Value, "<+") { // it is filled in later
		spec.Node = &yamldoc.Node{Kind: yamldoc.Mapping}
		if d.options.Steps.Check(name, spec.Node, p.stage, yamldoc.NewReport("")) {
			return false
		}
	}
	known := false
	d.Within(spec.Path, func(part *yamldoc.Report) {
		known = d.options.Steps.Check(name, spec.Node, deployments(d).stageOf(name, p), part)
		lacks = slices.ContainsFunc(part.Findings(), func(f yamldoc.Finding) bool { return f.Code == document.MissingKey })
	})
	switch {
	case known:
		d.sameSwimlane(typ, name, p.deployment)
		deployments(d).early(typ, name, p)
		d.specRefs(spec)
		typeOf := d.options.Steps.Of(name)
		if at := document.Child(spec, "barrierRef"); typeOf.Meets && at.Is(yamldoc.Scalar) && !strings.Contains(at.Node.Value, "<+") {
			d.barriers = append(d.barriers, at)
		}
		d.apart(spec, typeOf, p)
		p.movedOnce(d, typ, spec, name)
	case p.ofRefused(name):
	case harnessStep(name):
		d.Unsupported(typ, "step type %s isn't supported yet%s", name, instead(name))
	default:
		d.Errorf(typ, unknownStepType, "unknown step type %q%s", name, d.meantStep(name, p.stage))
	}
	return lacks
}

// apart reports a step that shares with another of its type in the stage what those
// have of their own: what would be rolled back, or deleted, is one of them alone.
func (d steps) apart(spec yamldoc.Value, typ step.Type, p place) {
	at := document.Child(spec, typ.Apart)
	if typ.Apart == "" || p.made == nil || !at.Is(yamldoc.Scalar) || strings.Contains(at.Node.Value, "<+") {
		return
	}
	if first, again := p.made.Again(typ.Name+" "+at.Node.Value, at.Pos(d.Report)); again {
		d.Errorf(at, document.DuplicateIdentifier, "the %s step in line %d of this stage has the %s %q, too; want one of its own for each", typ.Name, first.Line, typ.Apart, at.Node.Value)
	}
}

// movedOnce reports a step that moves the traffic of what its stage deploys where one
// of another type does, too: each would undo what the other has done.
func (p place) movedOnce(d steps, typ, spec yamldoc.Value, name string) {
	if p.traffic == nil || !d.options.Steps.Moves(name, spec.Node) {
		return
	}
	p.traffic.Again(name, typ.Pos(d.Report))
	for other, first := range p.traffic {
		if other != name {
			d.Errorf(typ, document.WrongValue, "the %s step in line %d of this stage moves the same traffic; want steps of one of the two types", other, first.Line)
		}
	}
}

// specRefs adds the references of a step's spec to connectors and to the user
// groups of approvals.
func (d steps) specRefs(v yamldoc.Value) {
	switch {
	case v.Is(yamldoc.Mapping):
		for _, e := range v.Node.Entries {
			part := document.At(v, e.Key, e.Value)
			switch {
			case e.Key == "connectorRef" && part.Is(yamldoc.Scalar) && !strings.Contains(e.Value.Value, "<+"):
				d.refer(ref.Connector, part, e.Value.Value)
			case e.Key == "userGroups":
				d.approvers(part)
			default:
				d.specRefs(part)
			}
		}
	case v.Is(yamldoc.Sequence):
		for i, item := range v.Node.Items {
			d.specRefs(yamldoc.Sub(item, fmt.Sprintf("%s[%d]", v.Path, i)))
		}
	}
}

// approvers adds the references to the user groups that an approval asks. How
// they are spelled is the step type's to say; those of all users are always
// there, and a shared template's may be those of whoever uses it.
func (d steps) approvers(v yamldoc.Value) {
	switch {
	case v.Is(yamldoc.Sequence):
		for i, item := range v.Node.Items {
			d.approvers(yamldoc.Sub(item, fmt.Sprintf("%s[%d]", v.Path, i)))
		}
	case v.Is(yamldoc.Scalar) && !strings.Contains(v.Node.Value, "<+"):
		for name := range strings.SplitSeq(v.Node.Value, ",") {
			name = strings.TrimSpace(name)
			r, err := ref.Parse(name, d.Scope)
			if err == nil && !strings.HasSuffix(name, "_all_users") && (!d.shared() || strings.Contains(name, ".")) {
				d.references = append(d.references, Reference{Kind: ref.UserGroup, Ref: r, Text: name, At: v.Pos(d.Report)})
			}
		}
	}
}

// groupRollback decodes the rollbackSteps of a group. In a stage's
// rollbackSteps nothing would ever run them.
func (d steps) groupRollback(v yamldoc.Value, p place) StepList {
	if p.rollback && !document.Neutral(v.Node) {
		d.Errorf(v, badStrategy, "a group in rollbackSteps can't have rollbackSteps itself: nothing rolls a rollback back")
		return StepList{}
	}
	p.rollback, p.section, p.made, p.traffic = true, document.Seen{}, document.Seen{}, document.Seen{}
	return d.steps(v, p, document.Seen{})
}

func (d steps) stepGroup(v yamldoc.Value, p place, ids document.Seen) *StepGroup {
	g := &StepGroup{Doc: v.Node}
	inner := p
	inner.depth++
	inner.session = p.session || v.Node.Get("stepGroupInfra") != nil
	if inner.depth > maxGroupDepth {
		d.Errorf(v, "TOO_DEEP", "step groups are nested more than %d deep", maxGroupDepth)
		return g
	}
	d.Fields(v, document.Merge(d.groupKeys(g, p, inner), document.Keys{
		"identifier": d.stepID(&g.Identifier, p, ids),
		"name":       d.Name(&g.Name),
	}))
	d.Need(v, "identifier", "name")
	d.groupNeeds(v)
	containers(d).placed(v, g)
	if !document.Neutral(v.Node.Get("timeout")) {
		d.Warnf(document.Child(v, "timeout"), document.NoEffect, "timeout has no effect here: a step group has none; want one on its steps, or on the stage")
	}
	return g
}

// groupKeys are the keys that a template of a step group has too. inner is the
// place in the group.
func (d steps) groupKeys(g *StepGroup, p, inner place) document.Keys {
	return document.Keys{
		"description":       d.Text(&g.Description),
		"steps":             func(v yamldoc.Value) { g.Steps = d.someSteps(v, inner) },
		"variables":         d.variables(&g.Variables),
		"when":              d.when(&g.When, "stageStatus"),
		"failureStrategies": d.failureStrategies(&g.FailureStrategies, level{node: "stepGroup", stage: p.stage, rollback: p.rollback}),
		"delegateSelectors": d.Words(&g.DelegateSelectors),
		"strategy":          d.looping(&g.Loop),
		"template":          noted(&g.Linked, d.link),
		"stepGroupInfra": func(v yamldoc.Value) {
			g.Containerized = v.Is(yamldoc.Mapping)
			containers(d).infra(v, p, g)
		},
		"sharedPaths":   containers(d).sharedPaths,
		"platform":      func(v yamldoc.Value) { containers(d).platform(v, g) },
		"rollbackSteps": func(v yamldoc.Value) { g.RollbackSteps = d.groupRollback(v, inner) },
	}
}

func (d steps) groupNeeds(v yamldoc.Value) {
	if !linked(v) {
		d.Need(v, "steps")
	}
}
