package execution

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
)

// ferries are kinds of task: "ferry" fetches what its spec names, "note" names
// texts alone.
func ferries() swimlane.Kinds {
	return swimlane.Kinds{
		{Name: "ferry", Fetched: swimlane.Fetching(func(s *struct{ Paths []string }) swimlane.Fetched {
			return swimlane.Fetched{Files: len(s.Paths) > 0, Stored: s.Paths}
		})},
		{Name: "note", Fetched: swimlane.FetchesNothing},
	}
}

// ferrying is a task that names paths of the file store.
func ferrying(t *testing.T, paths ...string) store.Task {
	t.Helper()
	spec, err := json.Marshal(struct{ Paths []string }{paths})
	must(t, err)
	payload, err := json.Marshal(task.Work{Spec: spec})
	must(t, err)
	return store.Task{ID: "t1", Kind: "ferry", Scope: webScope(), Execution: "x1", Node: "n", Payload: payload}
}

// A delegate reads those files alone that its task names: themselves, or what is
// in a folder that it names. Of a path with a secret in it only what is before the
// secret is known here.
func TestADelegateReadsWhatItsTaskNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		names []string
		asks  string
		may   bool
	}{
		{"the file", []string{"/a/values.yaml"}, "/a/values.yaml", true},
		{"another beside it", []string{"/a/values.yaml"}, "/a/other.yaml", false},
		{"one whose name begins so", []string{"/a/values"}, "/a/values-secret.yaml", false},
		{"in a folder", []string{"/a"}, "/a/b/c.yaml", true},
		{"beside a folder whose name begins so", []string{"/a"}, "/ab/c.yaml", false},
		{"the second of two", []string{"/a", "/b"}, "/b/c.yaml", true},
		{"of the organization", []string{"org:/a"}, "org:/a/b.yaml", true},
		{"of the organization, named in the project", []string{"/a"}, "org:/a/b.yaml", false},
		{"of the project, named in the organization", []string{"org:/a"}, "/a/b.yaml", false},
		{"up to a secret", []string{"/a/env-<<s>>/x.yaml"}, "/a/env-blue/x.yaml", true},
		{"not what comes before it", []string{"/a/env-<<s>>/x.yaml"}, "/a/other.yaml", false},
		{"up to a secret that is a whole name", []string{"/a/<<s>>"}, "/a/b", true},
		{"outside of that", []string{"/a/<<s>>"}, "/b", false},
		{"nothing", nil, "/a", false},
		{"a path that is none", []string{"galaxy:/a"}, "/a", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			of := ferrying(t, tt.names...)
			of.Secrets = map[string]string{"<<s>>": "zone"}
			file, err := ref.ParseFile(tt.asks, of.Scope)
			must(t, err)
			if err := mayRead(ferries(), of, file); tt.may && err != nil || !tt.may && !fault.Is(err, fault.Forbidden) {
				t.Errorf("%v; may be read: %v", err, tt.may)
			}
		})
	}
	of := ferrying(t, "/a")
	of.Kind = "carrier pigeon"
	if err := mayRead(ferries(), of, ref.File{Scope: of.Scope, Path: "/a"}); err == nil || fault.Is(err, fault.Forbidden) {
		t.Errorf("a task of a kind that nobody knows: %v; want that it can't be judged", err)
	}
}

// Only what fetches files may have texts resolved: all other texts came with the
// task.
func TestWhichTasksMayAsk(t *testing.T) {
	t.Parallel()
	note := ferrying(t)
	note.Kind = "note"
	config := note
	config.LateTexts = map[string]task.LateText{"<<c>>": {Git: &task.Git{}}}
	for _, tt := range []struct {
		name string
		task store.Task
		may  bool
	}{
		{"values in the file store", ferrying(t, "/values.yaml"), true},
		{"no files", ferrying(t), false},
		{"texts alone", note, false},
		{"a config file in Git", config, true},
	} {
		err := mayAsk(ferries(), tt.task)
		if tt.may && err != nil || !tt.may && !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v; may ask: %v", tt.name, err, tt.may)
		}
		if !tt.may && !strings.Contains(err.Error(), "has to be named in the step itself") {
			t.Errorf("%s: %v; want where the secret can be named", tt.name, err)
		}
	}
}

// A delegate whose token is bound to what documents name gets no secret that only
// a file in a repository names.
func TestWhichSecretsABoundDelegateGets(t *testing.T) {
	t.Parallel()
	of := store.Task{ID: "t1", Secrets: map[string]string{"<<p>>": "secret own"}}
	bound := store.Delegate{Name: "d1", Binding: &store.Binding{NamedSecrets: true}}
	loose := store.Delegate{Name: "d2", Binding: &store.Binding{}}
	for _, tt := range []struct {
		name     string
		delegate store.Delegate
		named    resolve.Named
		may      bool
	}{
		{"of a document", bound, resolve.Named{Name: "secret doc"}, true},
		{"of a file alone", bound, resolve.Named{Name: "secret file", ByText: true}, false},
		{"of a file, and the task brought it", bound, resolve.Named{Name: "secret own", ByText: true}, true},
		{"a delegate that isn't bound", store.Delegate{}, resolve.Named{Name: "secret file", ByText: true}, true},
		{"one that is bound to something else", loose, resolve.Named{Name: "secret file", ByText: true}, true},
	} {
		err := onlyNamed(tt.delegate, of, []resolve.Named{tt.named})
		if tt.may && err != nil || !tt.may && !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v; may have it: %v", tt.name, err, tt.may)
		}
	}
}

// The audit trail says who was given what for which step, the same once, and
// nothing where nothing was given.
func TestWhatIsRevealedIsRecordedOnce(t *testing.T) {
	t.Parallel()
	s, d := ofOneDelegate(t)
	of := store.Task{ID: "t1", Scope: webScope(), Execution: "x1", Node: "s.a", Attempt: 2, Secrets: map[string]string{"<<p>>": "secret own"}}
	record := func(named ...resolve.Named) {
		t.Helper()
		must(t, s.recordRevealed(t.Context(), d, of, named, audit.Author{Actor: "delegate " + d.Name}))
	}
	record()
	record(resolve.Named{Name: "secret doc"}, resolve.Named{Name: "secret own", ByText: true}, resolve.Named{Name: "secret file", ByText: true})
	record(resolve.Named{Name: "secret doc"}, resolve.Named{Name: "secret own", ByText: true}, resolve.Named{Name: "secret file", ByText: true})
	record(resolve.Named{Name: "secret more", ByText: true})
	list, err := s.Store.ListAudit(t.Context(), webScope().Account, 0, 100)
	must(t, err)
	got := map[string]int{}
	for _, r := range list {
		if r.Action == audit.Reveal {
			_, after, _ := strings.Cut(r.After, "attempt: 2\n")
			got[after]++
		}
	}
	want := map[string]int{
		"namedInDocuments:\n  - \"secret doc\"\n  - \"secret own\"\nnamedInFilesAlone:\n  - \"secret file\"\n": 1,
		"namedInFilesAlone:\n  - \"secret more\"\n":                                                            1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the trail says (-want +got):\n%s", diff)
	}
	if err := s.recordRevealed(t.Context(), d, of, make([]resolve.Named, MaxRevealed+1), audit.Author{}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("one more than there may be: %v", err)
	}
	must(t, s.recordRevealed(t.Context(), d, of, make([]resolve.Named, MaxRevealed), audit.Author{}))
}
