package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes a checkout.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhatAPipelineNeeds(t *testing.T) {
	t.Parallel()
	connector := "connector: {identifier: c, name: c, type: K8sCluster, spec: {credential: {type: ManualConfig, spec: {masterUrl: https://a, auth: {type: ServiceAccount, spec: {serviceAccountTokenRef: robot}}}}, delegateSelectors: [DELEGATE_NAME]}}\n"
	service := "service: {identifier: web, name: web, serviceDefinition: {type: Kubernetes, spec: {}}}\n"
	pipeline := `pipeline:
  {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Deployment, spec: {
    deploymentType: Kubernetes, # deploymentType: Kubernetes
    service: {serviceRef: web}, environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: INFRA}]}, execution: {steps: []}}}}]}
`
	all, err := read(write(t, map[string]string{
		"a/k8s-service.yml":   service,
		"a/helm-service.yml":  service,
		"b/helm-service.yml":  service,
		"a/connector.yml":     connector,
		"b/environment.yml":   "environment: {identifier: dev, name: dev, type: Production}\n",
		"a/infra.yml":         "infrastructureDefinition: {identifier: i, name: i, environmentRef: dev, deploymentType: Kubernetes, type: KubernetesDirect, spec: {connectorRef: c, namespace: n, releaseName: r}}\n",
		"a/helm-pipeline.yml": strings.Replace(pipeline, "INFRA", "i", 1),
		"a/lost-pipeline.yml": strings.Replace(pipeline, "INFRA", "nowhere", 1),
		"a/values.yaml":       "service: {type: ClusterIP}\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file            string
		found, missings []string
	}{
		{
			"a/helm-pipeline.yml",
			[]string{"a/helm-service.yml", "b/environment.yml", "the instructions", "a/connector.yml", "a/infra.yml", "a/helm-pipeline.yml"}, nil,
		},
		{"a/lost-pipeline.yml", []string{"a/helm-service.yml", "b/environment.yml", "a/lost-pipeline.yml"}, []string{"infrastructureDefinition nowhere"}},
	} {
		for _, d := range all {
			if d.file != tt.file {
				continue
			}
			documents, missing := needs(all, d)
			var found []string
			for _, one := range documents {
				found = append(found, one.file)
				if strings.Contains(string(one.text), "DELEGATE_NAME") {
					t.Errorf("%s names no delegate", one.file)
				}
			}
			if diff := cmp.Diff(tt.missings, missing); diff != "" || !wanted(d) {
				t.Errorf("%s misses (-want +got):\n%s", tt.file, diff)
			}
			if tt.file == "a/lost-pipeline.yml" { // any service of another variant does
				found[0] = tt.found[0]
			}
			if diff := cmp.Diff(tt.found, found); diff != "" {
				t.Errorf("%s needs (-want +got):\n%s", tt.file, diff)
			}
		}
	}
}

// Git finds the checkout at its public address, and nothing else.
//
//nolint:paralleltest // it changes the environment
func TestStandIn(t *testing.T) {
	for _, name := range []string{"https_proxy", "no_proxy", "GIT_SSL_CAINFO"} {
		t.Setenv(name, "") // and puts it back
	}
	stop, err := serveGit(t.Context(), t.TempDir(), write(t, map[string]string{"a/b.yaml": "c: d\n"}))
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{
		"https://github.com/harness-community/harnesscd-example-apps":  true,
		"https://github.com/harness-community/elsewhere":               false,
		"https://example.com/harness-community/harnesscd-example-apps": false,
	} {
		c := exec.CommandContext(t.Context(), "git", "ls-remote", url, "master")
		c.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null")
		refs, err := c.Output()
		if found := err == nil && strings.Contains(string(refs), "refs/heads/master"); found != want {
			t.Errorf("%s is there: %v, %v\n%s", url, found, err, refs)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
