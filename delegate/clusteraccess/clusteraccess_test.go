package clusteraccess

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// api is a cluster's API with a certificate of its own: it answers with the
// path that was asked for and the token that was shown.
func api(t *testing.T) (server *httptest.Server, ca []byte) {
	t.Helper()
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.URL.RequestURI(), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}))
	t.Cleanup(server.Close)
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// cloud answers for the hosts of clouds.
func cloud(t *testing.T, hosts ...string) (*testservers.Cloud, testservers.Reroute) {
	t.Helper()
	c := testservers.NewCloud(t)
	via := testservers.Reroute{}
	for _, host := range append(hosts, "oauth2.googleapis.com", "login.microsoftonline.com") {
		via[host] = c.URL
	}
	return c, via
}

func serve(t *testing.T, c *testservers.Cloud, pattern string, token func(*http.Request) bool, doc any) {
	t.Helper()
	c.Mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if !token(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if err := json.NewEncoder(w).Encode(doc); err != nil {
			t.Error(err)
		}
	})
}

func bearer(token string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+token }
}

// asks sends a request to the cluster and gives what it answers.
func asks(t *testing.T, tr *Transport) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster/api/v1/namespaces?limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), nil
}

func kubeconfigDoc(server *httptest.Server, ca []byte, path, user string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: web
contexts:
- {name: other, context: {cluster: none, user: none}}
- {name: web, context: {cluster: web, user: deployer}}
clusters:
- name: web
  cluster: {server: "%s%s", certificate-authority-data: %s}
users:
- {name: deployer, user: {%s}}
`, server.URL, path, base64.StdEncoding.EncodeToString(ca), user)
}

const plain = "/api/v1/namespaces?limit=1 "

// TestGKE: projects.locations.clusters.get of the Kubernetes Engine API.
func TestGKE(t *testing.T) {
	t.Parallel()
	server, ca := api(t)
	c, via := cloud(t, "container.googleapis.com")
	serve(t, c, "GET container.googleapis.com/v1/projects/acme-prod/locations/europe-west3-a/clusters/web", bearer(testservers.CloudToken), map[string]any{
		"endpoint": strings.TrimPrefix(server.URL, "https://"), "status": "RUNNING", "masterAuth": map[string]any{"clusterCaCertificate": ca},
	})
	cluster := task.CloudCluster{GKE: &task.GKE{Google: task.Google{Key: c.Key}, Location: "europe-west3-a", Name: "web"}}
	if got, err := asks(t, New(cluster, via)); err != nil || got != plain+testservers.CloudToken {
		t.Errorf("got %q, %v", got, err)
	}
	cluster.GKE.Name = "none"
	if _, err := asks(t, New(cluster, via)); err == nil || !strings.Contains(err.Error(), "GKE cluster europe-west3-a/none: ") {
		t.Errorf("a cluster that isn't there: %v", err)
	}
}

// TestAKS: Managed Clusters - List Cluster User and Admin Credentials.
func TestAKS(t *testing.T) {
	t.Parallel()
	server, ca := api(t)
	c, via := cloud(t, "management.azure.com")
	const at = "POST management.azure.com/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/web/"
	credentials := func(user string) map[string]any {
		return map[string]any{"kubeconfigs": []any{map[string]any{"name": "c", "value": []byte(kubeconfigDoc(server, ca, "", user))}}}
	}
	serve(t, c, at+"listClusterUserCredential", bearer(testservers.CloudToken), credentials("exec: {command: kubelogin}"))
	serve(t, c, at+"listClusterAdminCredential", bearer(testservers.CloudToken), credentials("token: of-the-admin"))
	cluster := task.CloudCluster{AKS: &task.AKS{
		Azure:        task.Azure{Tenant: testservers.CloudTenant, Client: testservers.CloudClient, Secret: testservers.Password},
		Subscription: "s", ResourceGroup: "g", Name: "web",
	}}
	if got, err := asks(t, New(cluster, via)); err != nil || got != plain+testservers.CloudToken {
		t.Errorf("users of Entra: got %q, %v", got, err)
	}
	cluster.AKS.Admin = true
	if got, err := asks(t, New(cluster, via)); err != nil || got != plain+"of-the-admin" {
		t.Errorf("the administrator: got %q, %v", got, err)
	}
}

// TestRancher: the clusters and the action generateKubeconfig of the v3 API.
func TestRancher(t *testing.T) {
	t.Parallel()
	server, ca := api(t)
	c, via := cloud(t, "rancher.example.com")
	mine := bearer("token-1:secret")
	serve(t, c, "GET rancher.example.com/v3/clusters", mine, map[string]any{"data": []any{map[string]any{"id": "c-m-1", "name": "web"}}})
	serve(t, c, "POST rancher.example.com/v3/clusters/c-m-1", func(r *http.Request) bool {
		return mine(r) && r.FormValue("action") == "generateKubeconfig"
	}, map[string]any{"config": kubeconfigDoc(server, ca, "/k8s/clusters/c-m-1", "token: kubeconfig-u-1")})
	cluster := task.CloudCluster{Rancher: &task.Rancher{
		Server: task.Server{URL: "https://rancher.example.com/", Auth: task.AuthBearer, Token: "token-1:secret"}, Name: "web",
	}}
	if got, err := asks(t, New(cluster, via)); err != nil || got != "/k8s/clusters/c-m-1"+plain+"kubeconfig-u-1" {
		t.Errorf("got %q, %v", got, err)
	}
	cluster.Rancher.Name = "none"
	if _, err := asks(t, New(cluster, via)); !fault.Is(err, fault.NotFound) {
		t.Errorf("a cluster that isn't there: %v", err)
	}
}

const awsSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

// TestEKS: DescribeCluster of the EKS API, and a token as EKS checks it: it
// asks STS with the signed request and the cluster's name in a header.
func TestEKS(t *testing.T) {
	t.Setenv("AWS_CA_BUNDLE", "") // it wants a client of the SDK's own
	server, ca := api(t)
	c, via := cloud(t, "eks.eu-central-1.amazonaws.com")
	serve(t, c, "GET eks.eu-central-1.amazonaws.com/clusters/web", func(r *http.Request) bool {
		return strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIA/") && strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/eks/aws4_request")
	}, map[string]any{"cluster": map[string]any{"endpoint": server.URL, "status": "ACTIVE", "certificateAuthority": map[string]any{"data": ca}}})
	cluster := task.CloudCluster{EKS: &task.EKS{
		AWS: task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: awsSecret, Region: "eu-central-1"}, Name: "web",
	}}
	got, err := asks(t, New(cluster, via))
	if err != nil {
		t.Fatal(err)
	}
	token, ok := strings.CutPrefix(got, plain+"k8s-aws-v1.")
	signed, err := base64.RawURLEncoding.DecodeString(token)
	if !ok || err != nil {
		t.Fatalf("the token is %q", got)
	}
	checkSigned(t, string(signed), "web")
	cluster.EKS.Name = "none"
	if _, err := asks(t, New(cluster, via)); err == nil || !strings.Contains(err.Error(), "EKS cluster eu-central-1/none: EKS answers with status 404") {
		t.Errorf("a cluster that isn't there: %v", err)
	}
}

// checkSigned checks the signature of a request to STS, as AWS documents
// Signature Version 4 for query strings.
func checkSigned(t *testing.T, text, name string) {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Host != "sts.eu-central-1.amazonaws.com" || q.Get("Action") != "GetCallerIdentity" || q.Get("X-Amz-Expires") != "60" || q.Get("X-Amz-SignedHeaders") != "host;x-k8s-aws-id" {
		t.Errorf("the request is %s", text)
	}
	signature := q.Get("X-Amz-Signature")
	q.Del("X-Amz-Signature")
	canonical := strings.Join([]string{
		"GET", "/", strings.ReplaceAll(q.Encode(), "+", "%20"), "host:" + u.Host + "\nx-k8s-aws-id:" + name + "\n", q.Get("X-Amz-SignedHeaders"), empty(),
	}, "\n")
	sum := sha256.Sum256([]byte(canonical))
	day := q.Get("X-Amz-Date")[:8]
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", q.Get("X-Amz-Date"), day + "/eu-central-1/sts/aws4_request", hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + awsSecret)
	for _, part := range []string{day, "eu-central-1", "sts", "aws4_request", toSign} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	if want := hex.EncodeToString(key); signature != want {
		t.Errorf("the signature is %s; want %s", signature, want)
	}
}

// TestAnAccessIsAskedForAnewInTime: a step may take longer than a token.
func TestAnAccessIsAskedForAnewInTime(t *testing.T) {
	t.Parallel()
	server, ca := api(t)
	c, via := cloud(t, "container.googleapis.com")
	asked := 0
	serve(t, c, "GET container.googleapis.com/v1/projects/acme-prod/locations/z/clusters/web", func(*http.Request) bool {
		asked++
		return true
	}, map[string]any{"endpoint": strings.TrimPrefix(server.URL, "https://"), "masterAuth": map[string]any{"clusterCaCertificate": ca}})
	tr := New(task.CloudCluster{GKE: &task.GKE{Google: task.Google{Key: c.Key}, Location: "z", Name: "web"}}, via)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tr.now = func() time.Time { return now }
	for _, step := range []struct {
		after time.Duration
		asked int
	}{{0, 1}, {time.Minute, 1}, {googleToken - 2*time.Minute - time.Second, 1}, {2 * time.Second, 2}} {
		now = now.Add(step.after)
		if _, err := asks(t, tr); err != nil || asked != step.asked {
			t.Errorf("after %s the cloud was asked %d times, %v; want %d", step.after, asked, err, step.asked)
		}
	}
}

func TestAnUnknownCloudIsRefused(t *testing.T) {
	t.Parallel()
	_, err := New(task.CloudCluster{}, nil).current(t.Context())
	if !fault.Is(err, fault.Unsupported) {
		t.Errorf("got %v; want %s", err, fault.Unsupported)
	}
}
