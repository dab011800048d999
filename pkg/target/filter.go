package target

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// about are the filters of environments or of infrastructures.
func about(entities string, filters []entity.Filter) []entity.Filter {
	return slices.DeleteFunc(slices.Clone(filters), func(f entity.Filter) bool { return !slices.Contains(f.Entities.Value, entities) })
}

// passes says whether a document passes every filter (semantics/entities §5.3).
// service is what <+service> means in them; nil: nothing.
func (x *expansion) passes(filters []entity.Filter, doc *entity.Entity, service func() (expr.Value, error)) (bool, error) {
	for _, f := range filters {
		if f.PassesAll() {
			continue
		}
		tags, err := x.tags(f.Tags, service)
		if err != nil {
			return false, fault.Wrap(err, "filter %s", f.Identifier.Text)
		}
		if !matches(doc.Tags.Value, tags, f.EveryTag()) {
			return false, nil
		}
	}
	return true, nil
}

// tags are those that a filter wants, perhaps those of the service.
func (x *expansion) tags(n *yamldoc.Node, service func() (expr.Value, error)) (map[string]string, error) {
	out := map[string]string{}
	if n == nil || n.Kind == yamldoc.Mapping {
		for _, e := range n.Pairs() {
			v, err := x.interpolate(e.Value.Value)
			if err != nil {
				return nil, err
			}
			out[e.Key] = v.Text()
		}
		return out, nil
	}
	names := map[string]expr.Value{}
	if service != nil {
		v, err := service()
		if err != nil {
			return nil, err
		}
		names["service"] = v
	}
	v, err := expr.Evaluate(n.Value, x.Names(names))
	if err != nil {
		return nil, err
	}
	if v.Kind() != expr.KindMap {
		return nil, fault.New(fault.Invalid, "%s is %s; want tags with their values", n.Value, v.Kind())
	}
	for _, key := range v.Keys() {
		field, _ := v.Field(key)
		out[key] = field.Text()
	}
	return out, nil
}

// matches says whether a document has all of the tags, or any. A tag without a
// value means that the document has it, whatever its value.
func matches(has, want map[string]string, all bool) bool {
	found := 0
	for key, value := range want {
		if tag, ok := has[key]; ok && (value == "" || tag == value) {
			found++
		}
	}
	if all {
		return found == len(want)
	}
	return found > 0
}
