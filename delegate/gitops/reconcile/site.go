package reconcile

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/live"
	"github.com/slipway-cd/slipway/delegate/gitops/script"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// site is a cluster with what is watched of it.
type site struct {
	cluster    *applying.Cluster
	watcher    *live.Watcher
	ended      context.Context //nolint:containedctx // it ends when nothing is watched any more
	stop       func()
	namespaces []string
	wide       bool
	scripts    *script.Kinds // by which its objects were judged

	mu    sync.Mutex // one says at a time what is wanted
	kinds map[schema.GroupKind]int
	// unsure says that what is wanted didn't come in time.
	unsure bool
	// hidden are kinds of objects of the whole cluster where only namespaces are
	// looked into.
	hidden map[schema.GroupKind]bool

	handing sync.Mutex
	hands   map[string]*applying.Cluster // by the user that changes objects

	telling sync.Mutex // one asks at a time what the cluster can do
	can     abilities
	told    time.Time // when it said so

	asking   sync.Mutex // one asks at a time whether the cluster is there
	heard    time.Time  // when it answered last
	away     error      // why it didn't
	again    time.Time  // when it is asked again
	failures int
	last     struct { // what was answered last, for who doesn't ask
		sync.Mutex

		asked bool
		away  error
		again time.Time
	}
}

const (
	// freshFor is how long a cluster that has answered is taken to be there.
	freshFor = 15 * time.Second
	// probeWithin is how long it may take to say so.
	probeWithin = 10 * time.Second
	// wantWithin is how long a cluster's objects may take to come.
	wantWithin = 2 * time.Minute
)

// hand is how a cluster's objects are changed: as the agent, or as the account that the
// project has for the application's destination (semantics/gitops §14).
func (s *site) hand(b *bounds) (*applying.Cluster, error) {
	if b.nobody != nil || b.account == "" {
		return s.cluster, b.nobody
	}
	user := b.account
	s.handing.Lock()
	defer s.handing.Unlock()
	if known := s.hands[user]; known != nil {
		return known, nil
	}
	made, err := s.cluster.As(user)
	if err != nil {
		return nil, err
	}
	if s.hands == nil {
		s.hands = map[string]*applying.Cluster{}
	}
	s.hands[user] = made
	return made, nil
}

// answers says whether the cluster did when it was asked last.
func (s *site) answers() bool {
	s.last.Lock()
	defer s.last.Unlock()
	return s.last.asked && s.last.away == nil
}

// reachable says whether the cluster answers. One application asks for all, so that
// a cluster that is away keeps nobody waiting but its own.
func (s *site) reachable(ctx context.Context, now time.Time) error {
	s.last.Lock()
	away, again := s.last.away, s.last.again
	s.last.Unlock()
	if away != nil && now.Before(again) {
		return away
	}
	if away != nil && !s.asking.TryLock() {
		return away
	}
	if away == nil {
		s.asking.Lock()
	}
	defer s.asking.Unlock()
	if now.Before(s.heard.Add(freshFor)) || s.away != nil && now.Before(s.again) {
		return s.away
	}
	asking, stop := context.WithTimeoutCause(ctx, probeWithin, fault.New(fault.Unavailable, "it hasn't answered within %s", probeWithin))
	defer stop()
	s.away = s.probe(asking)
	if s.away == nil {
		s.heard, s.failures = now, 0
	} else {
		wait := retryFirst << min(s.failures, 6)
		s.failures, s.again, s.heard = s.failures+1, now.Add(min(wait, retryMost)), time.Time{}
	}
	s.last.Lock()
	s.last.asked, s.last.away, s.last.again = true, s.away, s.again
	s.last.Unlock()
	return s.away
}

// probe asks the cluster for its version, which anybody may have.
func (s *site) probe(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cluster.Base.JoinPath("version").String(), nil)
	if err != nil {
		return fault.New(fault.Invalid, "its address: %w", err)
	}
	resp, err := s.cluster.HTTP.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fault.New(fault.Unavailable, "it can't be reached: %w", err).Causing(fault.Connectivity)
	}
	_ = resp.Body.Close() // that it came is enough
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return fault.New(fault.Unavailable, "it doesn't let the agent in").Causing(fault.Authentication)
	case resp.StatusCode >= http.StatusInternalServerError:
		return fault.New(fault.Unavailable, "it answers with status %d", resp.StatusCode).Causing(fault.Connectivity)
	}
	return nil
}

// abilities are what a cluster can do, as charts ask for it. They aren't changed.
type abilities struct {
	version string   // of Kubernetes
	kinds   []string // group/version and group/version/Kind, sorted
}

func (a abilities) same(b abilities) bool {
	return a.version == b.version && slices.Equal(a.kinds, b.kinds)
}

// abilities are those of the cluster. It is asked for its version from time to time:
// another one has other kinds. Kinds that somebody defines the watch hears of. What
// is known of either doesn't count if it is to be found out anew.
func (s *site) abilities(now time.Time, anew bool) (abilities, error) {
	s.telling.Lock()
	defer s.telling.Unlock()
	if anew {
		s.cluster.Mapper.Reset()
	} else if now.Before(s.told.Add(freshFor)) {
		return s.can, nil
	}
	found, err := chart.Capabilities(s.cluster.Kinds)
	if err == nil && s.can.version != "" && found.KubeVersion.Version != s.can.version {
		s.cluster.Mapper.Reset()
		found, err = chart.Capabilities(s.cluster.Kinds)
	}
	if err != nil {
		return abilities{}, err
	}
	s.can, s.told = abilities{version: found.KubeVersion.Version, kinds: slices.Sorted(slices.Values(found.APIVersions))}, now
	return s.can, nil
}

// sees says whether objects of a kind are looked at. The lock is held.
func (s *site) sees(gk schema.GroupKind) bool {
	if len(s.namespaces) == 0 || s.wide {
		return true
	}
	hidden, known := s.hidden[gk]
	if !known {
		m, err := s.cluster.Mapper.RESTMapping(gk)
		hidden = err == nil && m.Scope.Name() != meta.RESTScopeNameNamespace
		s.hidden[gk] = hidden
	}
	return !hidden
}

// site gives the one of a destination, which begins to watch when it is first asked
// for.
func (r *Reconciler) site(ctx context.Context, loops *sync.WaitGroup, c Cluster) (*site, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sites[c.Server]; s != nil {
		if s.cluster == c.Cluster && s.scripts == r.docs.Scripts && s.wide == c.Wide && slices.Equal(s.namespaces, c.Namespaces) {
			return s, nil
		}
		s.stop()
	}
	scripts := r.docs.Scripts
	w, err := live.New(live.Config{
		Cluster: c.Cluster, Agent: r.cfg.Agent, Namespaces: c.Namespaces, Changed: r.changed, Log: r.cfg.Log,
		HasHealth: func(gk schema.GroupKind) bool { return scripts.Has(gk.Group, gk.Kind) },
		Judge:     func(o *unstructured.Unstructured) *gitops.HealthStatus { return scripts.Health(ctx, o.Object) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch cluster %s: %w", c.Server, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	loops.Go(func() { _ = w.Run(ctx) }) // it ends with the context
	s := &site{
		cluster: c.Cluster, watcher: w, scripts: scripts, namespaces: c.Namespaces, wide: c.Wide, ended: ctx, stop: func() { cancel(errLetGo) },
		kinds: map[schema.GroupKind]int{}, hidden: map[schema.GroupKind]bool{},
	}
	r.sites[c.Server] = s
	return s, nil
}

// errLetGo is why a cluster isn't watched any more.
var errLetGo = fault.New(fault.Unavailable, "the cluster isn't the agent's any more, or is opened in another way")

// want has kinds watched, and waits until their objects are known. They stay watched
// until as many let go of them.
func (s *site) want(ctx context.Context, has, wants map[schema.GroupKind]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.Err() != nil {
		return nil // nothing is watched, and whoever is to go on finds another
	}
	more := false
	for gk := range wants {
		if !has[gk] && s.sees(gk) {
			more = more || s.kinds[gk] == 0
			s.kinds[gk]++
		}
	}
	for gk := range has {
		if wants[gk] || !s.sees(gk) {
			continue
		}
		if s.kinds[gk]--; s.kinds[gk] == 0 {
			delete(s.kinds, gk)
			more = true
		}
	}
	if !more && !s.unsure {
		return s.watcher.Forbidden(wants)
	}
	ctx, giveUp := context.WithTimeoutCause(ctx, wantWithin, fault.New(fault.Unavailable, "the cluster hasn't told its objects within %s", wantWithin).Causing(fault.Connectivity))
	defer giveUp()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.ended, func() { stop(errLetGo) })()
	err := s.watcher.Want(ctx, slices.Collect(maps.Keys(s.kinds)), slices.Collect(maps.Keys(wants)))
	s.unsure = ctx.Err() != nil
	return err
}

// namespaced says whether objects of a kind are in namespaces; false in known: the
// cluster doesn't have it.
func (s *site) namespaced(gvk schema.GroupVersionKind) (namespaced, known bool, err error) {
	m, err := s.cluster.Mapping(gvk)
	switch {
	case isNoKind(err):
		return true, false, nil
	case err != nil:
		return false, false, err
	}
	return m.Scope.Name() == meta.RESTScopeNameNamespace, true, nil
}
