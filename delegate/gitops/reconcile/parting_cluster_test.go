package reconcile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// comes waits until the cluster is as somebody wants it.
func (w *world) comes(what string, is func() bool) {
	w.Helper()
	over := time.After(patience)
	for !is() {
		select {
		case <-time.After(debounce):
		case <-over:
			w.Fatalf("%s doesn't come", what)
		}
	}
}

const repositoryGone = "when the repository has gone"

// TestHooksOfADeletion: they run before and after what is deleted, once each, in waves,
// though the agent is killed meanwhile or the repository has gone.
func TestHooksOfADeletion(t *testing.T) {
	t.Parallel()
	for at, kill := range map[string]func(w *world) bool{
		"never":              nil,
		repositoryGone:       nil,
		"at the first hook":  func(w *world) bool { return w.job("first") != nil },
		"at the second hook": func(w *world) bool { return w.job("second") != nil },
		"at the last hook":   func(w *world) bool { return w.job("after") != nil },
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.git.Commit(map[string]string{
				"web/first.yaml":  job("first", "none", fmt.Sprintf(hookNote, "PreDelete"), fmt.Sprintf(waveNote, -1)),
				"web/second.yaml": job("second", "none", fmt.Sprintf(hookNote, "PreDelete"), fmt.Sprintf(policyNote, "HookSucceeded")),
				"web/a.yaml":      configMap("a", "one"),
				"web/after.yaml":  job("after", "none", fmt.Sprintf(hookNote, "PostDelete")),
			})
			made := w.jobsMade()
			w.save(w.app("web", automated))
			w.start()
			w.until("web", "synced", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == gitops.Synced })
			if w.job("first") != nil || w.job("second") != nil || w.job("after") != nil {
				t.Fatal("hooks of the deletion ran in a sync")
			}
			if at == repositoryGone {
				w.save(w.app("web", func(s *gitops.ApplicationSpec) { s.Source.RepoURL = "http://127.0.0.1:1/gone.git" }))
			}
			wait := w.gone("web", Deletion{Request: "one", Cascade: true})
			w.save()
			if kill != nil {
				w.comes("the hook", func() bool { return kill(w) })
				w.stop()
				w.start() // nobody asks for it again
				w.comes("the end", func() bool { return len(w.kept()) == 0 })
			} else {
				wait()
			}
			first, after := w.job("first"), w.job("after")
			if w.data("a", "a") != "" || first == nil || after == nil {
				t.Fatalf("a is %q, first is %v, after is %v; want a deleted, and the hooks to stay", w.data("a", "a"), first, after)
			}
			if len(first.GetFinalizers()) > 0 || len(after.GetFinalizers()) > 0 {
				t.Errorf("finalizers %v and %v stay", first.GetFinalizers(), after.GetFinalizers())
			}
			if o := w.job("second"); o != nil && o.GetDeletionTimestamp() == nil {
				t.Error("the second hook stays; want it deleted as it succeeded")
			}
			for name, uids := range made() {
				if len(uids) != 1 {
					t.Errorf("the hook %s was made %d times", name, len(uids))
				}
			}
		})
	}
}

// kept are the records that the agent keeps.
func (w *world) kept() map[Key]*record {
	w.Helper()
	r := &Reconciler{cfg: w.cfg, records: map[Key]*record{}, clock: time.Now}
	if err := r.load(w.Context()); err != nil {
		w.Fatal(err)
	}
	return r.records
}

// TestAHookThatStopsADeletion: nothing is deleted, who asked is told why, and the
// deletion goes on, also with another process, when the hook is mended.
func TestAHookThatStopsADeletion(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{"PreDelete", "PostDelete"} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.git.Commit(map[string]string{"web/hook.yaml": job("hook", "crashloop", fmt.Sprintf(hookNote, phase)), "web/a.yaml": configMap("a", "one")})
			w.save(w.app("web", automated))
			w.start()
			w.until("web", "synced", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == gitops.Synced })
			told := make(chan error, 1)
			if err := w.Delete(Key{Name: "web"}, Deletion{Request: "one", Cascade: true, Done: func(err error) { told <- err }}); err != nil {
				t.Fatal(err)
			}
			w.save()
			select {
			case err := <-told:
				if err == nil || !strings.Contains(err.Error(), phase+" hooks failed") {
					t.Errorf("who asked is told %v", err)
				}
			case <-time.After(patience):
				t.Fatal("nobody is told why the deletion stops")
			}
			w.until("web", "stopped", func(s gitops.ApplicationStatus) bool {
				return len(s.Conditions) > 0 && s.Conditions[0].Type == gitops.ConditionDeletionError
			})
			if got, want := w.data("a", "a"), map[string]string{"PreDelete": "one"}[phase]; got != want {
				t.Errorf("a is %q; want %q", got, want)
			}
			failed := w.job("hook").GetUID()
			w.git.Commit(map[string]string{"web/hook.yaml": job("hook", "none", fmt.Sprintf(hookNote, phase))})
			w.stop()
			w.start()
			if err := w.Refresh(Key{Name: "web"}, false); err != nil {
				t.Fatal(err)
			}
			w.comes("the end", func() bool { return len(w.kept()) == 0 })
			if o := w.job("hook"); w.data("a", "a") != "" || o == nil || o.GetUID() == failed {
				t.Errorf("a is %q, and the hook is %v; want a deleted, and another hook", w.data("a", "a"), o)
			}
		})
	}
}

// TestADeletionWhileAHookHangs: the finalizer of a hook that a sync left holds nothing up.
func TestADeletionWhileAHookHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git.Commit(map[string]string{"web/before.yaml": job("before", "never-ready", fmt.Sprintf(hookNote, "PreSync")), "web/a.yaml": configMap("a", "one")})
	w.save(w.app("web", automated))
	w.start()
	w.comes("the hook", func() bool { return w.job("before") != nil })
	wait := w.gone("web", Deletion{Request: "one", Cascade: true})
	w.save()
	wait()
	w.comes("the hook's end", func() bool { return w.job("before") == nil })
}
