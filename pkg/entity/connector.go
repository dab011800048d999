package entity

import (
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Connector is a connector's document (semantics/entities §9). Its type says
// what its spec is.
type Connector struct {
	Type    yamldoc.Field[string]
	SpecDoc *yamldoc.Node // the spec, as it stands
	connector.Decoded
}

// otherConnectors are the types that Harness has besides those that there are.
func (d settings) otherConnectors() []string {
	return without(harnessConnectors(), d.options.Connectors.Names())
}

// harnessConnectors are types of connectors of Harness's that are refused.
func harnessConnectors() []string {
	return []string{
		"Codecommit",
		"AzureArtifacts", "Pdc", "Tas", "TerraformCloud", "AwsKms",
		"GcpKms", "GcpSecretManager", "AzureKeyVault", "Local", "Prometheus",
		"Datadog", "NewRelic", "Dynatrace", "AppDynamics", "Splunk", "SumoLogic", "ElasticSearch", "CustomHealth", "PagerDuty",
		"JDBC", "CEAws", "CEAzure", "GcpCloudCost", "CEK8sCluster", "SignalFX", "Salesforce",
	}
}

func (d settings) connector(v yamldoc.Value, e *Entity) *Connector {
	c := &Connector{}
	typ, known := d.options.Connectors.Of(document.Peek(v, "type"))
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"type": d.Supported(&c.Type, "connector type", d.options.Connectors.Names(), d.otherConnectors()...),
		"spec": func(v yamldoc.Value) {
			if c.SpecDoc = v.Node; known {
				c.Decoded = typ.Decode(d.connectors(), v)
			}
		},
	}))
	d.Need(v, "identifier", "name", "type", "spec")
	return c
}

// connectors makes a decoder of what is a connector type's.
func (d settings) connectors() connector.Decoder {
	return connector.Decoder{
		Decoder: d.Decoder,
		Link: func(name, label *yamldoc.Field[string], more document.Keys) document.Rule {
			return func(v yamldoc.Value) {
				var t TemplateRef
				services(d).customRef(&t, more)(v)
				*name, *label = t.Name, t.Label
			}
		},
		Own: func(v yamldoc.Value, f ref.File) {
			if d.shared() {
				d.stored = append(d.stored, FileReference{File: f, Text: v.Node.Value, At: v.Pos(d.Report)})
			}
		},
	}
}

// managerTemplate decodes the body of a secret manager's template.
func (d settings) managerTemplate(v yamldoc.Value) {
	if t, ok := d.options.Connectors.Templated(); ok {
		of := d.connectors()
		of.Common = d.unnamed()
		t.Template(&of, v)
	}
}
