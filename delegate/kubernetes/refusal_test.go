package kubernetes

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/manifest"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestTroubles(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, status, want string }{
		{"ready", "{conditions: [{type: Ready, status: 'True'}]}", ""},
		{"no image", "{containerStatuses: [{name: main, image: 'x:1', state: {waiting: {reason: ImagePullBackOff, message: not found}}}]}", "container main can't get its image x:1: ImagePullBackOff: not found"},
		{
			"crashed", "{containerStatuses: [{name: main, restartCount: 3, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}, state: {waiting: {reason: CrashLoopBackOff}}}]}",
			"container main ended with exit code 137 (OOMKilled) and was restarted 3 times: CrashLoopBackOff",
		},
		{"ended", "{containerStatuses: [{name: main, state: {terminated: {exitCode: 2, reason: Error}}}]}", "container main ended with exit code 2 (Error)"},
		{"wrong", "{containerStatuses: [{name: main, state: {waiting: {reason: CreateContainerConfigError, message: no cfg}}}]}", "container main waits: CreateContainerConfigError no cfg"},
		{"no node", "{conditions: [{type: PodScheduled, status: 'False', message: 0/3 nodes}, {type: Ready, status: 'False'}]}", "no node takes it: 0/3 nodes"},
		{"begins", "{containerStatuses: [{name: main, state: {waiting: {reason: ContainerCreating}}}], conditions: [{type: Ready, status: 'False', reason: ContainersNotReady}]}", "isn't ready: ContainersNotReady"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pod := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte("status: "+tt.status), &pod.Object); err != nil {
				t.Fatal(err)
			}
			pod.Object = jsonNumbers(t, pod.Object)
			got := ""
			for _, one := range troubles(pod) {
				got += one.what
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("troubles (-want +got):\n%s", diff)
			}
		})
	}
}

// jsonNumbers gives whole numbers the type that a cluster's objects have.
func jsonNumbers(t *testing.T, m map[string]any) map[string]any {
	t.Helper()
	doc, err := yaml.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	out, err := manifest.Decode(string(doc))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The last lines of a container are those before its restart.
func TestLastWords(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		_, _ = w.Write([]byte("connecting\nno database\n"))
	}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	check(t, err)
	env := executortest.New(t, nil)
	s := newSession(task.Work{}, lane.Spec{}, env.Env, &client{&applying.Cluster{HTTP: server.Client(), Base: base}})
	pod := &unstructured.Unstructured{}
	pod.SetNamespace("shop")
	pod.SetName("web-1")
	s.client.lastWords(t.Context(), pod, trouble{container: "main", ended: true, previous: true}, s.env.LogError(unitSteady))
	if diff := cmp.Diff("/api/v1/namespaces/shop/pods/web-1/log?container=main&limitBytes=4096&previous=true&tailLines=10", <-asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("pod web-1, container main: connecting\npod web-1, container main: no database\n", ended{env: env}.log(unitSteady)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
