package entity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// meantStep is meant of step types. It asks about the nearest few alone:
// decoding a spec is how one knows that a type is there.
func (d *decoder) meantStep(word, stage string) string {
	const few = 3
	names := slices.Clone(splitSteps())
	for range few {
		near := yamldoc.Nearest(word, names)
		switch {
		case near == "" || d.Hint(word, names) == "":
			return ""
		case d.options.Steps.Check(near, &yamldoc.Node{Kind: yamldoc.Mapping}, stage, yamldoc.NewReport("")):
			return d.Hint(word, []string{near})
		case strings.EqualFold(near, word):
			return fmt.Sprintf("; %s isn't supported", near)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == near })
	}
	return ""
}

// why says why a word is refused and what can be done instead; empty if there
// is no more to say than the words that can be written.
func why(what, word string) string {
	switch what {
	case "stage type":
		return whyNoStage(word)
	case "deployment type":
		return "there is no deployer for it; a deployment template (" + deployCustom + ") can deploy with scripts to anything"
	case "infrastructure type":
		if word == "GitOps" {
			return "clusters of GitOps agents are linked to an environment by its gitOpsClusters, without a definition"
		}
		return "it is of a deployment type that isn't supported"
	case "manifest type":
		return "it is of a deployment type that isn't supported"
	case "artifact type":
		return "nothing here asks such a registry; the script of a CustomArtifact can list versions"
	case "connector type":
		return whyNoConnector(word)
	}
	return ""
}

func whyNoStage(word string) string {
	switch word {
	case stageCI:
		return "Slipway deploys what others have built; let the end of the build start the pipeline, see docs/triggers.md"
	case "Dynamic":
		return "a pipeline's steps are known before it runs"
	}
	return "it belongs to another product of Harness's"
}

// whyNoConnector says what nothing uses a type of connector for.
func whyNoConnector(word string) string {
	groups := []struct {
		reason string
		types  []string
	}{
		{
			"secrets are kept by Slipway, AWS Secrets Manager, Vault or a CustomSecretManager",
			[]string{"AwsKms", "GcpKms", "GcpSecretManager", "AzureKeyVault", "Local"},
		},
		{
			"nothing verifies deployments by what others measure",
			[]string{
				"Prometheus", "Datadog", "NewRelic", "Dynatrace", "AppDynamics", "Splunk", "SumoLogic", "ElasticSearch", "CustomHealth",
				"PagerDuty", "SignalFX",
			},
		},
		{"it belongs to another product of Harness's", []string{"CEAws", "CEAzure", "GcpCloudCost", "CEK8sCluster", "JDBC"}},
		{"it is of a deployment type that isn't supported", []string{"Pdc", "Tas", "Salesforce"}},
		{"a connector of the type Git reaches the same repositories", []string{"Codecommit"}},
		{"the script of a CustomArtifact can list versions", []string{"AzureArtifacts"}},
		{"no step runs Terraform yet", []string{"TerraformCloud"}},
	}
	for _, g := range groups {
		if slices.Contains(g.types, word) {
			return g.reason
		}
	}
	return ""
}
