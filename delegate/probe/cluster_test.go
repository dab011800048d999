package probe_test

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"testing"

	"go.yaml.in/yaml/v3"

	prober "github.com/slipway-cd/slipway/delegate/probe"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// administrator is how the test cluster is reached, and a namespace of it.
func administrator(t *testing.T) (task.Cluster, string) {
	t.Helper()
	path, namespace := testcluster.Namespace(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     string `yaml:"certificate-authority-data"`
			}
		}
		Users []struct{ User struct{ Token string } }
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	ca, err := base64.StdEncoding.DecodeString(doc.Clusters[0].Cluster.CA)
	if err != nil {
		t.Fatal(err)
	}
	return task.Cluster{URL: doc.Clusters[0].Cluster.Server, Token: doc.Users[0].User.Token, CAPEM: string(ca)}, namespace
}

// post makes an object in the cluster.
func post(t *testing.T, c task.Cluster, path, body string, out any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s: %s %s, %v", path, resp.Status, text, err)
	}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
}

func TestClusters(t *testing.T) {
	t.Parallel()
	admin, namespace := administrator(t)
	var token struct{ Status struct{ Token string } }
	accounts := "/api/v1/namespaces/" + namespace + "/serviceaccounts"
	post(t, admin, accounts, `{"metadata":{"name":"deployer"}}`, &struct{}{})
	post(t, admin, accounts+"/deployer/token", `{"spec":{}}`, &token)
	for name, tt := range map[string]struct {
		change func(*task.Cluster)
		status string
		lines  []string
	}{
		"who may do everything": {func(*task.Cluster) {}, "SUCCESS", []string{"reach ok", "tls ok", "knows the connector as admin", "permission ok: admin may list namespaces"}},
		"who may do little": {func(c *task.Cluster) { c.Token = token.Status.Token }, "PARTIAL", []string{
			"login ok: Kubernetes v1.", "knows the connector as system:serviceaccount:" + namespace + ":deployer", "permission failed: system:serviceaccount:" + namespace + ":deployer may not list namespaces",
		}},
		"a wrong token":        {func(c *task.Cluster) { c.Token = "opensesame" }, "FAILURE", []string{"tls ok", "login failed: the cluster doesn't let the connector in"}},
		"another authority":    {func(c *task.Cluster) { c.CAPEM = "" }, "FAILURE", []string{"tls failed: the certificate of 127.0.0.1:"}},
		"what isn't PEM":       {func(c *task.Cluster) { c.CAPEM = "opensesame" }, "FAILURE", []string{"configuration failed: the cluster's access: "}},
		"nobody in particular": {func(c *task.Cluster) { c.Token, c.CAPEM = "", "" }, "FAILURE", []string{"login failed: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := admin
			tt.change(&c)
			want(t, examine(t, prober.Config{}, probe.Spec{Cluster: &c}), tt.status, tt.lines...)
		})
	}
}

// TestTheDelegatesOwnCluster: as its kubeconfig says.
func TestTheDelegatesOwnCluster(t *testing.T) {
	path, _ := testcluster.Namespace(t)
	t.Setenv("KUBECONFIG", path)
	want(t, examine(t, prober.Config{}, probe.Spec{Cluster: &task.Cluster{Inherit: true}}), "SUCCESS", "login ok: ")
}
