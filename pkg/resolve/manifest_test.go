package resolve_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// chartEntities serves a cluster, a Git host and repositories of charts.
type chartEntities struct{ store.Entities }

func (chartEntities) Entity(_ context.Context, k store.EntityKey) (store.Entity, error) {
	docs := map[string]string{
		"cluster": "{identifier: cluster, type: K8sCluster, spec: {credential: {type: InheritFromDelegate}}}",
		"git":     "{identifier: git, type: Git, spec: {url: 'https://git.example.com/r', connectionType: Repo, type: Http, spec: {username: me, passwordRef: p}}}",
		"azure":   "{identifier: azure, type: AzureRepo, spec: {url: 'https://dev.azure.com/o/p', type: Project, authentication: {type: Http, spec: {type: UsernameToken, spec: {username: me, tokenRef: p}}}}}",
		"aws":     "{identifier: aws, type: Aws, spec: {credential: {type: ManualConfig, region: us-east-1, spec: {accessKey: AK, secretKeyRef: p}}}}",
		"other":   "{identifier: other, type: Aws, spec: {credential: {type: InheritFromDelegate}}}",
		"gcp":     "{identifier: gcp, type: Gcp, spec: {credential: {type: InheritFromDelegate}}}",
		"http":    "{identifier: http, type: HttpHelmRepo, spec: {helmRepoUrl: 'https://charts.example.com/', auth: {type: Anonymous}}}",
		"mirror":  "{identifier: mirror, type: HttpHelmRepo, spec: {helmRepoUrl: 'https://mirror.example.com', auth: {type: UsernamePassword, spec: {username: me, passwordRef: p}}}}",
		"oci":     "{identifier: oci, type: OciHelmRepo, spec: {helmRepoUrl: registry.example.com, auth: {type: Anonymous}}}",
	}
	doc, ok := docs[k.ID]
	if !ok {
		return store.Entity{}, fault.New(fault.NotFound, "no %s", k.ID)
	}
	return store.Entity{Key: k, YAML: []byte("connector: " + doc)}, nil
}

func withManifests(tb testing.TB, service, environment string, overrides ...plan.Override) *resolve.Scope {
	tb.Helper()
	p, err := planning.Build(planning.Source{
		Pipeline: pipelineOf(tb, pipelineYAML),
		Deployments: map[string]*plan.Deployment{"deploy": {
			Type: "NativeHelm", ServiceRef: "shop", EnvironmentRef: "dev",
			Service:        parse(tb, "identifier: shop\nserviceDefinition: {type: Kubernetes, spec: {"+service+"}}"),
			Environment:    parse(tb, "identifier: dev\noverrides: {manifests: ["+environment+"]}"),
			Infrastructure: parse(tb, "identifier: i\ntype: KubernetesDirect\nspec: {connectorRef: cluster, namespace: ns, releaseName: rel}"),
			Overrides:      overrides,
		}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: tb.Context(), Plan: p, Node: p.Node("pipeline.stages.deploy.spec.execution.steps.roll"), Entities: chartEntities{},
		Now: time.Unix(1000, 0), State: func(plan.NodeID) plan.State { return plan.State{} },
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
	})
}

func TestCharts(t *testing.T) {
	t.Parallel()
	const (
		git    = "{manifest: {identifier: a, type: HelmChart, spec: {store: {type: Git, spec: {connectorRef: git, gitFetchType: Branch, branch: main, folderPath: c}}, subChartPath: s, helmVersion: V4, commandFlags: [{commandType: Upgrade, flag: --wait}]}}}"
		http   = "{manifest: {identifier: b, type: HelmChart, spec: {store: {type: Http, spec: {connectorRef: http}}, chartName: web, chartVersion: 1.0.0}}}"
		oci    = "{manifest: {identifier: c, type: HelmChart, spec: {store: {type: OciHelmChart, spec: {basePath: /team/, config: {type: Generic, spec: {connectorRef: oci}}}}, chartName: web}}}"
		values = "{manifest: {identifier: v, type: Values, spec: {store: {type: Inline, spec: {content: 'a: 1'}}}}}"
		plain  = "{manifest: {identifier: k, type: K8sManifest, spec: {store: {type: Inline, spec: {content: x}}}}}"
		mirror = "{manifest: {identifier: m, type: HelmRepoOverride, spec: {connectorRef: mirror, type: Http}}}"
		wrong  = "{manifest: {identifier: m, type: HelmRepoOverride, spec: {connectorRef: oci, type: OciHelmChart}}}"
	)
	list := func(m ...string) string { return "manifests: [" + strings.Join(m, ", ") + "]" }
	tests := []struct {
		name, service, environment string
		url, id, err               string
	}{
		{"an HTTP repository", list(values, http), "", "https://charts.example.com", "b", ""},
		{"a registry, with its base path", list(oci), "", "oci://registry.example.com/team", "c", ""},
		{"a repository for the environment", list(http), mirror, "https://mirror.example.com", "b", ""},
		{"one of another type", list(http), wrong, "", "", "has the type OciHelmChart, but the chart's store is Http"},
		{"a Git chart has no repository of charts to swap", list(git), wrong, "", "a", ""},
		{"several, of which one is primary", list(git, http, oci) + ", manifestConfigurations: {primaryManifestRef: c}", "", "oci://registry.example.com/team", "c", ""},
		{"several without a choice", list(git, http), "", "", "", "multiple primary manifests: a, b"},
		{"a choice that isn't there", list(git, http) + ", manifestConfigurations: {primaryManifestRef: z}", "", "", "", `primaryManifestRef is "z"; want one of a, b`},
		{"a chart and plain manifests", list(git, plain), "", "", "", "multiple primary manifests: a, k"},
		{"a connector of another type", strings.Replace(list(http), "connectorRef: http", "connectorRef: oci", 1), "", "", "", "connector oci is of type OciHelmRepo; want HttpHelmRepo"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := withManifests(t, tt.service, tt.environment).Deployment()
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v; want an error about %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			m := kubernetesOf(t, d).Manifest
			if m.ID != tt.id || tt.url != "" && m.Store.Charts.URL != tt.url {
				t.Errorf("got manifest %s of %+v; want %s of %s", m.ID, m.Store.Charts, tt.id, tt.url)
			}
		})
	}
	over := plan.Override{Type: "ENV_SERVICE_OVERRIDE", Doc: parse(t, list(strings.Replace(mirror, "connectorRef: mirror", "connectorRef: http", 1), values))}
	d, err := withManifests(t, list(http), mirror, over).Deployment()
	if err != nil {
		t.Fatal(err)
	}
	if got := kubernetesOf(t, d).Manifest.Store.Charts.URL; got != "https://charts.example.com" || len(kubernetesOf(t, d).Values) != 1 {
		t.Errorf("with an override above the environment's the repository is %s with %d layers of values", got, len(kubernetesOf(t, d).Values))
	}
	d, err = withManifests(t, list(git), values).Deployment()
	if err != nil {
		t.Fatal(err)
	}
	want := &origin.Chart{HelmVersion: "V4", SubChartPath: "s", CommandFlags: []origin.CommandFlag{{Command: "Upgrade", Flag: "--wait"}}}
	if diff := cmp.Diff(want, kubernetesOf(t, d).Manifest.Chart); diff != "" || len(kubernetesOf(t, d).Values) != 1 {
		t.Errorf("chart, with %d layers of values (-want +got):\n%s", len(kubernetesOf(t, d).Values), diff)
	}
}

func TestKustomize(t *testing.T) {
	t.Parallel()
	const (
		app = "manifests: [{manifest: {identifier: k, type: Kustomize, spec: {store: {type: Git, spec: {connectorRef: git, gitFetchType: Branch, branch: main, folderPath: app}}, " +
			"patchesPaths: [p.yaml], overlayConfiguration: {kustomizeYamlFolderPath: over}, commandFlags: [{commandType: Build, flag: --reorder=legacy}]}}}, PATCH]"
		patch = "{manifest: {identifier: PATCH, type: KustomizePatches, spec: {store: {type: Inline, spec: {content: x}}}}}"
	)
	service := strings.Replace(app, "PATCH", strings.Replace(patch, "PATCH", "own", 1), 1)
	d, err := withManifests(t, service, strings.Replace(patch, "PATCH", "env", 1)).Deployment()
	if err != nil {
		t.Fatal(err)
	}
	want := &origin.Kustomize{Overlay: "over", PatchesPaths: []string{"p.yaml"}, CommandFlags: []origin.CommandFlag{{Command: "Build", Flag: "--reorder=legacy"}}}
	if diff := cmp.Diff(want, kubernetesOf(t, d).Manifest.Kustomize); diff != "" {
		t.Errorf("kustomization (-want +got):\n%s", diff)
	}
	layers := []origin.ValuesFile{{ID: "own", Store: task.Store{Inline: "x"}}, {ID: "env", Store: task.Store{Inline: "x"}}}
	if diff := cmp.Diff(layers, kubernetesOf(t, d).Patches); diff != "" {
		t.Errorf("patches, low to high (-want +got):\n%s", diff)
	}
	plain := "manifests: [{manifest: {identifier: m, type: K8sManifest, spec: {store: {type: Inline, spec: {content: x}}}}}]"
	if _, err := withManifests(t, plain, patch).Deployment(); err == nil || !strings.Contains(err.Error(), "no Kustomize manifest") {
		t.Errorf("patches of nothing gave %v", err)
	}
}

func TestOpenshift(t *testing.T) {
	t.Parallel()
	const (
		app = "manifests: [{manifest: {identifier: o, type: OpenshiftTemplate, spec: {store: {type: Git, spec: {connectorRef: git, gitFetchType: Branch, branch: main, paths: [app.yaml]}}, " +
			"paramsPaths: [app.env], skipResourceVersioning: true}}}, PARAMS]"
		params = "{manifest: {identifier: PARAMS, type: OpenshiftParam, spec: {store: {type: Inline, spec: {content: 'A=1'}}}}}"
	)
	layer := func(id string) string { return strings.Replace(params, "PARAMS", id, 1) }
	over := plan.Override{Type: "INFRA_SERVICE_OVERRIDE", Doc: parse(t, "manifests: ["+layer("infra")+"]")}
	d, err := withManifests(t, strings.Replace(app, "PARAMS", layer("own"), 1), layer("env"), over).Deployment()
	if err != nil {
		t.Fatal(err)
	}
	m := kubernetesOf(t, d).Manifest
	if m.Type != "OpenshiftTemplate" || !m.SkipVersioning || !cmp.Equal(m.ParamsPaths, []string{"app.env"}) || !cmp.Equal(m.Store.Git.Paths, []string{"app.yaml"}) {
		t.Errorf("got %+v of %+v", m, m.Store.Git)
	}
	var ids []string
	for _, p := range kubernetesOf(t, d).Params {
		ids = append(ids, p.ID)
	}
	if diff := cmp.Diff([]string{"own", "env", "infra"}, ids); diff != "" {
		t.Errorf("parameters, low to high (-want +got):\n%s", diff)
	}
	plain := "manifests: [{manifest: {identifier: m, type: K8sManifest, spec: {store: {type: Inline, spec: {content: x}}}}}]"
	if _, err := withManifests(t, plain, layer("env")).Deployment(); err == nil || !strings.Contains(err.Error(), "no OpenshiftTemplate") {
		t.Errorf("parameters of nothing gave %v", err)
	}
}

// What the stores of the main manifest and of the layers above it become.
func TestStores(t *testing.T) {
	t.Parallel()
	const (
		app = "manifests: [{manifest: {identifier: a, type: K8sManifest, spec: {store: {type: CustomRemote, spec: {filePath: app, extractionScript: 'fetch <+env.identifier> <+secrets.getValue(\"t\")>', delegateSelectors: [curl, '<+env.identifier>']}}}}}]"
		env = "{manifest: {identifier: b, type: Values, spec: {store: {type: InheritFromManifest, spec: {paths: ['<+env.identifier>.yaml']}}}}}, " +
			"{manifest: {identifier: c, type: Values, spec: {store: {type: AzureRepo, spec: {connectorRef: azure, gitFetchType: Commit, commitId: v1, repoName: conf, paths: [v.yaml]}}}}}, " +
			"{manifest: {identifier: d, type: Values, spec: {store: {type: CustomRemote, spec: {filePath: v, extractionScript: x, delegateSelectors: [far]}}}}}"
	)
	d, err := withManifests(t, app, env).Deployment()
	if err != nil {
		t.Fatal(err)
	}
	k := kubernetesOf(t, d)
	script := k.Manifest.Store.Script
	if script.Path != "app" || !strings.HasPrefix(script.Script, "fetch dev ") || strings.Contains(script.Script, "getValue") {
		t.Errorf("the script is %+v", script)
	}
	if diff := cmp.Diff([]string{"curl", "dev", "far"}, k.Selectors); diff != "" {
		t.Errorf("selectors (-want +got):\n%s", diff)
	}
	git := k.Values[1].Store.Git
	if git == nil || git.URL != "https://dev.azure.com/o/p/_git/conf" || git.Commit != "v1" || git.Username != "me" || git.Password == "" {
		t.Errorf("Azure's repository is %+v", git)
	}
	k.Values[1].Store.Git = nil
	want := []origin.ValuesFile{
		{ID: "b", Store: task.Store{Inherited: []string{"dev.yaml"}}}, {ID: "c"}, {ID: "d", Store: task.Store{Script: &task.Extraction{Script: "x", Path: "v"}}},
	}
	if diff := cmp.Diff(want, k.Values); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
}

// semantics/entities §2.4: charts in buckets and in clouds' registries.
func TestChartsInClouds(t *testing.T) {
	t.Parallel()
	aws := task.AWS{Auth: task.AWSKeys, AccessKey: "AK", Region: "eu-west-1"}
	for _, tt := range []struct {
		name, store, environment string
		want                     task.ChartRepo
		err                      string
	}{
		{
			"S3", "{type: S3, spec: {connectorRef: aws, region: eu-west-1, bucketName: b, folderPath: /stable/}}", "",
			task.ChartRepo{URL: "s3://b/stable", Folder: "stable", S3: &task.S3Objects{AWS: aws, Bucket: "b"}}, "",
		},
		{
			"S3, with another connector for the environment", "{type: S3, spec: {connectorRef: aws, region: eu-west-1, bucketName: b, folderPath: /}}",
			"{manifest: {identifier: m, type: HelmRepoOverride, spec: {connectorRef: other, type: S3}}}",
			task.ChartRepo{URL: "s3://b", S3: &task.S3Objects{AWS: task.AWS{Auth: task.AWSInherit, Region: "eu-west-1"}, Bucket: "b"}}, "",
		},
		{
			"Cloud Storage", "{type: Gcs, spec: {connectorRef: gcp, bucketName: b, folderPath: a/b}}", "",
			task.ChartRepo{URL: "gs://b/a/b", Folder: "a/b", GCS: &task.GoogleBucket{Bucket: "b"}}, "",
		},
		{
			"ECR", "{type: OciHelmChart, spec: {basePath: /team/, config: {type: ECR, spec: {connectorRef: aws, region: eu-west-1, registryId: '1234'}}}}", "",
			task.ChartRepo{OCI: true, URL: "oci://1234.dkr.ecr.eu-west-1.amazonaws.com/team", Folder: "team", AWS: &aws}, "",
		},
		{
			"the own ECR", "{type: OciHelmChart, spec: {basePath: team, config: {type: ECR, spec: {connectorRef: aws, region: eu-west-1}}}}", "",
			task.ChartRepo{OCI: true, Folder: "team", AWS: &aws}, "",
		},
		{
			"Artifact Registry", "{type: OciHelmChart, spec: {basePath: '', config: {type: GAR, spec: {connectorRef: gcp, region: us-east1, project: p, repositoryName: r}}}}", "",
			task.ChartRepo{OCI: true, URL: "oci://us-east1-docker.pkg.dev/p/r", Google: &task.Google{}}, "",
		},
		{"a connector of another cloud", "{type: Gcs, spec: {connectorRef: aws, bucketName: b}}", "", task.ChartRepo{}, "connector aws is of type Aws; want Gcp"},
		{
			"another connector for another type", "{type: Gcs, spec: {connectorRef: gcp, bucketName: b}}",
			"{manifest: {identifier: m, type: HelmRepoOverride, spec: {connectorRef: other, type: S3}}}", task.ChartRepo{}, "has the type S3, but the chart's store is Gcs",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			service := "manifests: [{manifest: {identifier: a, type: HelmChart, spec: {chartName: web, store: " + tt.store + "}}}]"
			d, err := withManifests(t, service, tt.environment).Deployment()
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v; want an error about %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := kubernetesOf(t, d).Manifest.Store.Charts
			for _, a := range []*task.AWS{got.AWS, awsOf(got)} {
				if a != nil && a.Auth == task.AWSKeys && a.SecretKey == "" {
					t.Error("the secret key isn't there")
				}
				if a != nil {
					a.SecretKey = "" // a placeholder of its own each time
				}
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("repository (-want +got):\n%s", diff)
			}
		})
	}
}

func awsOf(r *task.ChartRepo) *task.AWS {
	if r.S3 == nil {
		return nil
	}
	return &r.S3.AWS
}

func kubernetesOf(t *testing.T, d *step.Deployment) *kubernetes.Target {
	t.Helper()
	target, err := step.TargetOf[*kubernetes.Target](step.In{Deployment: d})
	if err != nil {
		t.Fatal(err)
	}
	return target
}
