// Package watching keeps an eye on releases in Kubernetes clusters for the
// instance ledger: which pods run, and whether the workloads are as they were
// deployed (semantics/kubernetes §18).
//
// It looks and reports; it changes nothing in a cluster. Who watches which
// release, and what a report means, is pkg/ledger's.
package watching

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The times of a watch.
const (
	// relist is how long a watch is trusted: then everything is listed anew
	// (semantics/entities §14).
	relist = 10 * time.Minute
	// settle is how long a report waits for more to change.
	settle = time.Second
	// apart is the least time between two reports of a release.
	apart = 5 * time.Second
	// The pauses after a look that failed grow from the first to the longest.
	firstPause, longestPause = time.Second, time.Minute
)

// New makes a watcher of releases in Kubernetes clusters, whatever put them
// there: their places are lane.Places.
func New() executor.Watcher {
	return func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
		place, err := executor.Place[lane.Place](w.Kind, w.Place)
		if err != nil {
			return err
		}
		c, err := kubernetes.Connect(place.Cluster)
		if err != nil {
			return err
		}
		r := &release{
			watch: w, watched: podsOf(place, w.Workloads), cluster: c, report: report, changed: make(chan struct{}, 1), pods: map[lane.Pods]pods{},
		}
		return r.run(ctx)
	}
}

// podsOf are the pods of a release: those that its place names, and those that
// its workloads select.
func podsOf(place lane.Place, workloads []task.Workload) []lane.Pods {
	all := slices.Clone(place.Pods)
	for _, w := range workloads {
		parts := strings.Split(w.Resource, "/")
		if len(parts) != 4 || w.Selector == "" {
			continue
		}
		if p := (lane.Pods{Namespace: parts[2], Selector: w.Selector}); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// release is one watched release.
type release struct {
	watch   task.Watch
	watched []lane.Pods
	cluster *kubernetes.Cluster
	report  func(context.Context, task.Observed) error
	changed chan struct{} // holds one signal

	mu   sync.Mutex
	pods map[lane.Pods]pods
}

// pods is what is known of some of the pods.
type pods struct {
	instances map[string]task.Instance
	trouble   error // why it can't be looked at; instances are the last that are known
}

// errEnded ends what runs for a watch when one part of it has ended.
var errEnded = errors.New("the watch has ended")

// run watches all of the pods until ctx or one of its parts ends.
func (r *release) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	var parts sync.WaitGroup
	for _, of := range r.watched {
		parts.Go(func() { r.follow(ctx, of, stop) })
	}
	err := r.reportLoop(ctx)
	stop(errEnded)
	parts.Wait()
	if err != nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errEnded) && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// put writes down what is known of some pods, and has it reported.
func (r *release) put(of lane.Pods, change func(*pods)) {
	r.mu.Lock()
	p := r.pods[of]
	change(&p)
	r.pods[of] = p
	r.mu.Unlock()
	r.signal()
}

func (r *release) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// see takes in one pod; gone says that it was deleted.
func (p *pods) see(pod *unstructured.Unstructured, gone bool) {
	one, counts := kubernetes.InstanceOf(pod)
	if gone || !counts {
		delete(p.instances, pod.GetName())
		return
	}
	if p.instances == nil {
		p.instances = map[string]task.Instance{}
	}
	p.instances[pod.GetName()] = one
}

// refused says whether trying again with the same credentials is no use.
func refused(err error) bool { return fault.Is(err, fault.Unauthenticated) }
