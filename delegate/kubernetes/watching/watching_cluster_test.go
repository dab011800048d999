package watching_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/kubernetes/watching"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// site is a namespace of a real cluster.
type site struct {
	clientset.Interface
	*testing.T

	namespace string
	cluster   task.Cluster
}

func newSite(t *testing.T) *site {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientset.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &site{
		Interface: client, T: t, namespace: namespace,
		cluster: task.Cluster{URL: config.Host, Token: config.BearerToken, CAPEM: string(config.CAData)},
	}
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: "nginx:1"}, {name: proxy, image: "envoy:2"}]}
`

// deploy does a rolling deployment as a step does, and gives what it changed.
func (s *site) deploy() task.Change {
	s.Helper()
	env := executortest.New(s.T, nil)
	r, err := kubernetes.New(kubernetes.Config{Cache: s.TempDir()})(s.Context(), executortest.Work(s.T, lane.Kind,
		task.Work{Target: task.Target{Service: "web"}, Execution: "e", Stage: "deploy", Step: "step"},
		lane.Spec{Op: lane.OpRolling, Target: lane.Target{
			Cluster: s.cluster, Namespace: s.namespace, ReleaseName: "rel",
			Manifest: &origin.Manifest{ID: "app", Type: "K8sManifest", Store: task.Store{Inline: manifest}},
		}}, nil), env.Env)
	s.must(err)
	if r.Status != task.Succeeded || len(r.Changes) != 1 {
		s.Fatalf("the deployment ended %s: %s, with %d changes", r.Status, r.Message, len(r.Changes))
	}
	return r.Changes[0]
}

// watch is a watch of the release, of which these workloads are known.
func (s *site) watch(known ...task.Workload) task.Watch {
	s.Helper()
	place, err := json.Marshal(lane.Place{Cluster: s.cluster, Pods: []lane.Pods{{Namespace: s.namespace, Selector: "harness.io/release-name=rel"}}})
	s.must(err)
	return task.Watch{Kind: lane.Kind, Target: task.Target{Release: "rel"}, Place: place, Workloads: known}
}

// begin watches the release until the test ends and gives its reports.
func (s *site) begin(w task.Watch, refuse func(task.Observed) error) (reports chan task.Observed, ended chan error) {
	s.Helper()
	reports, ended = make(chan task.Observed, 100), make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(s.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- watching.New()(ctx, w, func(_ context.Context, o task.Observed) error {
			reports <- o
			return refuse(o)
		})
	}()
	s.Cleanup(func() { stop(); <-done })
	return reports, ended
}

func taken(task.Observed) error { return nil }

// until gives the first report that is as it should be.
func (s *site) until(what string, reports chan task.Observed, fits func(task.Observed) bool) task.Observed {
	s.Helper()
	limit := time.NewTimer(5 * time.Minute)
	defer limit.Stop()
	var last task.Observed
	for {
		select {
		case last = <-reports:
			if fits(last) {
				return last
			}
		case <-limit.C:
			s.Fatalf("no report came with %s; the last was %+v", what, last)
		}
	}
}

func running(n int) func(task.Observed) bool {
	return func(o task.Observed) bool {
		ready := 0
		for _, i := range o.Instances {
			if i.Ready {
				ready++
			}
		}
		return o.Trouble == "" && len(o.Instances) == n && ready == n
	}
}

func podNames(o task.Observed) []string {
	var out []string
	for _, i := range o.Instances {
		out = append(out, i.Name)
	}
	return out
}

func TestWhatHappensIsReported(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	change := s.deploy()
	resource := "apps/Deployment/" + s.namespace + "/web"
	two := int64(2)
	wanted := []task.Workload{{Resource: resource, Images: []string{"nginx:1", "envoy:2"}, Replicas: &two, Selector: "harness.io/release-name=rel"}}
	if diff := cmp.Diff(wanted, change.Workloads); diff != "" || !change.Whole {
		t.Fatalf("the step's workloads (-want +got):\n%s", diff)
	}
	reports, _ := s.begin(s.watch(change.Workloads...), taken)
	first := s.until("two pods", reports, running(2))
	if got := first.Instances[0]; !slices.Equal(got.Images, []string{"nginx:1", "envoy:2"}) || got.Release != "rel" || got.Namespace != s.namespace || got.Since.IsZero() {
		t.Errorf("an instance is %+v", got)
	}
	if got := first.Workloads[0]; got.Resource != resource || *got.Replicas != 2 || !slices.Equal(got.Images, []string{"nginx:1", "envoy:2"}) {
		t.Errorf("the workload is %+v", got)
	}

	began := time.Now()
	_, err := s.AppsV1().Deployments(s.namespace).Patch(s.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":4}}`),
		metav1.PatchOptions{FieldManager: "somebody"}, "scale")
	s.must(err)
	scaled := s.until("four pods", reports, running(4))
	if w := scaled.Workloads[0]; *w.Replicas != 4 || w.ReplicasBy != "somebody" {
		t.Errorf("the workload that was scaled by hand is %+v", w)
	}
	t.Logf("scaling by hand was reported after %s", time.Since(began))

	victim := scaled.Instances[0].Name
	s.must(s.CoreV1().Pods(s.namespace).Delete(s.Context(), victim, metav1.DeleteOptions{}))
	s.until("another pod in its place", reports, func(o task.Observed) bool {
		return running(4)(o) && !slices.Contains(podNames(o), victim)
	})

	s.must(s.AppsV1().Deployments(s.namespace).Delete(s.Context(), "web", metav1.DeleteOptions{}))
	s.until("nothing", reports, func(o task.Observed) bool {
		return running(0)(o) && len(o.Workloads) == 1 && o.Workloads[0].Gone
	})
}

func TestAWatchThatIsSomebodyElsesEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	lost := fault.New(fault.LeaseLost, "it is somebody else's")
	_, ended := s.begin(s.watch(), func(task.Observed) error { return lost })
	if err := <-ended; !fault.Is(err, fault.LeaseLost) {
		t.Errorf("the watch ended with %v", err)
	}
}

func TestAReportThatIsNotTakenIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := 0
	reports, _ := s.begin(s.watch(), func(task.Observed) error {
		if n++; n == 1 {
			return fault.New(fault.Unavailable, "out of reach")
		}
		return nil
	})
	<-reports
	<-reports
}

func TestTroubleIsTold(t *testing.T) {
	t.Parallel()
	there := newSite(t)
	wrong := there.cluster
	wrong.Token = "expired"
	away := there.cluster
	away.URL = "https://127.0.0.1:1"
	for name, c := range map[string]struct {
		cluster task.Cluster
		want    string
		ends    fault.Code
	}{
		"credentials that are refused end the watch": {wrong, "the cluster refused the credentials", fault.Unauthenticated},
		"a cluster out of reach is tried on":         {away, "can't be reached", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &site{Interface: there.Interface, T: t, namespace: there.namespace, cluster: c.cluster}
			reports, ended := s.begin(s.watch(), taken)
			s.until(c.want, reports, func(o task.Observed) bool { return strings.Contains(o.Trouble, c.want) })
			if c.ends == "" {
				return
			}
			if err := <-ended; fault.CodeOf(err) != c.ends {
				t.Errorf("the watch ended with %v", err)
			}
		})
	}
}
