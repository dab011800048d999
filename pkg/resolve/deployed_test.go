package resolve_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// kept are documents by their kinds and identifiers, such as "secret deploy".
type kept struct {
	store.Entities

	docs map[string]string
}

func (k kept) Entity(_ context.Context, key store.EntityKey) (store.Entity, error) {
	doc, ok := k.docs[string(key.Kind)+" "+key.ID]
	if !ok {
		return store.Entity{}, fault.New(fault.NotFound, "no %s %s", key.Kind, key.ID)
	}
	return store.Entity{Key: key, YAML: []byte(string(key.Kind) + ": " + doc)}, nil
}

// deploying is a step of a stage that deploys some documents.
func deploying(t *testing.T, d plan.Deployment, docs map[string]string) *resolve.Scope {
	t.Helper()
	d.Type, d.ServiceRef, d.EnvironmentRef = "Kubernetes", "shop", "dev"
	for doc, otherwise := range map[**yamldoc.Node]string{&d.Environment: environmentYAML, &d.Infrastructure: infrastructureYAML} {
		if *doc == nil {
			*doc = parse(t, otherwise)
		}
	}
	p, err := planning.Build(planning.Source{Pipeline: pipelineOf(t, pipelineYAML), Deployments: map[string]*plan.Deployment{"deploy": &d}})
	if err != nil {
		t.Fatal(err)
	}
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node("pipeline.stages.deploy.spec.execution.steps.roll"), Entities: kept{docs: docs},
		Now: time.Unix(1000, 0), State: func(plan.NodeID) plan.State { return plan.State{} },
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
	})
}

// service is a service's document, given what its definition holds.
func service(t *testing.T, format string, args ...any) *yamldoc.Node {
	t.Helper()
	return parse(t, "{identifier: shop, name: Shop, serviceDefinition: {type: Kubernetes, spec: {"+fmt.Sprintf(format, args...)+"}}}")
}

// says compares what a text comes to, or a part of the error.
func says(t *testing.T, s *resolve.Scope, text, want string) {
	t.Helper()
	got, err := s.Text(text)
	if err != nil {
		got = "error: " + err.Error()
	}
	if got != want && (err == nil || !strings.HasPrefix(want, "error: ") || !strings.Contains(got, strings.TrimPrefix(want, "error: "))) {
		t.Errorf("%s\n got %s\nwant %s", text, got, want)
	}
}

// semantics/entities §8: what wins, of the service, of the environment and of
// overrides.
func TestTheLastLayerWins(t *testing.T) {
	t.Parallel()
	files := func(name, content string) string {
		return "configFiles: [{configFile: {identifier: " + name + ", spec: {store: {type: Inline, spec: {content: " + content + "}}}}}]"
	}
	override := func(typ, name string) plan.Override {
		return plan.Override{Type: typ, Doc: parse(t, fmt.Sprintf("{variables: [{name: %s, type: String, value: %s}], %s}", name, typ, files(name, typ)))}
	}
	types := entity.OverrideTypes()
	s := deploying(t, plan.Deployment{
		Service: service(t, "variables: [{name: a, type: String, value: service}, {name: b, type: String, value: service}], %s", files("a", "service")),
		Environment: parse(t, `{identifier: dev, name: Dev, type: Production, variables: [{name: b, type: String, value: environment}, {name: c, type: String, value: environment}],
			overrides: {`+files("b", "environment")+`}}`),
		Overrides: []plan.Override{override(types[0], "c"), override(types[1], "d"), override(types[2], "d"), override(types[3], "e"), override(types[0], "f")},
	}, nil)
	for text, want := range map[string]string{
		"<+serviceVariables.a>":                   "service",
		"<+serviceVariables.b>":                   "environment",
		"<+serviceVariables.c>":                   "ENV_GLOBAL_OVERRIDE",
		"<+serviceVariables.d>":                   "INFRA_GLOBAL_OVERRIDE",
		"<+serviceVariables.e>":                   "INFRA_SERVICE_OVERRIDE",
		"<+serviceVariables.none>":                `error: the service has no variable "none"`,
		"<+<+serviceVariables>.d>":                "INFRA_GLOBAL_OVERRIDE",
		"<+serviceVariableOverrides.e>":           "INFRA_SERVICE_OVERRIDE",
		`<+configFile.getAsString("a")>`:          "service",
		`<+configFile.getAsString("b")>`:          "environment",
		`<+configFile.getAsString("c")>`:          "ENV_GLOBAL_OVERRIDE",
		`<+configFile.getAsString("d")>`:          "INFRA_GLOBAL_OVERRIDE",
		`<+configFile.getAsString("none")>`:       `error: there is no config file "none"`,
		"<+env.variables.b>":                      "environment",
		"<+env.variables.c>":                      "ENV_GLOBAL_OVERRIDE",
		"<+env.variables.f>":                      "ENV_GLOBAL_OVERRIDE",
		"<+env.variables.e>":                      `error: there is no "e" in this list`,
		"<+serviceConfig.serviceDefinition.type>": "Kubernetes",
	} {
		says(t, s, text, want)
	}
}

// semantics/entities §2.2: which source is the primary one, and what it says.
func TestThePrimaryArtifact(t *testing.T) {
	t.Parallel()
	const (
		image = `{identifier: %s, name: The %[1]s, type: DockerRegistry, spec: {connectorRef: hub, imagePath: acme/%[1]s, tag: %s}}`
		one   = `{type: DockerRegistry, spec: {connectorRef: hub, imagePath: acme/old, tag: 1.10}}`
	)
	list := "[" + fmt.Sprintf(image, "web", "1.10") + ", " + fmt.Sprintf(image, "dev", "<+env.name>") + "]"
	for name, tt := range map[string]struct{ artifacts, text, want string }{
		"none":                           {"", "<+artifact.image>", "null"},
		"none, as a list":                {"primary: {sources: []}", "<+artifact.tag>", "null"},
		"the only one":                   {"primary: {sources: [" + fmt.Sprintf(image, "web", `"7"`) + "]}", "<+artifact.image>", "index.docker.io/acme/web:7"},
		"one by its identifier":          {"primary: {primaryArtifactRef: dev, sources: " + list + "}", "<+artifact.image>", "index.docker.io/acme/dev:Dev"},
		"one by its name":                {"primary: {primaryArtifactRef: The web, sources: " + list + "}", "<+artifact.imagePath>", "acme/web"},
		"one by an expression":           {"primary: {primaryArtifactRef: <+pipeline.variables.env>, sources: " + list + "}", "<+artifact.identifier>", "dev"},
		"one that isn't there":           {"primary: {primaryArtifactRef: none, sources: " + list + "}", "<+artifact.tag>", `error: the service has no artifact source "none"`},
		"several, and none is named":     {"primary: {sources: " + list + "}", "<+artifact.tag>", "error: primary artifact source not selected: the service has 2 and no primaryArtifactRef"},
		"the older form":                 {"primary: " + one, "<+artifact.imagePath> <+artifact.type> <+artifact.primaryArtifact>", "acme/old DockerRegistry true"},
		"a tag is a text":                {"primary: " + one, "<+artifact.tag> <+artifact.image>", "1.10 index.docker.io/acme/old:1.10"},
		"a key that its type hasn't":     {"primary: " + one, "<+artifact.bucketName> <+artifact.metadata.key>", "null null"},
		"a name that no artifact has":    {"primary: " + one, "<+artifact.nope>", `error: the artifact has no "nope"`},
		"a sidecar":                      {"sidecars: [{sidecar: " + fmt.Sprintf(image, "proxy", "1.10") + "}]", "<+artifacts.sidecars.proxy.tag> <+artifacts.sidecars.proxy.type> <+artifacts.sidecars.proxy.primaryArtifact>", "1.10 DockerRegistry false"},
		"a sidecar that isn't there":     {"sidecars: []", "<+artifacts.sidecars.proxy.tag>", `error: the service has no sidecar artifact "proxy"`},
		"a sidecar without a field":      {"sidecars: []", "<+artifacts.sidecars.proxy>", "error: a sidecar needs its identifier and a field"},
		"a part that artifacts have not": {"sidecars: []", "<+artifacts.others.a>", "error: artifacts has primary and sidecars; found artifacts.others.a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := deploying(t, plan.Deployment{Service: service(t, "artifacts: {%s}", tt.artifacts)}, map[string]string{"connector hub": strings.TrimPrefix(strings.TrimSpace(hubYAML), "connector:")})
			says(t, s, tt.text, tt.want)
		})
	}
}

// The newest versions of each source can be asked for, of the older form too.
func TestVersionsOfASource(t *testing.T) {
	t.Parallel()
	docs := map[string]string{"connector hub": strings.TrimPrefix(strings.TrimSpace(hubYAML), "connector:")}
	const spec = `type: DockerRegistry, spec: {connectorRef: hub, imagePath: acme/%s, tag: <+lastPublished.tag>, digest: x}`
	for artifacts, want := range map[string]string{
		"primary: {sources: [{identifier: a, " + fmt.Sprintf(spec, "a") + "}]}":      "a=acme/a",
		"primary: {identifier: a, " + fmt.Sprintf(spec, "old") + "}":                 "a=acme/old",
		"sidecars: [{sidecar: {identifier: a, " + fmt.Sprintf(spec, "proxy") + "}}]": "a=acme/proxy",
		"primary: {" + fmt.Sprintf(spec, "old") + "}":                                `error: the service has no artifact source or sidecar "a"`,
		"primary: {sources: [{identifier: a, type: Bamboo, spec: {}}]}":              "error: artifact sources of type Bamboo can't be resolved yet",
		"": `error: the service has no artifact source or sidecar "a"`,
	} {
		a, err := deploying(t, plan.Deployment{Service: service(t, "artifacts: {%s}", artifacts)}, docs).ArtifactVersions("a", 5)
		got := ""
		switch {
		case err != nil:
			got = "error: " + err.Error()
		case a.Task.Choice.List != 5 || a.Task.Choice.Version+a.Task.Choice.Pattern != "":
			got = fmt.Sprintf("a choice: %+v", a.Task.Choice)
		default:
			got = "a=" + a.Task.Registry.Repository
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", artifacts, got, want)
		}
	}
}

// semantics/pipeline §2.1: a value of a runtime input that is an expression is
// checked once it is resolved.
func TestAnInputIsCheckedWhenItIsResolved(t *testing.T) {
	t.Parallel()
	for must, want := range map[string]string{
		"": "dev", "<+input>": "dev", "<+input>.allowedValues(web,<+pipeline.variables.env>)": "dev", "<+input>.regex(d.v)": "dev",
		"<+input>.allowedValues(web,prod)": "error: the value of <+input>.allowedValues(web,prod)", "<+input>.regex(x+)": "error: the value of <+input>.regex(x+)",
	} {
		doc := service(t, `artifacts: {primary: {primaryArtifactRef: <+pipeline.variables.env>, sources: [{identifier: dev, type: DockerRegistry, spec: {connectorRef: hub, imagePath: x, tag: "1"}}]}}`)
		doc.At("serviceDefinition", "spec", "artifacts", "primary", "primaryArtifactRef").Must = must
		says(t, deploying(t, plan.Deployment{Service: doc}, nil), "<+artifact.identifier>", want)
	}
}

// semantics/pipeline §3.6: names of the place that is deployed to.
func TestNamesOfAPlace(t *testing.T) {
	t.Parallel()
	s := deploying(t, plan.Deployment{
		Service: service(t, "variables: []"), Group: &plan.Group{Ref: "org.west", Name: "West"},
		Infrastructure: parse(t, `{identifier: local, name: Local, description: here, tags: {rack: "7"}, type: KubernetesDirect, spec: {connectorRef: cluster, namespace: n, releaseName: r}}`),
	}, map[string]string{"connector cluster": `{identifier: cluster, name: The cluster, description: ours, tags: {zone: a}, type: K8sCluster, spec: {credential: {type: InheritFromDelegate}}}`})
	for text, want := range map[string]string{
		"<+infra.name> <+infra.description> <+infra.tags.rack>":                   "Local here 7",
		"<+infra.identifier> <+infra.infraIdentifier>":                            "local local",
		"<+infra.namespace> <+infra.kubernetes.releaseName>":                      "n r",
		"<+infra.connector> <+infra.connectorRef>":                                "cluster cluster",
		"<+infra.connector.name> <+infra.connector.type>":                         "The cluster K8sCluster",
		"<+infra.connector.identifier> <+infra.connector.description>":            "cluster ours",
		"<+infra.connector.tags.zone>":                                            "a",
		"<+infra.connector.spec>":                                                 "error: a connector has identifier, name, description, type and tags here",
		"<+infra.region>":                                                         `error: the infrastructure has no "region"`,
		"<+env.envGroupName> <+env.envGroupRef>":                                  "West org.west",
		"<+infrastructure.output.environment.name>":                               "Dev",
		"<+env.provisioner>":                                                      "error: the stage has no env.provisioner",
		"<+provisioner.x>":                                                        "error: there is no provisioner in this stage",
		"<+manifests.a.type>":                                                     "error: the service has no manifests",
		"<+manifestConfig.primaryManifestId> <+manifestConfig.primaryManifestId>": "null null",
		"<+manifestConfig.others>":                                                "error: manifestConfig has primaryManifestId alone",
	} {
		says(t, s, text, want)
	}
	other := deploying(t, plan.Deployment{Service: service(t, "variables: []"), Infrastructure: parse(t, `{identifier: i, type: ECS, spec: {}}`)}, nil)
	says(t, other, "<+INFRA_KEY>", "error: the infrastructure has the type ECS, which the deployment type Kubernetes hasn't")
	if _, err := other.Deployment(); err == nil || !strings.Contains(err.Error(), "infrastructure type ECS can't be deployed to by stages of the deployment type Kubernetes") {
		t.Errorf("deployed to it: %v", err)
	}
}

// semantics/pipeline §3.6: what a manifest says.
func TestNamesOfAManifest(t *testing.T) {
	t.Parallel()
	s := deploying(t, plan.Deployment{Service: service(t, `manifestConfigurations: {primaryManifestRef: b}, manifests: [
		{manifest: {identifier: a, type: HelmChart, spec: {store: {type: Http, spec: {connectorRef: c}}, chartName: web, subChartPath: sub}}},
		{manifest: {identifier: b, type: HelmChart, spec: {store: {type: OciHelmChart, spec: {config: {type: Generic, spec: {connectorRef: c}}, basePath: /x}}, chartName: "<+env.name>", valuesPaths: [v.yaml]}}}]`)}, nil)
	for text, want := range map[string]string{
		"<+manifests.a.identifier> <+manifests.a.type> <+manifests.a.store>": "a HelmChart Http",
		"<+manifests.b.store> <+manifest.b.chartName>":                       "OciHelmChart Dev",
		"<+manifests.b.valuesPaths>":                                         `["v.yaml"]`,
		"<+manifests.c.type>":                                                `error: the service has no manifest "c"`,
		"<+manifests.a.helm.name>":                                           "error: what the chart of manifest a says of itself isn't known",
		"<+manifestConfig.primaryManifestId>":                                "b",
	} {
		says(t, s, text, want)
	}
}

// semantics/entities §10: how a key for SSH logs in.
func TestKeysForSSH(t *testing.T) {
	t.Parallel()
	const key = `{identifier: k, name: k, type: SSHKey, spec: {%s auth: {type: SSH, spec: {credentialType: KeyReference, spec: {userName: ann, key: %s}}}}}`
	docs := map[string]string{
		"secret plain": fmt.Sprintf(key, "", "account.rsa"),
		"secret port":  fmt.Sprintf(key, "port: 2222,", "rsa, encryptedPassphrase: pass"),
		"secret wrong": fmt.Sprintf(key, "port: x,", "rsa"),
		"secret text":  `{identifier: text, name: text, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline}}`,
		"secret empty": `[]`,
	}
	for name, want := range map[string]string{
		"plain": "ann 22 secret:acme:rsa ", "port": "ann 2222 secret:acme/default/web:rsa secret:acme/default/web:pass",
		"wrong": `error: the port of secret "wrong" is "x"; want a number`, "text": `error: secret "text" is of type SecretText; want SSHKey`,
		"none": `error: secret "none" isn't in acme/default/web`, "empty": `error: secret "empty" has no document`, "a b": `error: secret "a b": `,
	} {
		s := deploying(t, plan.Deployment{Service: service(t, "variables: []")}, docs)
		got, err := s.SSHKey(name)
		text := "error: " + fmt.Sprint(err)
		if err == nil {
			text = fmt.Sprintf("%s %d %s %s", got.User, got.Port, s.Secrets()[got.Key], s.Secrets()[got.Passphrase])
		}
		if text != want && (err == nil || !strings.HasPrefix(text, want)) {
			t.Errorf("%s\n got %s\nwant %s", name, text, want)
		}
	}
}
