package right

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/action"
)

// Tag is the attribute that a resource's tags are: key:value.
const Tag = "tag"

// Attributes are those by which resources of a type can be chosen, with the
// values that they can have; nil: any.
func Attributes(t action.Type) map[string][]string {
	switch t {
	case action.Connector:
		return map[string][]string{Tag: nil, "category": categories()}
	case action.Environment:
		return map[string][]string{Tag: nil, "type": {"Production", "PreProduction"}}
	case action.Pipeline, action.Service, action.Secret, "ENVIRONMENT_GROUP":
		return map[string][]string{Tag: nil}
	default:
		return nil
	}
}

// categories are those of connectors.
func categories() []string {
	return []string{"ARTIFACTORY", "CLOUD_COST", "CLOUD_PROVIDER", "CODE_REPO", "MONITORING", "SECRET_MANAGER", "TICKETING"}
}

// Category is that of a type of connectors.
func Category(connector string) string {
	switch connector {
	case "K8sCluster", "Aws", "Gcp", "Azure", "Rancher", "Spot", "Tas", "Pdc", "TerraformCloud":
		return "CLOUD_PROVIDER"
	case "DockerRegistry", "Artifactory", "Nexus", "HttpHelmRepo", "OciHelmRepo", "AzureArtifacts", "Jenkins", "Bamboo":
		return "ARTIFACTORY"
	case "Git", "Github", "Gitlab", "Bitbucket", "AzureRepo", "Codecommit":
		return "CODE_REPO"
	case "Vault", "AwsKms", "AwsSecretManager", "GcpKms", "GcpSecretManager", "AzureKeyVault", "CustomSecretManager", "Local":
		return "SECRET_MANAGER"
	case "Jira", "ServiceNow":
		return "TICKETING"
	}
	if strings.HasPrefix(connector, "CE") {
		return "CLOUD_COST"
	}
	return "MONITORING"
}
