package kubernetes

import (
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of an infrastructure definition: a cluster that the connector
// names, or one of the connector's cloud (semantics/entities §4).
const (
	direct  = "KubernetesDirect"
	amazon  = "KubernetesAws"
	google  = "KubernetesGcp"
	azure   = "KubernetesAzure"
	rancher = "KubernetesRancher"
)

// Infrastructures are the types of an infrastructure definition whose release's
// name has at most maxRelease characters.
func Infrastructures(maxRelease int) []swimlane.Infrastructure {
	var out []swimlane.Infrastructure
	for _, typ := range []string{direct, amazon, google, azure, rancher} {
		out = append(out, swimlane.Infrastructure{
			Type: typ, Key: []string{"connectorRef", "subscriptionId", "resourceGroup", "cluster", "namespace"},
			New: func(d *swimlane.Decoder, v yamldoc.Value) swimlane.Place {
				return decodeNamespace(d, v, typ, maxRelease)
			},
		})
	}
	return out
}

// Namespace is a namespace of a cluster, and the name of what is released there.
type Namespace struct {
	Type         string // of the infrastructure definition
	ConnectorRef yamldoc.Field[string]
	Namespace    yamldoc.Field[string]
	ReleaseName  yamldoc.Field[string]
	// Of a cluster that is reached through its cloud.
	Name          yamldoc.Field[string] // region/name, zone/name or name
	Subscription  yamldoc.Field[string] // Azure
	ResourceGroup yamldoc.Field[string] // Azure
	Admin         yamldoc.Field[bool]   // Azure: with the cluster's own administrator
}

func decodeNamespace(d *swimlane.Decoder, v yamldoc.Value, typ string, maxRelease int) *Namespace {
	n := &Namespace{Type: typ}
	known := document.Keys{
		"connectorRef": d.Reference(ref.Connector, &n.ConnectorRef),
		"namespace":    func(v yamldoc.Value) { n.Namespace = namespace(d, v) },
		"releaseName":  func(v yamldoc.Value) { n.ReleaseName = releaseName(d, v, maxRelease) },
	}
	if typ != direct {
		known["cluster"] = func(v yamldoc.Value) { n.Name = clusterName(d, v, typ) }
		known["metadata"] = document.Nothing // the console's
	}
	if typ == azure {
		known["subscriptionId"] = d.Text(&n.Subscription)
		known["resourceGroup"] = d.Text(&n.ResourceGroup)
		known["useClusterAdminCredentials"] = d.Flag(&n.Admin)
	}
	d.Fields(v, document.Merge(d.Common, known))
	d.Need(v, "connectorRef", "namespace", "releaseName")
	if typ != direct {
		d.Need(v, "cluster")
	}
	if typ == azure {
		d.Need(v, "subscriptionId", "resourceGroup")
	}
	return n
}

// clusterName checks a cluster's name, which has its region or zone before it
// where its cloud has those.
func clusterName(d *swimlane.Decoder, v yamldoc.Value, typ string) yamldoc.Field[string] {
	f := d.String(v)
	if f.Value == "" || typ != amazon && typ != google {
		return f
	}
	if where, name, ok := strings.Cut(f.Value, "/"); !ok || where == "" || name == "" || strings.Contains(name, "/") {
		d.Errorf(v, document.WrongValue, "found %q; want a region or a zone, and a name, such as eu-central-1/web", f.Value)
	}
	return f
}

var (
	namespaces   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`) // of 63 characters at most
	releaseNames = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)
)

func namespace(d *swimlane.Decoder, v yamldoc.Value) yamldoc.Field[string] {
	f := d.String(v)
	if f.Value != "" && (len(f.Value) > 63 || !namespaces.MatchString(f.Value)) {
		d.Errorf(v, document.BadName, "namespace %q is wrong: it may have at most 63 lower-case letters, digits and -", f.Value)
	}
	return f
}

func releaseName(d *swimlane.Decoder, v yamldoc.Value, limit int) yamldoc.Field[string] {
	f := d.String(v)
	if f.Value != "" && (len(f.Value) > limit || !releaseNames.MatchString(f.Value)) {
		d.Errorf(v, document.BadName, "release name %q is wrong: it may have at most %d lower-case letters, digits, dots and -", f.Value, limit)
	}
	return f
}

// Cluster is how the cluster is reached, and by which delegates
// (semantics/entities §4, semantics/kubernetes §2).
func (n *Namespace) Cluster(r swimlane.Reach) (task.Cluster, []string, error) {
	c, err := r.Connector(n.ConnectorRef.Value)
	if err != nil {
		return task.Cluster{}, nil, err
	}
	if n.Type == direct {
		cluster, err := c.Cluster()
		return cluster, c.Selectors, err
	}
	cloud, err := n.inCloud(c)
	return task.Cluster{Cloud: cloud}, c.Selectors, err
}

func (n *Namespace) inCloud(c connector.Connector) (*task.CloudCluster, error) {
	where, name, _ := strings.Cut(n.Name.Value, "/")
	switch n.Type {
	case amazon:
		account, err := c.AWS(where)
		return &task.CloudCluster{EKS: &task.EKS{AWS: account, Name: name}}, err
	case google:
		access, err := c.Google()
		if err != nil {
			return nil, err
		}
		return &task.CloudCluster{GKE: &task.GKE{Google: *access, Location: where, Name: name}}, nil
	case azure:
		access, err := c.Azure()
		if err != nil {
			return nil, err
		}
		return &task.CloudCluster{AKS: &task.AKS{
			Azure: *access, Subscription: n.Subscription.Value, ResourceGroup: n.ResourceGroup.Value, Name: n.Name.Value, Admin: n.Admin.Value,
		}}, nil
	case rancher:
		server, err := c.Server("Rancher")
		return &task.CloudCluster{Rancher: &task.Rancher{Server: server, Name: n.Name.Value}}, err
	}
	return nil, fault.New(fault.Unsupported, "infrastructure type %s can't be deployed to yet", n.Type)
}
