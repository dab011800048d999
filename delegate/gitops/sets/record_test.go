package sets

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
)

// app is an application that deploys a revision.
func app(name, revision string) gitops.Application {
	return gitops.Application{
		Meta: gitops.Meta{Name: name, Labels: map[string]string{"made": "by-set"}, Annotations: map[string]string{"note": revision}, Finalizers: []string{"resources-finalizer.argocd.argoproj.io"}},
		Spec: gitops.ApplicationSpec{
			Source:      &gitops.Source{RepoURL: "https://git.example.com/a.git", TargetRevision: revision, Helm: &gitops.Helm{ValuesObject: json.RawMessage(`{"revision":"` + revision + `"}`)}},
			Destination: gitops.Destination{Name: "in-cluster"},
		},
	}
}

// told is a record for people: each application with its revision.
func told(r record) string {
	var out []string
	for name, own := range r.Applications {
		text := name + "@" + own.Application.Spec.Source.TargetRevision
		if own.Deleting {
			text += "!"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestWhatASetMayDo: what becomes of a@1 and b@1, which are a set's, when it comes to
// a@2 and c@2.
func TestWhatASetMayDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, policy, want string
		docs               Documents
		other              string
		out                *generate.Outcome
		failed             string
	}{
		{name: "all", want: "a@2 b@1! c@2"},
		{name: "sync", policy: appset.SyncAll, want: "a@2 b@1! c@2"},
		{name: "create only", policy: appset.CreateOnly, want: "a@1 b@1 c@2"},
		{name: "create and update", policy: appset.CreateUpdate, want: "a@2 b@1 c@2"},
		{name: "create and delete", policy: appset.CreateDelete, want: "a@1 b@1! c@2"},
		{name: "a generator that fails", out: &generate.Outcome{Reason: generate.ParametersFailed, Message: "it is down"}, want: "a@1 b@1", failed: "ApplicationParamsGenerationError: it is down"},
		{name: "nothing", out: &generate.Outcome{}, want: "a@1! b@1!"},
		{
			name: "a document of that name", docs: Documents{Applications: []gitops.Application{app("c", "0")}}, want: "a@2 b@1!",
			failed: "ApplicationValidationError: application c: it is kept as a document",
		},
		{name: "another set's", other: "c", want: "a@2 b@1!", failed: "ApplicationValidationError: application c: it is one of the set other already"},
		{
			name: "no such project", out: &generate.Outcome{Applications: []gitops.Application{of(app("a", "2"), "team"), app("b", "2")}}, want: "a@1 b@2",
			failed: "ApplicationValidationError: application a: this agent has no project team",
		},
		{
			name: "a project", docs: Documents{Projects: []gitops.Project{{Meta: gitops.Meta{Name: "team"}}}},
			out: &generate.Outcome{Applications: []gitops.Application{of(app("a", "2"), "team")}}, want: "a@2 b@1!",
		},
		{
			name: "no name of Kubernetes", out: &generate.Outcome{Applications: []gitops.Application{app("a", "2"), app("B b", "2")}}, want: "a@2 b@1!",
			failed: `ApplicationValidationError: application B b: name "B b" isn't one of Kubernetes`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := record{}.clone()
			r.Applications["a"], r.Applications["b"] = owned{Application: app("a", "1")}, owned{Application: app("b", "1")}
			out := generate.Outcome{Applications: []gitops.Application{app("a", "2"), app("c", "2")}}
			if tt.out != nil {
				out = *tt.out
			}
			set := appset.Set{Spec: appset.Spec{SyncPolicy: &appset.SyncPolicy{ApplicationsSync: tt.policy}}}
			others := map[string]string{tt.other: "other"}
			r.take(t.Context(), set, out, func(a *gitops.Application) error { return tt.docs.refuse(others, a) }, time.Unix(1, 0))
			if got := told(r); got != tt.want {
				t.Errorf("got %s; want %s", got, tt.want)
			}
			first := r.Conditions[0]
			if got := first.Reason + ": " + first.Message; (first.Status == "True") != (tt.failed != "") || tt.failed != "" && !strings.HasPrefix(got, tt.failed) {
				t.Errorf("got the condition %+v; want %q", first, tt.failed)
			}
		})
	}
}

func of(a gitops.Application, project string) gitops.Application {
	a.Spec.Project = project
	return a
}

// TestWhatOthersMayChange: fields that a set leaves to others keep what they are.
func TestWhatOthersMayChange(t *testing.T) {
	t.Parallel()
	spec := appset.Spec{
		Preserved: &appset.Preserved{Annotations: []string{"note", "absent"}, Labels: []string{"mine"}},
		IgnoreDifferences: []appset.IgnoreRule{
			{JSONPointers: []string{"/spec/source/targetRevision"}},
			{Name: "a", JQPathExpressions: []string{".spec.syncPolicy.automated"}},
			{Name: "other", JSONPointers: []string{"/spec/project"}},
		},
	}
	was := app("a", "1")
	was.Meta.Labels["mine"] = "yes"
	was.Spec.SyncPolicy = &gitops.SyncPolicy{SyncOptions: []string{"x=y"}}
	now := app("a", "2")
	now.Spec.Project = "team"
	now.Spec.SyncPolicy = &gitops.SyncPolicy{Automated: &gitops.Automated{Prune: true}}
	got, err := change(t.Context(), &spec, was, now)
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Spec; s.Source.TargetRevision != "1" || string(s.Source.Helm.ValuesObject) != `{"revision":"2"}` || s.Project != "team" ||
		s.SyncPolicy.Automated != nil || len(s.SyncPolicy.SyncOptions) != 0 {
		text, _ := json.Marshal(s) //nolint:errchkjson // it is shown
		t.Errorf("got %s", text)
	}
	if got.Meta.Annotations["note"] != "1" || got.Meta.Labels["mine"] != "yes" || got.Meta.Labels["made"] != "by-set" {
		t.Errorf("got the annotations %v and the labels %v", got.Meta.Annotations, got.Meta.Labels)
	}
}

// TestRequeue: how often sets are made by themselves.
func TestRequeue(t *testing.T) {
	t.Parallel()
	every := func(seconds int64) *appset.Git { return &appset.Git{RequeueAfterSeconds: &seconds} }
	for name, tt := range map[string]struct {
		of   []appset.Generator
		want time.Duration
	}{
		"a list":            {[]appset.Generator{{List: &appset.List{}}}, 0},
		"git":               {[]appset.Generator{{Git: &appset.Git{}}, {Git: every(600)}}, 3 * time.Minute},
		"never":             {[]appset.Generator{{Git: every(0)}}, 0},
		"one in a matrix":   {[]appset.Generator{{Matrix: &appset.Matrix{Generators: []appset.Generator{{Git: every(20)}, {Clusters: &appset.Clusters{}}}}}}, 20 * time.Second},
		"the least of many": {[]appset.Generator{{Git: every(40)}, {Merge: &appset.Merge{Generators: []appset.Generator{{Git: every(30)}}}}}, 30 * time.Second},
	} {
		if got := requeue(tt.of); got != tt.want {
			t.Errorf("%s: got %s; want %s", name, got, tt.want)
		}
	}
}

// TestHostsThatSayNothing: most of a set's applications go only if hosts say it twice.
func TestHostsThatSayNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		gen    appset.Generator
		apps   int
		rounds [2]int // how many go after each
	}{
		"pull requests":        {appset.Generator{PullRequests: &appset.PullRequests{}}, 10, [2]int{0, 10}},
		"in a matrix":          {appset.Generator{Matrix: &appset.Matrix{Generators: []appset.Generator{{}, {Plugin: &appset.Plugin{}}}}}, 12, [2]int{0, 12}},
		"few":                  {appset.Generator{SCMProvider: &appset.SCMProvider{}}, 9, [2]int{9, 9}},
		"what nobody is asked": {appset.Generator{List: &appset.List{}}, 20, [2]int{20, 20}},
	} {
		r := record{Applications: map[string]owned{}}
		for i := range tt.apps {
			id := fmt.Sprintf("a%d", i)
			r.Applications[id] = owned{Application: app(id, "1")}
		}
		set := appset.Set{Spec: appset.Spec{Generators: []appset.Generator{tt.gen}}}
		for round, want := range tt.rounds {
			r.take(t.Context(), set, generate.Outcome{}, func(*gitops.Application) error { return nil }, time.Now())
			going := 0
			for _, own := range r.Applications {
				if own.Deleting {
					going++
				}
			}
			if going != want {
				t.Errorf("%s: after round %d %d go; want %d", name, round+1, going, want)
			}
		}
	}
}
