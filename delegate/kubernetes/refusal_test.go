package kubernetes

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// What a cluster refuses is told apart by what cures it.
func TestClassify(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	forbidden := func(why string) error { return apierrors.NewForbidden(pods, "p", errors.New(why)) }
	owner := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: `conflict with "kubectl"`}}, "Apply failed")
	tests := []struct {
		name, want string
		err        error
		code       fault.Code
		failure    fault.FailureType
	}{
		{"rights", "may not do this; grant it", forbidden(`User "x" cannot create resource "pods"`), fault.Forbidden, fault.Authorization},
		{"a quota", "quota doesn't allow it", forbidden("exceeded quota: small, requested: pods=2"), fault.Conflict, fault.Unknown},
		{"a rule", "a rule of the cluster", forbidden(`violates PodSecurity "restricted:latest"`), fault.Invalid, fault.ConfigurationFailure},
		{"a namespace that goes", "namespace is being deleted", forbidden("unable to create new content in namespace x because it is being terminated"), fault.Conflict, fault.Unknown},
		{"a namespace that isn't there", "the namespace shop doesn't exist", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), fault.NotFound, fault.ConfigurationFailure},
		{"something else that isn't there", "the cluster: pods \"p\" not found", apierrors.NewNotFound(pods, "p"), fault.NotFound, fault.ConfigurationFailure},
		{"another owner", `1 fields belong to another owner: .spec.replicas (conflict with "kubectl")`, owner, fault.Conflict, fault.Unknown},
		{"credentials", "refused the credentials", apierrors.NewUnauthorized("no"), fault.Unauthenticated, fault.Authentication},
		{"no cluster", "can't be reached", &url.Error{Op: "Get", Err: errors.New("refused")}, fault.Unavailable, fault.Connectivity},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := classify(tt.err)
			if !strings.Contains(got.Error(), tt.want) || !errors.Is(got, tt.err) {
				t.Errorf("it says %q; want %q and the cause", got, tt.want)
			}
			if code := fault.CodeOf(got); code != tt.code || fault.Failures(got)[0] != tt.failure {
				t.Errorf("code %s and failures %v; want %s and %s", code, fault.Failures(got), tt.code, tt.failure)
			}
		})
	}
}

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
	s := newSession(task.Work{}, lane.Spec{}, env.Env, &client{http: server.Client(), base: base})
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
