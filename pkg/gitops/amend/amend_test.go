package amend_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/amend"
)

const charted = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: web # the shop
spec:
  project: default
  source:
    repoURL: https://git.example.com/web.git
    path: chart
    targetRevision: v1 # by the release
    helm:
      valueFiles: [values.yaml]
      parameters:
        # who uses it
        - name: image.tag
          value: "1"
          forceString: true
`

const two = `gitopsApplication:
  agentIdentifier: eu1
  app:
    metadata: {name: web}
    spec:
      sources:
        - repoURL: https://charts.example.com
          chart: web
          targetRevision: 1.0.0
        - repoURL: https://git.example.com/values.git
          ref: values
`

func TestApplication(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text   string
		change amend.Change
		old    []string // with what stands in its place
		fails  string
	}{
		"of Helm": {
			text: charted,
			change: amend.Change{Source: amend.Source{
				TargetRevision: "v2", Parameters: []gitops.HelmParameter{{Name: "image.tag", Value: "2"}, {Name: "replicas", Value: "3"}},
				FileParameters: []gitops.HelmFileParameter{{Name: "image.tag", Path: "tag.txt"}}, ValueFiles: []string{"prod.yaml"},
			}},
			old: []string{
				"v1 # by", "v2 # by", " [values.yaml]", "\n        - prod.yaml", `value: "1"`, `value: "2"`,
				"forceString: true\n", "forceString: true\n        - name: replicas\n          value: \"3\"\n      fileParameters:\n        - name: image.tag\n          path: tag.txt\n",
			},
		},
		"what it says already": {text: charted, change: amend.Change{Source: amend.Source{TargetRevision: "v1", Parameters: []gitops.HelmParameter{{Name: "image.tag", Value: "1"}}}}},
		"of Kustomize": {
			text: strings.Replace(charted, charted[strings.Index(charted, "    helm:"):], "    kustomize:\n      images: [web=registry/web:1, proxy]\n      replicas: [{name: web, count: 2}]\n", 1),
			change: amend.Change{Source: amend.Source{
				Images: []string{"web=registry/web:2", "registry:5000/cache@sha256:0"}, Replicas: []amend.Replica{{Name: "web", Count: 4}, {Name: "proxy", Count: 1}}, Namespace: "shop",
			}},
			old: []string{
				"[web=registry/web:1, proxy]", "['web=registry/web:2', proxy, 'registry:5000/cache@sha256:0']", "count: 2}]", "count: 4}, {name: proxy, count: 1}]\n      namespace: shop",
			},
		},
		"by a ref": {
			text: two, change: amend.Change{Sources: []amend.Source{{Ref: "values", TargetRevision: "main"}}},
			old: []string{"ref: values\n", "ref: values\n          targetRevision: main\n"},
		},
		"by where it is": {
			text: two, change: amend.Change{Sources: []amend.Source{{RepoURL: "https://git.example.com/values", TargetRevision: "main"}}},
			old: []string{"ref: values\n", "ref: values\n          targetRevision: main\n"},
		},
		"by its place": {
			text: two, change: amend.Change{Sources: []amend.Source{{TargetRevision: "1.1.0"}}},
			old: []string{"1.0.0", "1.1.0"},
		},
		"a place that isn't there": {text: charted, change: amend.Change{Sources: []amend.Source{{}, {TargetRevision: "2"}}}, fails: "sources[1]: the application has 1 sources, and none with this ref"},
		"one of several":           {text: two, change: amend.Change{Source: amend.Source{TargetRevision: "2"}}, fails: "the application has 2 sources; say by sources which are meant"},
		"another tool":             {text: charted, change: amend.Change{Source: amend.Source{Images: []string{"web:2"}}}, fails: "the source has helm, so that what is said of another tool would change nothing"},
		"a chart's":                {text: two, change: amend.Change{Sources: []amend.Source{{Namespace: "shop"}}}, fails: "sources[0]: the source has chart"},
		"without a spec":           {text: "kind: Application\n", change: amend.Change{}, fails: "no spec of its own"},
		"nothing":                  {text: "", change: amend.Change{}, fails: "the document is empty"},
		"an alias":                 {text: "a: &a {repoURL: u}\nspec: {source: *a}\n", change: amend.Change{Source: amend.Source{Path: "p"}}, fails: "by an alias; change it there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := amend.Application([]byte(tt.text), tt.change)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("found %v; want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := tt.text
			for i := 0; i < len(tt.old); i += 2 {
				if !strings.Contains(want, tt.old[i]) {
					t.Fatalf("the text has no %q", tt.old[i])
				}
				want = strings.Replace(want, tt.old[i], tt.old[i+1], 1)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := amend.Application(got, tt.change)
			if err != nil || string(again) != string(got) {
				t.Errorf("changed once more it is\n%s\n%v", again, err)
			}
		})
	}
}
