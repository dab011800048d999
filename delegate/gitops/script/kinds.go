package script

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/health"
	"github.com/slipway-cd/slipway/pkg/gitops/settings"
)

// Kinds says how objects fare and what can be done to them: by scripts where there
// are any for their kind, by pkg/gitops/health, and else by what controllers of all
// kinds say alike. Nil has no scripts.
type Kinds struct {
	settings settings.Settings
	compiled map[string]*Script // by their text
	broken   map[string]error
}

// NewKinds makes the scripts of settings ready. One that is no Lua says so wherever it
// would be run.
func NewKinds(s settings.Settings) *Kinds {
	k := &Kinds{settings: s, compiled: map[string]*Script{}, broken: map[string]error{}}
	add := func(name, text string) {
		if text == "" {
			return
		}
		var err error
		if k.compiled[text], err = Compile(name, text); err != nil {
			k.broken[text] = err
		}
	}
	for _, one := range s.Kinds {
		add("health.lua", one.Health)
		if one.Actions == nil {
			continue
		}
		add("discovery.lua", one.Actions.Discovery)
		for _, a := range one.Actions.Definitions {
			add(a.Name, a.Lua)
		}
	}
	return k
}

func (k *Kinds) get(text string) (*Script, error) {
	if err := k.broken[text]; err != nil {
		return nil, err
	}
	return k.compiled[text], nil
}

// health is the script of a kind; empty: it has none.
func (k *Kinds) health(group, kind string) string {
	if k == nil {
		return ""
	}
	if found := k.settings.Of(group, kind, func(k *settings.Kind) bool { return k.Health != "" }); found != nil {
		return found.Health
	}
	return ""
}

// Has says whether objects of a kind fare at all.
func (k *Kinds) Has(group, kind string) bool {
	return k.health(group, kind) != "" || health.Has(group, kind) || k.generic() && tells(group, kind)
}

// generic says whether kinds of which nothing is known fare, too.
func (k *Kinds) generic() bool { return k == nil || !k.settings.NoGenericHealth }

// Health says how an object fares; nil if its kind doesn't.
func (k *Kinds) Health(ctx context.Context, o map[string]any) *gitops.HealthStatus {
	text := k.health(groupKind(o))
	if meta, _ := o["metadata"].(map[string]any); text == "" || meta["deletionTimestamp"] != nil {
		return k.known(o)
	}
	s, err := k.get(text)
	if err != nil {
		return &gitops.HealthStatus{Status: gitops.HealthUnknown, Message: err.Error()}
	}
	if got := s.Health(ctx, o); got != nil {
		return got
	}
	return k.known(o)
}

// known is how an object fares without a script.
func (k *Kinds) known(o map[string]any) *gitops.HealthStatus {
	got := health.Of(o)
	if group, kind := groupKind(o); got == nil && !health.Has(group, kind) && k.generic() {
		return generic(o)
	}
	return got
}

func groupKind(o map[string]any) (group, kind string) {
	version, _ := o["apiVersion"].(string)
	kind, _ = o["kind"].(string)
	if g, _, grouped := strings.Cut(version, "/"); grouped {
		group = g
	}
	return group, kind
}

// Offer is an action that there is for an object.
type Offer struct {
	Name       string
	Disabled   bool
	Parameters []string
}

// actions are those of an object's kind; nil: it has none.
func (k *Kinds) actions(o map[string]any) *settings.Actions {
	if k == nil {
		return nil
	}
	group, kind := groupKind(o)
	if found := k.settings.Of(group, kind, func(k *settings.Kind) bool { return k.Actions != nil }); found != nil {
		return found.Actions
	}
	return nil
}

// Offers are the actions that scripts have for an object, by name; builtin says
// whether the ones that there are without scripts stand beside them.
func (k *Kinds) Offers(ctx context.Context, o map[string]any) (offers []Offer, builtin bool, err error) {
	all := k.actions(o)
	if all == nil {
		return nil, true, nil
	}
	if all.Discovery == "" {
		return nil, all.Builtin, nil
	}
	s, err := k.get(all.Discovery)
	if err != nil {
		return nil, false, err
	}
	got, err := s.run(ctx, o, nil)
	if err != nil {
		return nil, false, err
	}
	table, _ := got.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if !slices.ContainsFunc(all.Definitions, func(a settings.Action) bool { return a.Name == name }) {
			continue // there is nothing to run
		}
		offer := Offer{Name: name}
		about, _ := table[name].(map[string]any)
		offer.Disabled, _ = about["disabled"].(bool)
		parameters, _ := about["params"].([]any)
		for _, p := range parameters {
			one, _ := p.(map[string]any)
			if name, _ := one["name"].(string); name != "" {
				offer.Parameters = append(offer.Parameters, name)
			}
		}
		offers = append(offers, offer)
	}
	return offers, all.Builtin, nil
}

// Change is what an action wants changed: an object that is to be made, or the object
// itself as it is to be.
type Change struct {
	Create bool
	Object map[string]any
}

// mostChanges bounds what one action may change.
const mostChanges = 50

// Run runs an action that an object is offered, and gives what it wants changed.
func (k *Kinds) Run(ctx context.Context, o map[string]any, name string, parameters map[string]string) ([]Change, error) {
	all := k.actions(o)
	if all == nil {
		return nil, fault.New(fault.NotFound, "there is no action %s", name)
	}
	i := slices.IndexFunc(all.Definitions, func(a settings.Action) bool { return a.Name == name })
	if i < 0 {
		return nil, fault.New(fault.NotFound, "there is no action %s", name)
	}
	s, err := k.get(all.Definitions[i].Lua)
	if err != nil {
		return nil, err
	}
	got, err := s.run(ctx, o, parameters)
	if err != nil {
		return nil, err
	}
	switch got := got.(type) {
	case map[string]any:
		if got["kind"] != nil {
			return []Change{{Object: shaped(got, o)}}, nil
		}
	case []any:
		return changes(got, o)
	}
	return nil, fault.New(fault.Invalid, "the action gave %s; want the object, or a list of what is to be changed", describe(got))
}

// changes reads a list of them.
func changes(all []any, o map[string]any) ([]Change, error) {
	if len(all) > mostChanges {
		return nil, fault.New(fault.TooLarge, "the action wants %d objects changed; %d at most", len(all), mostChanges)
	}
	var out []Change
	for i, one := range all {
		m, _ := one.(map[string]any)
		resource, _ := m["resource"].(map[string]any)
		operation, _ := m["operation"].(string)
		switch {
		case resource["kind"] == nil:
			return nil, fault.New(fault.Invalid, "item %d of what the action gave has no resource", i+1)
		case operation == "create":
			out = append(out, Change{Create: true, Object: shaped(resource, o)})
		case operation == "patch":
			out = append(out, Change{Object: shaped(resource, o)})
		default:
			return nil, fault.New(fault.Invalid, "item %d of what the action gave has the operation %q; want create or patch", i+1, operation)
		}
	}
	return out, nil
}

func describe(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "a table without a kind"
	case string:
		return "a text"
	default:
		return "a number or a truth"
	}
}

// shaped has empty tables be lists where the original has lists: Lua knows no
// difference.
func shaped(made, original map[string]any) map[string]any {
	out, _ := shape(made, original).(map[string]any)
	return out
}

func shape(made, original any) any {
	switch m := made.(type) {
	case map[string]any:
		if list, is := original.([]any); is && len(m) == 0 {
			return list[:0:0]
		}
		from, _ := original.(map[string]any)
		for name := range m {
			m[name] = shape(m[name], from[name])
		}
	case []any:
		from, _ := original.([]any)
		for i := range m {
			var one any
			if i < len(from) {
				one = from[i]
			}
			m[i] = shape(m[i], one)
		}
	}
	return made
}
