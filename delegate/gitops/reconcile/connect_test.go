package reconcile

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops/access"
)

func TestHowClustersAreOpened(t *testing.T) {
	t.Parallel()
	const server = "https://ABC.gr7.eu-west-1.eks.amazonaws.com"
	for name, tt := range map[string]struct {
		server string
		config access.ClusterConfig
		want   string // in the error; empty: none
	}{
		"token":           {server, access.ClusterConfig{BearerToken: "t"}, ""},
		"insecure":        {server, access.ClusterConfig{BearerToken: "t", TLS: access.ClusterTLS{Insecure: true, CAData: []byte("ca")}}, ""},
		"EKS":             {server, access.ClusterConfig{AWS: &access.ClusterAWS{ClusterName: "c"}}, ""},
		"Argo's command":  {server, access.ClusterConfig{Exec: &access.ClusterExec{Command: "argocd-k8s-auth", Args: []string{"aws", "--cluster-name", "c", "--role-arn=r"}}}, ""},
		"no cluster name": {server, access.ClusterConfig{AWS: &access.ClusterAWS{}}, "no clusterName"},
		"another cloud":   {server, access.ClusterConfig{Exec: &access.ClusterExec{Command: "argocd-k8s-auth", Args: []string{"gcp"}}}, "only aws is known"},
		"another command": {server, access.ClusterConfig{Exec: &access.ClusterExec{Command: "/bin/sh"}}, `runs "/bin/sh"; want argocd-k8s-auth or kubelogin`},
		"two sorts":       {server, access.ClusterConfig{BearerToken: "t", Username: "u"}, "several sorts"},
		"half a pair":     {server, access.ClusterConfig{TLS: access.ClusterTLS{CertData: []byte("c")}}, "want both"},
		"no address":      {"api.example.com", access.ClusterConfig{}, "want an address"},
		"no proxy":        {server, access.ClusterConfig{ProxyURL: "nothing"}, "proxyUrl is no address"},
	} {
		var c Connections
		doc := access.Cluster{Server: tt.server, Name: "far", Config: tt.config}
		got := c.Clusters([]access.Cluster{doc})[0]
		switch {
		case tt.want != "" && (got.Problem == nil || !strings.Contains(got.Problem.Error(), tt.want)):
			t.Errorf("%s gave %v; want %q", name, got.Problem, tt.want)
		case tt.want == "" && (got.Problem != nil || got.Cluster == nil || c.Clusters([]access.Cluster{doc})[0].Cluster != got.Cluster):
			t.Errorf("%s gave %v; want one connection as long as nothing changes", name, got.Problem)
		}
	}
	if got := eksRegion(server); got != "eu-west-1" {
		t.Errorf("the region is %q", got)
	}
}

// A cluster that hasn't answered keeps one worker, and one that does keeps half of
// them: the others are for other clusters.
func TestWhoWaitsForACluster(t *testing.T) {
	t.Parallel()
	r := &Reconciler{sites: map[string]*site{}, apps: map[Key]*app{}, named: map[string]*app{}, clock: time.Now}
	now := time.Now()
	r.clock = func() time.Time { return now }
	one, two := site{}, site{}
	two.last.asked = true
	r.sites["https://one"], r.sites["https://two"] = &one, &two
	for _, server := range []string{"https://one", "https://two", "https://three", InClusterServer} {
		for i := range 2 * workers {
			k := Key{Name: server + strings.Repeat("x", i)}
			r.apps[k] = &app{key: k, at: server, due: now.Add(-time.Second)}
		}
	}
	got := map[string]int{}
	for a, _ := r.next(); a != nil; a, _ = r.next() {
		got[a.at]++
	}
	if got["https://one"] != 1 || got["https://two"] != workers/2 || got["https://three"] != 1 || got[InClusterServer] != workers {
		t.Errorf("the workers are at %v", got)
	}
}

// One asks for all, and who comes meanwhile goes by what was answered last.
func TestReachable(t *testing.T) {
	t.Parallel()
	status := http.StatusServiceUnavailable
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Error("the token doesn't come")
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	var c Connections
	open := c.Clusters([]access.Cluster{{Server: server.URL, Config: access.ClusterConfig{BearerToken: "s3cret"}}})[0]
	if open.Problem != nil {
		t.Fatal(open.Problem)
	}
	s := site{cluster: open.Cluster}
	now := time.Now()
	for _, tt := range []struct {
		after  time.Duration
		status int
		asked  int
		want   string
	}{
		{0, http.StatusServiceUnavailable, 1, "status 503"},
		{time.Second, http.StatusOK, 1, "status 503"}, // it isn't asked again yet
		{retryFirst, http.StatusUnauthorized, 2, "doesn't let the agent in"},
		{2 * retryFirst, http.StatusForbidden, 3, ""}, // it is there
		{time.Second, http.StatusServiceUnavailable, 3, ""},
	} {
		now, status = now.Add(tt.after), tt.status
		err := s.reachable(context.Background(), now)
		if asked != tt.asked || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("after %s it was asked %d times: %v; want %d times and %q", tt.after, asked, err, tt.asked, tt.want)
		}
		if s.answers() != (err == nil) {
			t.Error("what was answered last isn't known")
		}
	}
	cancelled, stop := context.WithCancel(context.Background())
	stop()
	if err := s.reachable(cancelled, now.Add(time.Minute)); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a cluster that doesn't answer gave %v", err)
	}
}
