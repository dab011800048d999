package entity

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// policies decodes policies and sets of them. Nothing in them is an expression:
// they are asked before there is a run that could know values.
type policies struct{ *decoder }

func (d policies) policy(v yamldoc.Value, e *Entity) *policy.Policy {
	p := &policy.Policy{}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"rego": func(v yamldoc.Value) {
			d.Report.Texts(func() { p.Rego = d.String(v).Value }) // what looks like an expression is none
			if check := d.options.CheckRego; check != nil && p.Rego != "" {
				d.rego(v, check(p.Rego))
			}
		},
	}))
	d.Need(v, "identifier", "name", "rego")
	return p
}

// rego reports what is wrong with a text in Rego, by its own lines.
func (d policies) rego(v yamldoc.Value, problems []policy.Problem) {
	for _, p := range problems {
		say := d.Errorf
		if p.Warning {
			say = d.Warnf
		}
		say(v, badRego, "line %d, column %d of the Rego: %s", p.Line, p.Column, p.Message)
	}
}

func (d policies) set(v yamldoc.Value, e *Entity) *policy.Set {
	s := &policy.Set{Ref: ref.Ref{Scope: e.Scope}}
	var typ, action yamldoc.Field[string]
	narrower := d.Refuse("choosing by it what a set is about isn't supported")
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"type":            d.anyCase(&typ, "policy set type", policy.Types(), policy.OtherTypes()),
		"action":          d.action(&action, policyType(document.Peek(v, "type"))),
		"enabled":         roles(d).settled(&s.Enabled),
		"policies":        func(v yamldoc.Value) { s.Members = d.members(v, e.Scope) },
		"entity_selector": narrower,
		"entitySelector":  narrower,
		"resource_groups": narrower,
		"resourceGroups":  narrower,
	}))
	d.Need(v, "identifier", "name", "type", "action", "enabled", "policies")
	s.Ref.ID, s.Moment = e.Identifier.Value, policy.Moment{Type: typ.Value, Action: action.Value}
	return s
}

// policyType is a type of set as it is compared.
func policyType(word string) string {
	all := slices.Concat(policy.Types(), policy.OtherTypes())
	if i := slices.IndexFunc(all, func(t string) bool { return strings.EqualFold(t, word) }); i >= 0 {
		return all[i]
	}
	return word
}

// anyCase is Supported for words that may be written in any case.
func (d policies) anyCase(f *yamldoc.Field[string], what string, can, harness []string) document.Rule {
	return func(v yamldoc.Value) {
		if v.Is(yamldoc.Scalar) && !d.Watched() {
			all := slices.Concat(can, harness)
			if i := slices.IndexFunc(all, func(w string) bool { return strings.EqualFold(w, v.Node.Value) }); i >= 0 {
				same := *v.Node
				same.Value = all[i]
				v.Node = &same
			}
		}
		d.Takes(v, yamldoc.UseAnyCase)
		d.Supported(f, what, can, harness...)(v)
	}
}

// action decodes when a set of a type is asked.
func (d policies) action(f *yamldoc.Field[string], typ string) document.Rule {
	return func(v yamldoc.Value) {
		all := []string{policy.OnSave, policy.OnRun, policy.OnStepStart, policy.OnStep}
		d.anyCase(f, "action", all, []string{"onsync"})(v)
		can := policy.Actions(typ)
		if !slices.Contains(policy.Types(), typ) || slices.Contains(can, f.Value) || !slices.Contains(all, f.Value) {
			return // it has been reported, or there is nothing to report
		}
		d.Unsupported(v, "policy sets of the type %s aren't asked %s yet; want %s", typ, f.Value, document.Choice(can))
	}
}

func (d policies) members(v yamldoc.Value, in ref.Scope) []policy.Member {
	var out []policy.Member
	d.Filled(v, document.WrongValue, "policies is empty, so the set would ask nothing; want at least one policy")
	if v.Is(yamldoc.Sequence) && len(v.Node.Items) > policy.MaxPolicies {
		d.Errorf(v, document.WrongValue, "the set has %d policies; the limit is %d", len(v.Node.Items), policy.MaxPolicies)
	}
	for item := range d.Items(v) {
		var id, severity yamldoc.Field[string]
		d.Fields(item, document.Keys{
			"identifier": func(v yamldoc.Value) {
				d.Reference(ref.Policy, &id)(v)
				d.Plain(v, id.Expr, "a policy's name")
			},
			"severity": d.anyCase(&severity, "", []string{string(policy.Error), string(policy.Warning)}, nil),
		})
		d.Need(item, "identifier", "severity")
		named, err := ref.Parse(id.Value, in)
		if err != nil {
			continue // it has been reported
		}
		if slices.ContainsFunc(out, func(m policy.Member) bool { return m.Policy == named }) {
			d.Errorf(item, document.Ambiguous, "the set has the policy %s already", id.Value)
		}
		out = append(out, policy.Member{Policy: named, Severity: policy.Severity(severity.Value)})
	}
	return out
}

// Judged is what policies see of a document: with what templates bring, and of
// a secret without its value.
func (e *Entity) Judged() any {
	doc := e.Doc
	if spec := doc.Get("spec"); e.Kind == ref.Secret && spec != nil && spec.Text("valueType") != "Reference" {
		doc = doc.With("spec", spec.Without("value"))
	}
	seen := doc.Any()
	if of, ok := seen.(map[string]any); ok && e.Override != nil {
		spec, _ := of["spec"].(map[string]any) // its keys may stand beside it, too
		maps.Copy(of, spec)
	}
	return seen
}
