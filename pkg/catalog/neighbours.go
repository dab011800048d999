package catalog

import (
	"cmp"
	"context"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/rules"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// neighbours are the documents beside the one that is saved, of a GitOps agent or the
// users of an account: those that are kept, and those of the same set.
type neighbours struct {
	set      []*entity.Entity
	clusters map[ref.Ref]map[string]*access.Cluster // of an agent, by identifier
	named    map[ref.Ref]map[string][]ref.Scope     // where an agent has applications of a name
	mails    mails                                  // of the users; nil: none was asked for yet
}

// beside says what is wrong with a document of a GitOps agent for the others of that
// agent: errors as one fault, and warnings.
func (c *Catalog) beside(ctx context.Context, e *entity.Entity, d Draft) ([]fault.Detail, error) {
	n := c.near
	if n == nil {
		n = &neighbours{}
	}
	report := yamldoc.NewReport(d.File)
	var err error
	switch {
	case e.Cluster != nil:
		err = c.twoClusters(ctx, n, e, report)
	case e.Application != nil:
		if err = c.twoApplications(ctx, n, e, report); err == nil {
			err = c.permitted(ctx, n, e, report)
		}
	}
	if err != nil {
		return nil, err
	}
	return report.Details(), report.Err()
}

// The codes of what documents of an agent have wrong with each other.
const (
	sameServer   = "SAME_SERVER"
	sameName     = "SAME_NAME"
	notPermitted = "NOT_PERMITTED"
)

// decoded is a document that is kept, which was right when it was saved; nil: it
// isn't any more.
func (c *Catalog) decoded(kept store.Entity) *entity.Entity {
	docs, report := yamldoc.Parse("", kept.YAML)
	if len(docs) != 1 {
		return nil
	}
	o := c.Options
	o.Scope, o.Agent = kept.Key.Scope, kept.Key.Env
	return entity.Decode(docs[0], report, o)
}

// clustersOf are the clusters of an agent, as they will be.
func (c *Catalog) clustersOf(ctx context.Context, n *neighbours, agent ref.Ref) (map[string]*access.Cluster, error) {
	if found, ok := n.clusters[agent]; ok {
		return found, nil
	}
	const largest = 500
	found := map[string]*access.Cluster{}
	for page := (store.Page{Limit: largest}); ; {
		some, next, err := c.Store.ListEntities(ctx, agent.Scope, ref.GitOpsCluster, agent.ID, page)
		if err != nil {
			return nil, err
		}
		for _, kept := range some {
			if e := c.decoded(kept); e != nil && e.Cluster != nil {
				found[kept.Key.ID] = e.Cluster
			}
		}
		if next == "" {
			break
		}
		page.Token = next
	}
	for _, e := range n.set {
		if e.Cluster != nil && e.Parent == agent {
			found[e.Identifier.Value] = e.Cluster
		}
	}
	if n.clusters == nil {
		n.clusters = map[ref.Ref]map[string]*access.Cluster{}
	}
	n.clusters[agent] = found
	return found, nil
}

// twoClusters refuses a cluster whose server another one of the agent has: an
// application would be in either.
func (c *Catalog) twoClusters(ctx context.Context, n *neighbours, e *entity.Entity, report *yamldoc.Report) error {
	all, err := c.clustersOf(ctx, n, e.Parent)
	for id, other := range all {
		if id != e.Identifier.Value && other.Server == e.Cluster.Server {
			report.ErrorAt(e.Identifier.At, sameServer, "the server %s is that of the cluster %q of this agent already", e.Cluster.Server, id)
		}
	}
	return err
}

// twoApplications refuses an application whose name the agent has from another
// project: it has one name space. Agents of the project itself can have no other.
func (c *Catalog) twoApplications(ctx context.Context, n *neighbours, e *entity.Entity, report *yamldoc.Report) error {
	if e.Parent.Scope == e.Scope {
		return nil
	}
	names, ok := n.named[e.Parent]
	if !ok {
		names = map[string][]ref.Scope{}
		for k, err := range store.Naming(ctx, c.Store, store.EntityKey{Scope: e.Parent.Scope, Kind: ref.GitOpsAgent, ID: e.Parent.ID}) {
			if err != nil {
				return err
			}
			if k.Kind == ref.GitOpsApplication {
				names[k.ID] = append(names[k.ID], k.Scope)
			}
		}
		for _, other := range n.set {
			if other.Application != nil && other.Parent == e.Parent {
				names[other.Identifier.Value] = append(names[other.Identifier.Value], other.Scope)
			}
		}
		if n.named == nil {
			n.named = map[ref.Ref]map[string][]ref.Scope{}
		}
		n.named[e.Parent] = names
	}
	for _, where := range names[e.Identifier.Value] {
		if where != e.Scope {
			report.ErrorAt(e.Identifier.At, sameName, "agent %s has an application %q of another project already; names are an agent's, so this one needs another", e.Parent.ID, e.Identifier.Value)
			break
		}
	}
	return nil
}

// The cluster that every agent has without a document.
const (
	homeServer = "https://kubernetes.default.svc"
	homeName   = "in-cluster"
)

// permitted warns of what an application's project doesn't let it do, and of a
// project or a cluster that isn't there. Documents may come in any order.
func (c *Catalog) permitted(ctx context.Context, n *neighbours, e *entity.Entity, report *yamldoc.Report) error {
	spec := e.Application.Spec
	warn := func(format string, args ...any) {
		report.WarnAt(e.Identifier.At, notPermitted, format, args...)
	}
	project := &gitops.Project{Meta: gitops.Meta{Name: cmp.Or(spec.Project, "default")}}
	kept, err := c.Store.Entity(ctx, store.EntityKey{Scope: e.Parent.Scope, Kind: ref.GitOpsProject, Env: e.Parent.ID, ID: project.Meta.Name})
	switch {
	case fault.Is(err, fault.NotFound) && project.Meta.Name == "default": // which permits all
		project = nil
	case fault.Is(err, fault.NotFound):
		warn("agent %s has no project %q yet; without it this application isn't synced", e.Parent.ID, project.Meta.Name)
		return nil
	case err != nil:
		return err
	default:
		read := c.decoded(kept)
		if read == nil || read.AppProject == nil {
			return nil // which is told where it is saved
		}
		project = read.AppProject
	}
	to, err := c.destination(ctx, n, e)
	if err != nil {
		return err
	}
	if to == nil {
		warn("agent %s has no cluster %s yet; without it this application isn't synced", e.Parent.ID, cmp.Or(spec.Destination.Name, spec.Destination.Server))
	}
	if project == nil {
		return nil
	}
	r, err := rules.Read(*project)
	if err != nil {
		return nil //nolint:nilerr // it is told where the project is saved
	}
	for _, s := range spec.All() {
		if err := r.Source(s.RepoURL); err != nil {
			warn("%v; the agent refuses to sync it", err)
		}
	}
	if to == nil {
		return nil
	}
	if err := r.Destination(rules.Cluster{Server: to.Server, Name: cmp.Or(to.Name, to.Server), Own: to.Project == project.Meta.Name}, spec.Destination.Namespace); err != nil {
		warn("%v; the agent refuses to sync it", err)
	}
	return nil
}

// destination is the cluster that an application goes to; nil: there is none.
func (c *Catalog) destination(ctx context.Context, n *neighbours, e *entity.Entity) (*access.Cluster, error) {
	to := e.Application.Spec.Destination
	all, err := c.clustersOf(ctx, n, e.Parent)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if to.Server != "" && one.Server == to.Server || to.Name != "" && cmp.Or(one.Name, one.Server) == to.Name {
			return one, nil
		}
	}
	if to.Server == homeServer || to.Name == homeName {
		return &access.Cluster{Server: homeServer, Name: homeName}, nil
	}
	return nil, nil //nolint:nilnil // there is none
}
