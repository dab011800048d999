package resolve

import (
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// prober fills in how connectors of one type are tested. The document is
// resolved.
type prober func(p *probing) error

// probers has that of each type of connector that there is.
func probers() map[string]prober {
	return map[string]prober{
		"Artifactory":              probeArtifactory,
		"Aws":                      probeAWS,
		"Azure":                    probeAzure,
		"AzureRepo":                probeGit,
		"Bamboo":                   probeBamboo,
		"Bitbucket":                probeGit,
		"DockerRegistry":           probeDockerRegistry,
		"Gcp":                      probeGoogle,
		"Git":                      probeGit,
		"Github":                   probeGit,
		"Gitlab":                   probeGit,
		"HttpHelmRepo":             probeChartRepository,
		"Jenkins":                  probeJenkins,
		"Jira":                     probeJira,
		"K8sCluster":               probeCluster,
		"Nexus":                    probeNexus,
		"OciHelmRepo":              probeChartRegistry,
		"Rancher":                  probeRancher,
		"ServiceNow":               probeServiceNow,
		entity.AWSSecretManager:    probeAWSSecrets,
		entity.CustomSecretManager: probeCustomSecrets,
		entity.VaultManager:        probeVault,
	}
}

// probing is a test in the making.
type probing struct {
	*Scope

	name ref.Ref       // of the connector
	doc  *yamldoc.Node // below its root key
	spec *yamldoc.Node // the document's
	out  task.Probe
	// selectors are those that are needed besides the connector's.
	selectors []string
}

// Probe resolves how a connector is tested (semantics/entities §9): one by its
// reference, or one that isn't saved by its document.
func (s *Scope) Probe(name, document string) (step.Probe, error) {
	p := probing{Scope: s}
	var err error
	if document != "" {
		err = p.read(document)
	} else {
		err = p.find(name)
	}
	if err != nil {
		return step.Probe{}, err
	}
	typ := text(p.doc.Get("type"))
	fill, ok := probers()[typ]
	if !ok {
		return step.Probe{}, fault.New(fault.Unsupported, "connectors of type %s can't be tested yet", typ)
	}
	p.out.Connector, p.spec = typ+" "+p.name.Text(s.Execution.Scope), p.doc.Get("spec")
	if err := fill(&p); err != nil {
		return step.Probe{}, fault.New(fault.CodeOf(err), "connector %s: %w", p.name.Text(s.Execution.Scope), err)
	}
	return step.Probe{Task: p.out, Selectors: append(words(p.spec.Get("delegateSelectors")), p.selectors...)}, nil
}

// find reads a saved connector.
func (p *probing) find(name string) (err error) {
	if p.name, err = ref.Parse(name, p.Execution.Scope); err != nil {
		return fault.New(fault.Invalid, "connector %q: %w", name, err)
	}
	p.doc, err = p.connector(&yamldoc.Node{Kind: yamldoc.Scalar, Value: name}, p.Execution.Scope)
	return err
}

// read takes a connector as it would be saved in the execution's scope.
func (p *probing) read(document string) error {
	docs, report := yamldoc.Parse("connector", []byte(document))
	if err := report.Err(); err != nil {
		return err
	}
	if len(docs) != 1 || docs[0].Get("connector") == nil {
		return fault.New(fault.Invalid, "found no connector; want one document whose root key is connector")
	}
	entity.Qualify(docs[0], p.Execution.Scope, nil)
	doc, err := p.tree(docs[0].Get("connector"), "connector")
	p.doc, p.name = doc, ref.Ref{Scope: p.Execution.Scope, ID: text(doc.Get("identifier"))}
	return err
}
