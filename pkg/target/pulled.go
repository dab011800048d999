package target

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// laneOf is the name of the lane that a stage is of.
func (r *Reader) laneOf(d *entity.Deployment) string {
	if lane, ok := r.Lanes.Pulled(); ok && d.GitOps {
		return lane.Type
	}
	return d.Type.Text
}

// pulled fills in what a stage with gitOpsEnabled deploys where: its clusters are
// its infrastructure (semantics/gitops §17).
func (r *Reader) pulled(ctx context.Context, d *plan.Deployment, c plan.Choice, service, environment *entity.Entity) error {
	lane, ok := r.Lanes.Pulled()
	if !ok {
		return fault.New(fault.Unsupported, "GitOps deployments aren't supported here")
	}
	if typ := service.Service.Type.Text; typ != c.GitOps.Service {
		return fault.New(fault.Invalid, "the stage deploys %s, but service %s is of type %s", c.GitOps.Service, d.ServiceRef, typ)
	}
	clusters, err := r.linked(c, environment)
	if err != nil {
		return err
	}
	for i := range clusters {
		if err := r.place(ctx, &clusters[i]); err != nil {
			return err
		}
	}
	d.Type, d.Service, d.Environment = lane.Type, service.Doc, environment.Doc
	if d.Overrides, err = r.overrides(ctx, c); err != nil {
		return err
	}
	d.Infrastructure, err = infrastructureOf(lane.Type, c.Environment.Ref, clusters)
	return err
}

// linked are the clusters that a choice is about, of those that are linked to its
// environment.
func (r *Reader) linked(c plan.Choice, environment *entity.Entity) ([]plan.Cluster, error) {
	var all []plan.Cluster
	for _, one := range environment.Environment.Clusters {
		all = append(all, plan.Cluster{Identifier: one.Identifier.Text, Agent: one.Agent.Text})
	}
	if len(all) == 0 {
		return nil, fault.New(fault.Invalid, "no GitOps cluster is linked to environment %s; link some by its gitOpsClusters", c.Environment.Ref)
	}
	if c.GitOps.All {
		return all, nil
	}
	var out []plan.Cluster
	for _, want := range c.GitOps.Clusters {
		found := slices.DeleteFunc(slices.Clone(all), func(o plan.Cluster) bool {
			return o.Identifier != want.Identifier || want.Agent != "" && !r.sameAgent(o.Agent, want.Agent)
		})
		switch {
		case len(found) == 0:
			return nil, fault.New(fault.Invalid, "cluster %s isn't linked to environment %s; it has %s", named(want), c.Environment.Ref, names(all))
		case len(found) > 1:
			return nil, fault.New(fault.Invalid, "environment %s has %s; say by agentIdentifier which one is meant", c.Environment.Ref, names(found))
		case !slices.Contains(out, found[0]):
			out = append(out, found[0])
		}
	}
	return out, nil
}

// The cluster that an agent is in itself, which needs no document.
const (
	ownCluster = "incluster"
	ownName    = "in-cluster"
	ownServer  = "https://kubernetes.default.svc"
)

// place says where a cluster is, as its agent's document of it does.
func (r *Reader) place(ctx context.Context, c *plan.Cluster) error {
	read, err := r.cluster(ctx, *c)
	if err != nil {
		return err
	}
	if read == nil {
		c.Name, c.Server = ownName, ownServer
		return nil
	}
	c.Server, c.Name = read.Cluster.Server, cmp.Or(read.Cluster.Name, read.Cluster.Server)
	return nil
}

// cluster reads its agent's document of a cluster; nil: it is the agent's own, which
// has none.
func (r *Reader) cluster(ctx context.Context, c plan.Cluster) (*entity.Entity, error) {
	agent, err := ref.Parse(c.Agent, r.Scope)
	if err != nil {
		return nil, fault.New(fault.Invalid, "agentIdentifier %w", err)
	}
	_, id, scoped := strings.Cut(c.Identifier, ".") // of the agent's scope
	if !scoped {
		id = c.Identifier
	}
	e, err := r.Entities.Entity(ctx, store.EntityKey{Scope: agent.Scope, Kind: ref.GitOpsCluster, Env: agent.ID, ID: id})
	if fault.Is(err, fault.NotFound) {
		if id != ownCluster {
			return nil, fault.New(fault.Invalid, "agent %s has no cluster %s; want the identifier of one of its documents gitopsCluster, or %s", c.Agent, c.Identifier, ownCluster)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	docs, report := yamldoc.Parse(e.Key.Describe(), e.YAML)
	if len(docs) == 1 {
		read := entity.Decode(docs[0], report, entity.Options{Scope: e.Key.Scope, Agent: e.Key.Env, Types: r.Types})
		if read != nil && read.Cluster != nil {
			return read, nil
		}
	}
	return nil, fault.New(fault.Internal, "%s can't be read any more: %v", e.Key.Describe(), report.Err())
}

// sameAgent says whether two references mean one agent.
func (r *Reader) sameAgent(a, b string) bool {
	one, errOne := ref.Parse(a, r.Scope)
	other, errOther := ref.Parse(b, r.Scope)
	return errOne == nil && errOther == nil && one == other
}

func named(c plan.Cluster) string {
	if c.Agent == "" {
		return c.Identifier
	}
	return c.Identifier + " of agent " + c.Agent
}

func names(list []plan.Cluster) string {
	var all []string
	for _, c := range list {
		all = append(all, named(c))
	}
	return strings.Join(all, ", ")
}

// infrastructureOf is what stands for an infrastructure definition.
func infrastructureOf(lane, environment string, clusters []plan.Cluster) (*yamldoc.Node, error) {
	type spec struct {
		Clusters []plan.Cluster `json:"clusters"`
	}
	text, err := json.Marshal(struct {
		Identifier     string `json:"identifier"`
		Name           string `json:"name"`
		EnvironmentRef string `json:"environmentRef"`
		DeploymentType string `json:"deploymentType"`
		Type           string `json:"type"`
		Spec           spec   `json:"spec"`
	}{"gitops", names(clusters), environment, lane, lane, spec{clusters}})
	if err != nil {
		return nil, fmt.Errorf("encode the clusters of a stage: %w", err)
	}
	docs, report := yamldoc.Parse("", text)
	if err := report.Err(); err != nil {
		return nil, err
	}
	return docs[0], nil
}

// clusters gives the names in a choice of clusters their values.
func (s *Stage) clusters(c *plan.Choice) error {
	for _, p := range []struct {
		what string
		ref  *string
	}{{"serviceRef", &c.Service.Ref}, {"environmentRef", &c.Environment.Ref}} {
		var err error
		if *p.ref, err = s.name(*p.ref); err != nil {
			return fault.Wrap(err, "%s", p.what)
		}
	}
	chosen := *c.GitOps
	chosen.Clusters = slices.Clone(chosen.Clusters)
	for i := range chosen.Clusters {
		one := &chosen.Clusters[i]
		var err error
		if one.Identifier, err = s.name(one.Identifier); err != nil {
			return fault.Wrap(err, "the cluster's identifier")
		}
		if one.Agent != "" {
			if one.Agent, err = s.name(one.Agent); err != nil {
				return fault.Wrap(err, "the cluster's agentIdentifier")
			}
		}
	}
	c.GitOps = &chosen
	return nil
}

func noCluster() error {
	return fault.New(fault.Invalid, "no GitOps cluster matched: the stage has nothing to deploy to")
}

// narrow gives the names in a choice of clusters their values, and leaves out those
// clusters that don't pass the filters about them; false: none is left.
func (x *expansion) narrow(c *plan.Choice, filters []entity.Filter) (bool, error) {
	if err := x.clusters(c); err != nil {
		return false, err
	}
	if filters = about("gitOpsClusters", filters); len(filters) == 0 {
		return true, nil
	}
	environment, err := x.doc(ref.Environment, c.Environment.Ref, "")
	if err != nil {
		return false, err
	}
	all, err := x.linked(*c, environment)
	if err != nil {
		return false, err
	}
	c.GitOps.All, c.GitOps.Clusters = false, nil
	for _, one := range all {
		doc, err := x.cluster(x.ctx, one)
		if err != nil {
			return false, err
		}
		if doc == nil {
			doc = &entity.Entity{} // without tags
		}
		passes, err := x.passes(filters, doc, x.serviceOf(c.Service))
		if err != nil {
			return false, err
		}
		if passes {
			c.GitOps.Clusters = append(c.GitOps.Clusters, one)
		}
	}
	return len(c.GitOps.Clusters) > 0, nil
}
