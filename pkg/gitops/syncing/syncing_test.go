package syncing

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

var began = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// cluster is what a sync does something to, and what it did, in batches.
type cluster struct {
	live     map[object.Key]*Live
	refuses  map[string]string // by verb and name
	health   map[string]gitops.HealthCode
	lingers  map[string]bool // is deleted only when it is told to be
	approved time.Time
	did      []string
}

func newCluster(live ...Item) *cluster {
	c := &cluster{live: map[object.Key]*Live{}, refuses: map[string]string{}, health: map[string]gitops.HealthCode{}, lingers: map[string]bool{}}
	for _, i := range live {
		c.live[i.Key] = &Live{UID: "old-" + i.Key.Name, Generation: 1}
	}
	return c
}

func (c *cluster) world() World {
	return World{Approved: c.approved, Live: func(k object.Key) *Live {
		l, ok := c.live[k]
		if !ok {
			return nil
		}
		seen := *l
		if code, ok := c.health[k.Name]; ok {
			seen.Health = &gitops.HealthStatus{Status: code}
		}
		return &seen
	}}
}

// run goes on until a sync has ended or waits. The state goes through its JSON
// before each step, as it does where it is stored.
func (c *cluster) run(t *testing.T, s *State) *State {
	t.Helper()
	for range 200 {
		doc, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		s = &State{}
		if err := json.Unmarshal(doc, s); err != nil {
			t.Fatal(err)
		}
		actions := s.Next(c.world())
		if len(actions) == 0 {
			return s
		}
		var batch []string
		for _, a := range actions {
			batch = append(batch, string(a.Verb)+" "+s.Tasks[a.Task].Key.Name)
			s.Record(a, c.do(s, a))
		}
		c.did = append(c.did, strings.Join(batch, ", "))
	}
	t.Fatalf("the sync doesn't come to an end: %q", c.did[len(c.did)-5:])
	return nil
}

func (c *cluster) do(s *State, a Action) Result {
	task := s.Tasks[a.Task]
	if why := c.refuses[string(a.Verb)+" "+task.Key.Name]; why != "" {
		return Result{Problem: why}
	}
	switch a.Verb {
	case Apply, Create:
		l := c.live[task.Key]
		if l == nil {
			l = &Live{UID: fmt.Sprintf("new-%s-%d", task.Key.Name, len(c.did))}
			c.live[task.Key] = l
		}
		l.Generation++
		if task.Hook {
			l.Operation = s.Mark(task)
		}
		return Result{UID: l.UID, Generation: l.Generation}
	case Prune, Remove:
		if l := c.live[task.Key]; l != nil && c.lingers[task.Key.Name] {
			l.Deleting = true
		} else {
			delete(c.live, task.Key)
		}
	case Try, Release:
	}
	return Result{}
}

// changes leaves out what changes nothing.
func (c *cluster) changes() []string {
	var out []string
	for _, batch := range c.did {
		actions := slices.DeleteFunc(strings.Split(batch, ", "), func(one string) bool {
			return strings.HasPrefix(one, "try ") || strings.HasPrefix(one, "release ")
		})
		if len(actions) > 0 {
			out = append(out, strings.Join(actions, ", "))
		}
	}
	return out
}

func item(kind, name string, notes ...string) Item {
	groups := map[string]string{"Deployment": "apps", "Job": "batch", "CustomResourceDefinition": "apiextensions.k8s.io", "Widget": "example.com"}
	i := Item{Key: object.Key{Group: groups[kind], Kind: kind, Namespace: "shop", Name: name}, Version: "v1", Annotations: map[string]string{}}
	if kind == "Namespace" || kind == "CustomResourceDefinition" {
		i.Key.Namespace = ""
	}
	short := map[string]string{
		"wave": object.AnnotationWave, "hook": object.AnnotationHook, "delete": object.AnnotationHookDelete, "options": object.AnnotationOptions,
	}
	for _, note := range notes {
		name, value, _ := strings.Cut(note, " ")
		if long := short[name]; long != "" {
			name = long
		}
		i.Annotations[name] = value
	}
	return i
}

func extra(i Item) Item { i.Extra = true; return i }

func request() Request { return Request{Revision: "0123456789abcdef", Started: began, Prune: true} }

func waves(s *State) map[string]int64 {
	out := map[string]int64{}
	for _, t := range s.Tasks {
		out[t.Key.Name] = t.Wave
	}
	return out
}

func want(t *testing.T, c *cluster, s *State, phase gitops.OperationPhase, message string, changes ...string) {
	t.Helper()
	if s.Phase != phase || !strings.Contains(s.Message, message) {
		t.Errorf("the sync is %s, %q; want %s, %q", s.Phase, s.Message, phase, message)
	}
	if got := c.changes(); !slices.Equal(got, changes) {
		t.Errorf("the sync did\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(changes, "\n"))
	}
}

// TestOrder: phases, waves, kinds, names; what can be done side by side is.
func TestOrder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		items   []Item
		changes []string
	}{
		"kinds, then names": {
			[]Item{item("Deployment", "web"), item("Widget", "w"), item("ConfigMap", "b"), item("ConfigMap", "a"), item("Namespace", "shop"), item("Service", "web")},
			[]string{"apply shop", "apply a, apply b", "apply web", "apply web", "apply w"},
		},
		"waves, also below zero": {
			[]Item{item("ConfigMap", "a", "wave 5"), item("Deployment", "b", "wave -1"), item("ConfigMap", "c")},
			[]string{"apply b", "apply c", "apply a"},
		},
		"Helm's weight is a wave": {
			[]Item{item("ConfigMap", "a", "helm.sh/hook-weight 3"), item("Deployment", "b")},
			[]string{"apply b", "apply a"},
		},
		"a namespace before what is in it": {
			[]Item{item("ConfigMap", "a", "wave -2"), item("Namespace", "shop", "wave 3")},
			[]string{"apply shop", "apply a"},
		},
		"a definition before its kind": {
			[]Item{item("Widget", "a", "wave -2"), func() Item {
				i := item("CustomResourceDefinition", "widgets.example.com", "wave 3")
				i.Defines = "example.com/Widget"
				return i
			}()},
			[]string{"apply widgets.example.com", "apply a"},
		},
		"extras after what is applied": {
			[]Item{extra(item("ConfigMap", "old")), extra(item("Namespace", "gone")), item("Deployment", "web")},
			[]string{"apply web", "prune old, prune gone"},
		},
		"hooks around": {
			[]Item{item("ConfigMap", "a"), item("Job", "before", "hook PreSync"), item("Job", "beside", "hook Sync"), item("Job", "after", "hook PostSync"), item("Job", "never", "hook SyncFail"), item("Job", "skipped", "hook Skip")},
			[]string{"create before", "apply a", "create beside", "create after"},
		},
		"Helm's hooks": {
			[]Item{item("ConfigMap", "a"), item("Job", "after", "helm.sh/hook post-install,post-upgrade", "helm.sh/hook-weight 5"), item("Job", "test", "helm.sh/hook test"), item("Job", "before", "helm.sh/hook pre-install")},
			[]string{"create before", "apply a", "create after"},
		},
		"Argo CD's hook comes before Helm's": {
			[]Item{item("ConfigMap", "a"), item("Job", "before", "helm.sh/hook post-install", "hook PreSync")},
			[]string{"create before", "apply a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			for _, i := range tt.items {
				if i.Extra {
					c.live[i.Key] = &Live{UID: "u"}
				}
			}
			s := c.run(t, Plan(request(), tt.items))
			want(t, c, s, gitops.OperationSucceeded, "successfully synced", tt.changes...)
		})
	}
}

// TestWavesOfPrunes: they are turned round among themselves.
func TestWavesOfPrunes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options []string
		items   []Item
		waves   map[string]int64
	}{
		"nothing to prune":      {nil, []Item{item("Pod", "a"), item("Pod", "b", "wave 4")}, map[string]int64{"a": 0, "b": 4}},
		"one wave":              {nil, []Item{extra(item("Pod", "a")), extra(item("Pod", "b")), item("Pod", "c")}, map[string]int64{"a": 0, "b": 0, "c": 0}},
		"all are pruned":        {nil, []Item{extra(item("Pod", "a", "wave 0")), extra(item("Pod", "b", "wave 1")), extra(item("Pod", "c", "wave 4"))}, map[string]int64{"a": 4, "b": 1, "c": 0}},
		"among what is applied": {nil, []Item{item("Pod", "a", "wave -1"), extra(item("Pod", "b", "wave 1")), item("Pod", "c", "wave 3"), extra(item("Pod", "d", "wave 3")), extra(item("Pod", "e", "wave 4")), extra(item("Pod", "f", "wave 5"))}, map[string]int64{"a": -1, "b": 5, "c": 3, "d": 4, "e": 3, "f": 1}},
		"all last":              {[]string{"PruneLast=true"}, []Item{item("Pod", "a", "wave 2"), extra(item("Pod", "b", "wave 1")), extra(item("Pod", "c", "wave 7"))}, map[string]int64{"a": 2, "b": 8, "c": 8}},
		"one last":              {nil, []Item{item("Pod", "a"), extra(item("Pod", "b", "wave 1")), extra(item("Pod", "c", "wave 2", "options PruneLast=true")), extra(item("Pod", "d", "wave 3")), extra(item("Pod", "e", "wave 4"))}, map[string]int64{"a": 0, "b": 4, "c": 5, "d": 2, "e": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request()
			r.Options = ParseOptions(tt.options)
			got := waves(Plan(r, tt.items))
			for name, wave := range tt.waves {
				if got[name] != wave {
					t.Errorf("%s has wave %d; want %d", name, got[name], wave)
				}
			}
		})
	}
}

// TestWaits: an object is waited for if something follows, and a hook always.
func TestWaits(t *testing.T) {
	t.Parallel()
	t.Run("one wave is applied, and that is it", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.health["web"] = gitops.Degraded
		s := c.run(t, Plan(request(), []Item{item("Deployment", "web")}))
		want(t, c, s, gitops.OperationSucceeded, "successfully synced", "apply web")
	})
	t.Run("a wave is healthy before the next begins", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.health["web"] = gitops.Progressing
		s := c.run(t, Plan(request(), []Item{item("Deployment", "web"), item("ConfigMap", "next", "wave 1")}))
		want(t, c, s, gitops.OperationRunning, "waiting until Deployment shop/web is healthy", "apply web")
		c.health["web"] = gitops.Healthy
		s = c.run(t, s)
		want(t, c, s, gitops.OperationSucceeded, "", "apply web", "apply next")
	})
	t.Run("what is seen is older than what was applied", func(t *testing.T) {
		t.Parallel()
		web := item("Deployment", "web")
		c := newCluster(web)
		c.health["web"] = gitops.Healthy
		s := c.run(t, Plan(request(), []Item{web, item("Job", "after", "hook PostSync")}))
		s.Tasks[0].State, s.Tasks[0].Generation, s.Tasks[1].State, s.Phase, s.Outcome = gitops.OperationRunning, 9, "", gitops.OperationRunning, ""
		s = c.run(t, s)
		if s.Phase != gitops.OperationRunning {
			t.Errorf("the sync is %s, %s; want it to wait", s.Phase, s.Message)
		}
	})
	t.Run("a degraded wave ends the sync", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.health["web"] = gitops.Degraded
		s := c.run(t, Plan(request(), []Item{item("Deployment", "web"), item("ConfigMap", "next", "wave 1"), item("Job", "undo", "hook SyncFail")}))
		want(t, c, s, gitops.OperationFailed, "Deployment shop/web is degraded", "apply web", "create undo")
	})
	t.Run("an object that is deleted while it is waited for", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.health["web"] = gitops.Progressing
		web := item("Deployment", "web")
		s := c.run(t, Plan(request(), []Item{web, item("ConfigMap", "next", "wave 1")}))
		delete(c.live, web.Key)
		s = c.run(t, s)
		want(t, c, s, gitops.OperationFailed, "Deployment shop/web is missing, it might have been deleted", "apply web")
		if s.Tasks[0].State != gitops.OperationError {
			t.Errorf("the object's phase is %s; want Error", s.Tasks[0].State)
		}
	})
	t.Run("what is pruned is gone before the next wave", func(t *testing.T) {
		t.Parallel()
		old := extra(item("Pod", "old"))
		c := newCluster(old)
		c.lingers["old"] = true
		s := c.run(t, Plan(request(), []Item{old, item("Pod", "next", "wave 1")}))
		want(t, c, s, gitops.OperationRunning, "waiting until Pod shop/old is gone", "prune old")
		delete(c.live, old.Key)
		s = c.run(t, s)
		want(t, c, s, gitops.OperationSucceeded, "", "prune old", "apply next")
	})
	t.Run("messages count what else there is", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.health["a"], c.health["b"], c.health["check"] = gitops.Progressing, gitops.Progressing, gitops.Progressing
		s := c.run(t, Plan(request(), []Item{item("Pod", "a"), item("Pod", "b"), item("Job", "check", "hook Sync")}))
		want(t, c, s, gitops.OperationRunning, "waiting until the hook Job shop/check ends, and 2 more", "apply a, apply b", "create check")
	})
}

// TestHooks: names, policies, ends.
func TestHooks(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, c *cluster, items ...Item) *State {
		t.Helper()
		return c.run(t, Plan(request(), items))
	}
	web := item("Deployment", "web")
	t.Run("a hook without a name gets one of the operation", func(t *testing.T) {
		t.Parallel()
		hook := item("Job", "", "hook PreSync,PostSync")
		hook.GenerateName = "migrate-"
		s := Plan(request(), []Item{hook})
		got := []string{s.Tasks[0].Key.Name, s.Tasks[1].Key.Name}
		if !slices.Equal(got, []string{"migrate-0123456-presync-1795435200", "migrate-0123456-postsync-1795435200"}) {
			t.Errorf("the names are %q", got)
		}
	})
	t.Run("one of two phases with one name runs in both", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		s := run(t, c, item("Job", "note", "hook PreSync,PostSync"), web)
		want(t, c, s, gitops.OperationSucceeded, "", "create note", "apply web", "remove note", "create note")
	})
	t.Run("a former one is deleted first", func(t *testing.T) {
		t.Parallel()
		hook := item("Job", "check", "hook PreSync")
		c := newCluster(hook)
		c.lingers["check"] = true
		s := run(t, c, hook, web)
		want(t, c, s, gitops.OperationRunning, "waiting until the former hook Job shop/check is gone", "remove check")
		delete(c.live, hook.Key)
		s = c.run(t, s)
		want(t, c, s, gitops.OperationSucceeded, "", "remove check", "create check", "apply web")
	})
	t.Run("a former one stays with another policy", func(t *testing.T) {
		t.Parallel()
		hook := item("Job", "check", "hook PreSync", "delete HookFailed")
		c := newCluster(hook)
		s := run(t, c, hook, web)
		want(t, c, s, gitops.OperationSucceeded, "", "apply check", "apply web")
	})
	t.Run("nothing is deleted while a phase goes on", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.health["a"], c.health["b"] = gitops.Progressing, gitops.Healthy
		s := run(t, c, item("Job", "a", "hook PreSync"), item("Job", "b", "hook PreSync", "delete HookSucceeded"))
		want(t, c, s, gitops.OperationRunning, "waiting until the hook Job shop/a ends", "create a, create b")
	})
	for name, tt := range map[string]struct {
		health  gitops.HealthCode
		phase   gitops.OperationPhase
		removed string
	}{
		"success": {gitops.Healthy, gitops.OperationSucceeded, "remove succeeded"},
		"failure": {gitops.Degraded, gitops.OperationFailed, "remove failed"},
	} {
		t.Run("policies at "+name, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			c.health["before"] = tt.health
			s := run(t, c, item("Job", "before", "hook Sync"), item("Job", "succeeded", "hook Sync", "delete HookSucceeded"), item("Job", "failed", "hook Sync", "delete HookFailed"))
			want(t, c, s, tt.phase, "", "create before, create failed, create succeeded", tt.removed)
			for _, task := range s.Tasks {
				if !task.Released && !task.Removed {
					t.Errorf("%s keeps its finalizer", task.Key)
				}
			}
		})
	}
	t.Run("one that fails has those for failures run", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.health["check"], c.health["undo"] = gitops.Degraded, gitops.Progressing
		s := run(t, c, web, item("Job", "check", "hook Sync"), item("Job", "undo", "hook SyncFail"), item("Job", "never", "hook PostSync"))
		want(t, c, s, gitops.OperationRunning, "waiting until the hook Job shop/undo ends", "apply web", "create check", "create undo")
		c.health["undo"] = gitops.Healthy
		s = c.run(t, s)
		want(t, c, s, gitops.OperationFailed, "hook Job shop/check failed", "apply web", "create check", "create undo")
	})
	t.Run("one of those that fails keeps back no other", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.refuses["apply web"], c.refuses["create bad"] = "the server says no", "no quota"
		s := run(t, c, web, item("Job", "bad", "hook SyncFail"), item("Job", "good", "hook SyncFail"))
		want(t, c, s, gitops.OperationFailed, "the server says no; one or more SyncFail hooks failed: no quota", "apply web", "create bad, create good")
	})
	t.Run("those that run are waited for before a failure", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.refuses["apply web"] = "the server says no"
		c.health["check"] = gitops.Progressing
		s := run(t, c, web, item("Pod", "check", "hook Sync"), item("Job", "undo", "hook SyncFail"))
		want(t, c, s, gitops.OperationRunning, "waiting until the hook Pod shop/check ends", "create check", "apply web")
	})
	t.Run("one that disappears has failed", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.health["check"] = gitops.Progressing
		hook := item("Job", "check", "hook PreSync")
		s := run(t, c, hook, web)
		delete(c.live, hook.Key)
		s = c.run(t, s)
		want(t, c, s, gitops.OperationFailed, "hook Job shop/check disappeared", "create check")
	})
	t.Run("one that was made by who was killed then isn't made again", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.health["check"] = gitops.Progressing
		hook := item("Job", "check", "hook PreSync")
		s := Plan(request(), []Item{hook, web})
		c.live[hook.Key] = &Live{UID: "made", Operation: s.Mark(s.Tasks[0])}
		s = c.run(t, s)
		want(t, c, s, gitops.OperationRunning, "waiting until the hook Job shop/check ends")
		c.health["check"] = gitops.Healthy
		s = c.run(t, s)
		want(t, c, s, gitops.OperationSucceeded, "", "apply web")
	})
	t.Run("none with the strategy apply, and none for chosen objects", func(t *testing.T) {
		t.Parallel()
		items := []Item{item("Job", "check", "hook PreSync"), web, item("ConfigMap", "other")}
		r := request()
		r.NoHooks = true
		c := newCluster()
		want(t, c, c.run(t, Plan(r, items)), gitops.OperationSucceeded, "", "apply other", "apply web")
		r = request()
		r.Only = []object.Key{web.Key}
		c = newCluster()
		want(t, c, c.run(t, Plan(r, items)), gitops.OperationSucceeded, "", "apply web")
	})
	t.Run("no hook is pruned", func(t *testing.T) {
		t.Parallel()
		hook := extra(item("Job", "check", "hook PreSync"))
		c := newCluster(hook)
		want(t, c, c.run(t, Plan(request(), []Item{hook})), gitops.OperationSucceeded, "")
	})
}

// TestRefusals: nothing is changed if anything is refused before.
func TestRefusals(t *testing.T) {
	t.Parallel()
	a, b, web := item("ConfigMap", "a"), item("ConfigMap", "b"), item("Deployment", "web")
	t.Run("a dry run", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.refuses["try web"] = "the field replica isn't known"
		s := c.run(t, Plan(request(), []Item{a, b, web, item("Job", "undo", "hook SyncFail")}))
		want(t, c, s, gitops.OperationFailed, "one or more objects failed to apply (dry run): the field replica isn't known")
	})
	t.Run("a dry run is all that is asked for", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		r := request()
		r.DryRun = true
		s := c.run(t, Plan(r, []Item{a, extra(b), item("Job", "check", "hook PreSync")}))
		want(t, c, s, gitops.OperationSucceeded, "dry run")
	})
	t.Run("the server can't refuse it", func(t *testing.T) {
		t.Parallel()
		harmless := a
		harmless.Harmless = true
		c := newCluster()
		c.run(t, Plan(request(), []Item{harmless, web}))
		if c.did[0] != "try web" {
			t.Errorf("the dry run was %q; want it of web alone", c.did[0])
		}
	})
	t.Run("the project", func(t *testing.T) {
		t.Parallel()
		denied := web
		denied.Refusal = "project shop doesn't permit apps/Deployment"
		c := newCluster()
		s := c.run(t, Plan(request(), []Item{a, denied}))
		want(t, c, s, gitops.OperationFailed, "doesn't permit")
		if len(c.did) != 0 {
			t.Errorf("the sync did %q; want nothing", c.did)
		}
	})
	t.Run("an apply keeps nothing back of its wave, and all after it", func(t *testing.T) {
		t.Parallel()
		c := newCluster()
		c.refuses["apply a"] = "a webhook says no"
		s := c.run(t, Plan(request(), []Item{a, b, web, item("Job", "late", "wave 1"), item("Job", "undo", "hook SyncFail")}))
		want(t, c, s, gitops.OperationFailed, "completed unsuccessfully: a webhook says no", "apply a, apply b", "apply web", "create undo")
	})
	t.Run("a prune", func(t *testing.T) {
		t.Parallel()
		c := newCluster(a)
		c.refuses["prune a"] = "forbidden"
		s := c.run(t, Plan(request(), []Item{extra(a)}))
		want(t, c, s, gitops.OperationFailed, "forbidden", "prune a")
	})
	t.Run("the namespace is there before the dry run", func(t *testing.T) {
		t.Parallel()
		r := request()
		ns := item("Namespace", "shop")
		r.Namespace = &ns
		c := newCluster()
		c.refuses["try web"] = "no"
		s := c.run(t, Plan(r, []Item{web}))
		want(t, c, s, gitops.OperationFailed, "(dry run): no", "apply shop")
		c = newCluster()
		s = c.run(t, Plan(r, []Item{web, item("Namespace", "shop", "a b")}))
		want(t, c, s, gitops.OperationSucceeded, "", "apply shop", "apply web")
	})
}

// TestOptions: what objects and applications ask for.
func TestOptions(t *testing.T) {
	t.Parallel()
	a := item("ConfigMap", "a")
	for name, tt := range map[string]struct {
		change func(*Request)
		items  []Item
		does   []string
		status gitops.ResultCode
	}{
		"pruning wasn't asked for": {func(r *Request) { r.Prune = false }, []Item{extra(a)}, nil, gitops.ResultPruneSkipped},
		"Prune=false":              {nil, []Item{extra(item("ConfigMap", "a", "options Prune=false"))}, nil, gitops.ResultPruneSkipped},
		"Prune=false of all":       {func(r *Request) { r.Options = ParseOptions([]string{"Prune=false"}) }, []Item{extra(a)}, nil, gitops.ResultPruneSkipped},
		"the object's comes first": {func(r *Request) { r.Options = ParseOptions([]string{"Prune=false"}) }, []Item{extra(item("ConfigMap", "a", "options Prune=true"))}, []string{"prune a"}, gitops.ResultPruned},
		"unchanged":                {nil, []Item{func() Item { i := a; i.Unchanged = true; return i }()}, nil, gitops.ResultSynced},
		"unchanged, but to be replaced": {
			func(r *Request) { r.Options = ParseOptions([]string{"Replace=true"}) },
			[]Item{func() Item { i := a; i.Unchanged = true; return i }()}, []string{"apply a"}, gitops.ResultSynced,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request()
			if tt.change != nil {
				tt.change(&r)
			}
			c := newCluster(a)
			s := c.run(t, Plan(r, tt.items))
			want(t, c, s, gitops.OperationSucceeded, "", tt.does...)
			if got := s.Results(); len(got) != 1 || got[0].Status != tt.status {
				t.Errorf("the results are %+v; want one, %s", got, tt.status)
			}
		})
	}
	t.Run("ApplyOutOfSyncOnly", func(t *testing.T) {
		t.Parallel()
		r := request()
		r.Options = ParseOptions([]string{"ApplyOutOfSyncOnly=true"})
		same := item("ConfigMap", "same")
		same.Synced = true
		c := newCluster(extra(item("ConfigMap", "old")))
		s := c.run(t, Plan(r, []Item{a, same, extra(item("ConfigMap", "old"))}))
		want(t, c, s, gitops.OperationSucceeded, "", "apply a", "prune old")
	})
	t.Run("Prune=confirm", func(t *testing.T) {
		t.Parallel()
		old := extra(item("ConfigMap", "old", "options Prune=confirm"))
		c := newCluster(old)
		c.approved = began.Add(-time.Minute) // of an earlier sync
		s := c.run(t, Plan(request(), []Item{a, old}))
		want(t, c, s, gitops.OperationRunning, "waiting for deletion confirmation of ConfigMap shop/old", "apply a")
		c.approved = began.Add(time.Minute)
		s = c.run(t, s)
		want(t, c, s, gitops.OperationSucceeded, "", "apply a", "prune old")
	})
	t.Run("for each object", func(t *testing.T) {
		t.Parallel()
		r := request()
		r.Options = ParseOptions([]string{"Validate=false", "SkipDryRunOnMissingResource=true", "PrunePropagationPolicy=orphan"})
		s := Plan(r, []Item{item("ConfigMap", "a", "options Replace=true,Force=true"), extra(item("ConfigMap", "b"))})
		if got := s.Tasks[0]; !got.Replace || !got.Force || got.Validate || !got.Lenient {
			t.Errorf("the task is %+v; want it replaced by force, not validated, and its kind may be missing", got)
		}
		if got := s.Tasks[1].Propagation; got != "orphan" {
			t.Errorf("it is pruned with %q; want orphan", got)
		}
	})
}

// TestTerminate: hooks that run go, others keep what came of them.
func TestTerminate(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.health["runs"], c.health["done"] = gitops.Progressing, gitops.Healthy
	s := c.run(t, Plan(request(), []Item{item("ConfigMap", "a"), item("Job", "runs", "hook Sync"), item("Job", "done", "hook Sync"), item("Job", "next", "hook PostSync")}))
	s.Terminate()
	s = c.run(t, s)
	want(t, c, s, gitops.OperationFailed, "Operation terminated", "apply a", "create done, create runs", "remove runs")
	for _, r := range s.Results() {
		if r.Name == "runs" && (r.HookPhase != gitops.OperationFailed || r.Message != "Terminated") || r.Name == "done" && r.HookPhase != gitops.OperationSucceeded {
			t.Errorf("the result of %s is %s, %q", r.Name, r.HookPhase, r.Message)
		}
	}
	s.Terminate()
	if s.Phase != gitops.OperationFailed {
		t.Errorf("what has ended became %s", s.Phase)
	}
}

// TestKilled: wherever a sync is killed, before a step or after what it did was
// done and before it was stored, it comes to the same end, and hooks run once.
func TestKilled(t *testing.T) {
	t.Parallel()
	items := []Item{
		item("Job", "before", "hook PreSync"), item("ConfigMap", "a", "wave -1"), item("Deployment", "web"), item("Job", "check", "hook Sync"),
		extra(item("ConfigMap", "old", "wave 1")), item("ConfigMap", "last", "wave 2"), item("Job", "after", "hook PostSync", "delete HookSucceeded"),
	}
	for at := range 40 {
		c := newCluster(extra(item("ConfigMap", "old", "wave 1")))
		created := map[string]int{}
		s := Plan(request(), items)
		step := 0
		for {
			actions := s.Next(c.world())
			stored, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if len(actions) == 0 {
				break
			}
			for _, a := range actions {
				if a.Verb == Create {
					created[s.Tasks[a.Task].Key.Name]++
				}
				r := c.do(s, a)
				if step++; step == at {
					s = &State{}
					if err := json.Unmarshal(stored, s); err != nil {
						t.Fatal(err)
					}
					break
				}
				s.Record(a, r)
			}
			if step > 200 {
				t.Fatalf("killed at %d, the sync doesn't come to an end", at)
			}
		}
		if s.Phase != gitops.OperationSucceeded {
			t.Errorf("killed at %d, the sync is %s: %s", at, s.Phase, s.Message)
		}
		for name, times := range created {
			if times != 1 {
				t.Errorf("killed at %d, the hook %s was made %d times", at, name, times)
			}
		}
	}
}

// TestRetryAfter: Duration × Factor^n, bounded, as often as is asked for.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	factor := int64(3)
	own := gitops.Retry{Limit: 4, Backoff: &gitops.Backoff{Duration: "2s", Factor: &factor, MaxDuration: "15s"}}
	for name, tt := range map[string]struct {
		retry gitops.Retry
		waits []string
	}{
		"none":      {gitops.Retry{}, nil},
		"usual":     {gitops.Retry{Limit: 7}, []string{"5s", "10s", "20s", "40s", "1m20s", "2m40s", "3m0s"}},
		"its own":   {own, []string{"2s", "6s", "15s", "15s"}},
		"for ever":  {gitops.Retry{Limit: -1, Backoff: &gitops.Backoff{Duration: "60", MaxDuration: "1m"}}, []string{"1m0s", "1m0s", "1m0s"}},
		"automated": {RetryOf(gitops.Operation{InitiatedBy: gitops.Initiator{Automated: true}}, nil), []string{"5s", "10s", "20s", "40s", "1m20s"}},
		"by hand":   {RetryOf(gitops.Operation{}, nil), nil},
		"app's":     {RetryOf(gitops.Operation{}, &gitops.SyncPolicy{Retry: &gitops.Retry{Limit: 1}}), []string{"5s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for n := int64(1); n <= int64(len(tt.waits))+1; n++ {
				wait, ok := RetryAfter(tt.retry, n)
				if ok {
					got = append(got, wait.String())
				}
			}
			if tt.retry.Limit < 0 {
				got = got[:len(tt.waits)]
			}
			if !slices.Equal(got, tt.waits) {
				t.Errorf("the waits are %q; want %q", got, tt.waits)
			}
		})
	}
}

// TestHooksOfADeletion: those of its phase run in waves, those of syncs never, and none
// comes after one that failed.
func TestHooksOfADeletion(t *testing.T) {
	t.Parallel()
	items := []Item{
		item("Job", "second", "hook PreDelete"), item("Job", "first", "hook PreDelete", "wave -1"), item("Job", "helm", "helm.sh/hook pre-delete", "helm.sh/hook-weight 2"),
		item("Job", "last", "hook PostDelete"), item("Job", "sync", "hook PreSync"), item("ConfigMap", "a"),
	}
	for name, tt := range map[string]struct {
		phase gitops.SyncPhase
		fails string
		want  string
		says  string
	}{
		"before":  {gitops.PreDelete, "", "create first|create second|create helm", ""},
		"after":   {gitops.PostDelete, "", "create last", ""},
		"failing": {gitops.PreDelete, "second", "create first|create second", "hook Job shop/second failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			c.health = map[string]gitops.HealthCode{"first": gitops.Healthy, "second": gitops.Healthy, tt.fails: gitops.Degraded}
			s := c.run(t, PlanDeletion(tt.phase, request(), items))
			if got := strings.Join(c.changes(), "|"); got != tt.want {
				t.Errorf("it did %q; want %q", got, tt.want)
			}
			if tt.says != "" && s.Phase != gitops.OperationFailed || tt.says == "" && s.Phase != gitops.OperationSucceeded || tt.says != "" && s.Message != tt.says {
				t.Errorf("it is %s: %q; want to be told %q", s.Phase, s.Message, tt.says)
			}
		})
	}
}
