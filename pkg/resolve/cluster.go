package resolve

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// infrastructureCluster is how the cluster of a resolved infrastructure
// definition is reached: as its connector says, or through the connector's
// cloud (semantics/entities §4, semantics/kubernetes §2).
func (s *Scope) infrastructureCluster(infra, connector *yamldoc.Node) (task.Cluster, error) {
	typ, spec := text(infra.Get("type")), infra.Get("spec")
	if typ == "KubernetesDirect" {
		return s.cluster(connector)
	}
	cloud, err := s.cloudCluster(typ, spec, connector)
	if err != nil {
		return task.Cluster{}, err
	}
	return task.Cluster{Cloud: cloud}, nil
}

func (s *Scope) cloudCluster(typ string, spec, connector *yamldoc.Node) (*task.CloudCluster, error) {
	cluster := text(spec.Get("cluster"))
	where, name, found := strings.Cut(cluster, "/")
	if (typ == "KubernetesAws" || typ == "KubernetesGcp") && (!found || where == "" || name == "") {
		return nil, fault.New(fault.Invalid, "the cluster is %q; want a region or a zone, and a name, such as eu-central-1/web", cluster)
	}
	switch typ {
	case "KubernetesAws":
		account, _, err := s.AWS(spec.Get("connectorRef"), where)
		return &task.CloudCluster{EKS: &task.EKS{AWS: account, Name: name}}, err
	case "KubernetesGcp":
		access, err := s.google(connector)
		if err != nil {
			return nil, err
		}
		return &task.CloudCluster{GKE: &task.GKE{Google: *access, Location: where, Name: name}}, nil
	case "KubernetesAzure":
		access, err := s.azure(connector)
		if err != nil {
			return nil, err
		}
		return &task.CloudCluster{AKS: &task.AKS{
			Azure: *access, Subscription: text(spec.Get("subscriptionId")), ResourceGroup: text(spec.Get("resourceGroup")), Name: cluster,
			Admin: isTrue(spec.Get("useClusterAdminCredentials")),
		}}, nil
	case "KubernetesRancher":
		if err := wantConnector(connector, "Rancher"); err != nil {
			return nil, err
		}
		at := connector.At("spec", "credential", "spec")
		token, err := s.secretAt(at.At("auth", "spec", "passwordRef"))
		server := task.Server{URL: text(at.Get("rancherUrl")), Auth: task.AuthBearer, Token: token}
		return &task.CloudCluster{Rancher: &task.Rancher{Server: server, Name: cluster}}, err
	}
	return nil, fault.New(fault.Unsupported, "infrastructure type %s can't be deployed to yet", typ)
}
