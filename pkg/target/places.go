package target

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// spot is an infrastructure of an environment, or its GitOps clusters, that a stage may deploy to.
type spot struct {
	environment    environment
	infrastructure plan.Pick
	group          *plan.Group

	doc     *entity.Entity  // the infrastructure's
	filters []entity.Filter // that it must pass
	found   bool            // nobody named it: services that it isn't scoped to pass it by
}

// places are the infrastructures that the stage names, in its order, with the
// filters that a service may still have a say in.
func (x *expansion) places(w wanted) ([]spot, error) {
	environments, group, err := x.environments(w)
	if err != nil {
		return nil, err
	}
	var out []spot
	for _, e := range environments {
		list, err := x.infrastructures(w, e)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			s.environment, s.group, s.filters = e, group, slices.Concat(w.filters, e.filters)
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, fault.New(fault.Invalid, "no infrastructure matched: the stage has nothing to deploy to")
	}
	return out, nil
}

// environments are those that the stage names. Where it names none, they are
// those of its group, or all of its project, that pass the filters.
func (x *expansion) environments(w wanted) ([]environment, *plan.Group, error) {
	var members []string
	var group *plan.Group
	var err error
	for i := range w.environments {
		if w.environments[i].Ref, err = x.name(w.environments[i].Ref); err != nil {
			return nil, nil, fault.Wrap(err, "environmentRef")
		}
	}
	switch {
	case w.group != "":
		if group, members, err = x.group(w.group); err != nil {
			return nil, nil, err
		}
		for _, e := range w.environments {
			if !slices.Contains(members, e.Ref) {
				return nil, nil, fault.New(fault.Invalid, "environment %s isn't in the environment group %s", e.Ref, w.group)
			}
		}
	case len(w.environments) == 0:
		if members, err = x.list(x.Scope, ref.Environment, ""); err != nil {
			return nil, nil, err
		}
	}
	all := w.environments
	if len(all) == 0 || w.all {
		all = nil
		for _, member := range members {
			at := slices.IndexFunc(w.environments, func(e environment) bool { return e.Ref == member })
			e := environment{Pick: plan.Pick{Ref: member}}
			if at >= 0 {
				e = w.environments[at]
			}
			e.all = true
			all = append(all, e)
		}
	}
	return x.narrowed(all, w.filters, group)
}

// narrowed leaves out environments that don't pass the filters about them.
func (x *expansion) narrowed(all []environment, filters []entity.Filter, group *plan.Group) ([]environment, *plan.Group, error) {
	filters = about("environments", filters)
	if len(filters) == 0 {
		return all, group, nil
	}
	var out []environment
	for _, e := range all {
		doc, err := x.doc(ref.Environment, e.Ref, "")
		if err != nil {
			return nil, nil, err
		}
		passes, err := x.passes(filters, doc, nil)
		if err != nil {
			return nil, nil, err
		}
		if passes {
			out = append(out, e)
		}
	}
	return out, group, nil
}

// group reads an environment group: its members are named as the stage would.
func (x *expansion) group(written string) (*plan.Group, []string, error) {
	id, err := x.name(written)
	if err != nil {
		return nil, nil, fault.Wrap(err, "envGroupRef")
	}
	doc, err := x.doc(ref.EnvironmentGroup, id, "")
	if err != nil {
		return nil, nil, err
	}
	prefix := scopePrefix(id)
	var members []string
	for _, one := range doc.Group.Environments {
		members = append(members, prefix+one.Text)
	}
	return &plan.Group{Ref: id, Name: doc.Name.Text}, members, nil
}

// infrastructures are those of an environment that are named, or all of them.
// Those of a stage with gitOpsEnabled are one: the environment's clusters.
func (x *expansion) infrastructures(w wanted, e environment) ([]spot, error) {
	if w.GitOps {
		_, err := x.doc(ref.Environment, e.Ref, "")
		return []spot{{}}, err
	}
	if len(e.infrastructures) > 0 && !e.all {
		var out []spot
		for _, p := range e.infrastructures {
			var err error
			if p.Ref, err = x.name(p.Ref); err != nil {
				return nil, fault.Wrap(err, "the infrastructure's identifier")
			}
			doc, err := x.doc(ref.Infrastructure, p.Ref, e.Ref)
			if err != nil {
				return nil, err
			}
			out = append(out, spot{infrastructure: p, doc: doc})
		}
		return out, nil
	}
	key, err := x.key(ref.Environment, e.Ref, "")
	if err != nil {
		return nil, err
	}
	if _, err := x.doc(ref.Environment, e.Ref, ""); err != nil {
		return nil, err
	}
	ids, err := x.list(key.Scope, ref.Infrastructure, key.ID)
	if err != nil {
		return nil, err
	}
	var out []spot
	for _, id := range ids {
		doc, err := x.doc(ref.Infrastructure, id, e.Ref)
		if err != nil {
			return nil, err
		}
		if doc.Infrastructure.DeploymentType.Text != w.Type.Text {
			continue // of another kind of stage
		}
		p := plan.Pick{Ref: id}
		if at := slices.IndexFunc(e.infrastructures, func(o plan.Pick) bool { return o.Ref == id }); at >= 0 {
			p = e.infrastructures[at]
		}
		out = append(out, spot{infrastructure: p, doc: doc, found: true})
	}
	return out, nil
}

// takes says whether a service is deployed to a place.
func (x *expansion) takes(s spot, service plan.Pick) (bool, error) {
	if s.found && !x.scopedTo(s.doc, service.Ref) {
		return false, nil
	}
	filters := about("infrastructures", s.filters)
	if len(filters) == 0 {
		return true, nil
	}
	return x.passes(filters, s.doc, x.serviceOf(service))
}

// serviceOf is what <+service> means in filters.
func (x *expansion) serviceOf(service plan.Pick) func() (expr.Value, error) {
	return func() (expr.Value, error) {
		doc, err := x.doc(ref.Service, service.Ref, "")
		if err != nil {
			return expr.Value{}, err
		}
		tags := expr.Null()
		if doc.Tags.Set {
			tags = expr.FromAny(doc.Tags.Value)
		}
		return expr.Map(map[string]expr.Value{"tags": tags}), nil
	}
}

// list lists the identifiers of a kind in a scope.
func (x *expansion) list(scope ref.Scope, kind ref.Kind, env string) ([]string, error) {
	const most = 500
	var out []string
	for token := ""; ; {
		part, next, err := x.Entities.ListEntities(x.ctx, scope, kind, env, store.Page{Limit: most, Token: token})
		if err != nil {
			return nil, err
		}
		for _, e := range part {
			out = append(out, e.Key.ID)
		}
		if token = next; token == "" {
			return out, nil
		}
	}
}

// doc reads an entity as it is, its inputs not filled in.
func (x *expansion) doc(kind ref.Kind, name, env string) (*entity.Entity, error) {
	e, err := x.read(x.ctx, kind, name, env)
	if err != nil {
		return nil, err
	}
	doc, err := x.Document(x.ctx, e)
	if err != nil {
		return nil, err
	}
	return entity.DecodePart(kind, doc, yamldoc.NewReport(""), entity.Options{Scope: e.Key.Scope, Types: x.Types}), nil
}
