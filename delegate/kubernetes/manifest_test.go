package kubernetes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/manifest"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// objects renders a manifest without values.
func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	out, err := render([]manifest.File{{Name: "all.yaml", Text: text}}, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRender(t *testing.T) {
	t.Parallel()
	config := func(data string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {x: " + data + "}\n"
	}
	tests := []struct {
		name, manifest, values string
		want                   string // of data.x
		err                    string
	}{
		{"kubernetes §23.3 a number with a leading zero is octal", config("{{ .Values.date | quote }}"), "date: 020724", "8660", ""},
		{"kubernetes §23.3 unless it is quoted", config("{{ .Values.date | quote }}"), `date: "020724"`, "020724", ""},
		{"kubernetes §4.2 a large number stays a number", config("{{ .Values.size | quote }}"), "size: 10000000", "10000000", ""},
		{"kubernetes §23.4 the delegate's environment is out of reach", config(`{{ env "HOME" }}`), "", "", `function "env" not defined`},
		{"kubernetes §4.2 a missing key is empty", config(`"a{{ .Values.none }}b"`), "", "ab", ""},
		{"kubernetes §4.2 toYaml and sprig", config(`{{ toYaml .Values.list | sha256sum | trunc 6 | quote }}`), "list: [1, 2]", "ef1ef8", ""},
		{"kubernetes §4.1 an expression in a manifest is left alone", config(`"<+artifact.image>"`), "", "<+artifact.image>", ""},
		{"kubernetes §4.6 an object twice", config("a") + "---\n" + config("b"), "", "", "ConfigMap/c twice"},
		{"a document without a kind", "metadata: {name: c}", "", "", "kind or apiVersion is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			values, err := manifest.Decode(tt.values)
			if err != nil {
				t.Fatal(err)
			}
			got, err := render([]manifest.File{{Name: "c.yaml", Text: tt.manifest}}, values, false)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v; want one about %s", err, tt.err)
				}
				return
			}
			if err != nil || text(got[0], "data", "x") != tt.want {
				t.Errorf("got %q, %v; want %q", text(got[0], "data", "x"), err, tt.want)
			}
		})
	}
}

func TestListsAndLabels(t *testing.T) {
	t.Parallel()
	got := objects(t, `
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {harness.io/skip-versioning: true}, labels: {tier: 1}}}
---
# nothing
---
{apiVersion: v1, kind: Secret, metadata: {name: b}}
`)
	if len(got) != 2 || !annotated(got[0], annotationSkipVersioning) || got[0].GetLabels()["tier"] != "1" {
		t.Errorf("got %v", got)
	}
}

// What else a separator may have in its line, and what isn't one.
func TestDocuments(t *testing.T) {
	t.Parallel()
	config := func(name string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}, data: {x: 1}}\n"
	}
	tests := []struct {
		name, manifest string
		want           []string
		err            string
	}{
		{"alone", "---\n" + config("a") + "---\n" + config("b"), []string{"a", "b"}, ""},
		{"with blanks", config("a") + "--- \t\n" + config("b") + "---\r\n" + config("c"), []string{"a", "b", "c"}, ""},
		{"with a comment", config("a") + "--- # of b\n" + config("b") + "---\t# of c\n" + config("c"), []string{"a", "b", "c"}, ""},
		{"with the document", config("a") + "--- " + config("b") + "--- " + config("c"), []string{"a", "b", "c"}, ""},
		{"with the first line of a block", config("a") + "--- apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n", []string{"a", "b"}, ""},
		{"a line of dashes", config("a") + "-------\n" + config("b"), []string{"a", "b"}, ""},
		{"within a text", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n    ---\n    --- # no\n    kind: X\n", []string{"a"}, ""},
		{"an end", config("a") + "...\n---\n" + config("b") + "...\n# no more\n", []string{"a", "b"}, ""},
		{"no more than an end", config("a") + "...\n" + config("b"), nil, "all.yaml, document 1: a second object follows"},
		{"JSON after JSON", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}` + "\n" + config("b"), nil, "a second object follows"},
		{"no end of line but a carriage return", config("a") + "# \r---\r" + config("b"), nil, "a second object follows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			all, err := render([]manifest.File{{Name: "all.yaml", Text: tt.manifest}}, nil, true)
			if tt.err != "" || err != nil {
				if err == nil || tt.err == "" || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%d objects, error %v; want %q", len(all), err, tt.err)
				}
				return
			}
			for _, o := range all {
				got = append(got, o.GetName())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// semantics/kubernetes §15: a path is of what has that name, and of others
// only if nothing has.
func TestChoose(t *testing.T) {
	t.Parallel()
	files := []manifest.File{{Name: "web.yaml"}, {Name: "old/web.yaml"}, {Name: "old/job.yaml"}, {Name: "older/web.yaml"}}
	tests := []struct {
		name  string
		paths []string
		want  []string // none: not found
	}{
		{"a file", []string{"web.yaml"}, []string{"web.yaml"}},
		{"a file of a folder, not its namesake above", []string{"old/web.yaml"}, []string{"old/web.yaml"}},
		{"a folder", []string{"/old/"}, []string{"old/web.yaml", "old/job.yaml"}},
		{"from the repository's root", []string{"deploy/web.yaml"}, []string{"web.yaml"}},
		{"a file of a folder from there", []string{"deploy/old/web.yaml"}, []string{"old/web.yaml"}},
		{"several", []string{"web.yaml", "older"}, []string{"web.yaml", "older/web.yaml"}},
		{"none", []string{"old/none.yaml"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found, err := choose(files, tt.paths)
			var got []string
			for _, f := range found {
				got = append(got, f.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != (tt.want == nil) {
				t.Errorf("error %v, files (-want +got):\n%s", err, diff)
			}
		})
	}
}

// semantics/kubernetes §23.1: the directive counts in the first line only.
func TestSkipDirective(t *testing.T) {
	t.Parallel()
	if !skipped(manifest.File{Text: skipDirective + "\nkind: Job"}) || skipped(manifest.File{Text: "\n" + skipDirective + "\nkind: Job"}) {
		t.Error("the directive counts in the first line, and only there")
	}
}

const workload = `
apiVersion: v1
kind: ConfigMap
metadata: {name: cfg}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
---
apiVersion: v1
kind: Secret
metadata: {name: pull, annotations: {harness.io/skip-versioning: "true"}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {tls: [{secretName: keys}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  template:
    spec:
      imagePullSecrets: [{name: pull}, {name: keys}]
      initContainers: [{name: i, env: [{name: E, valueFrom: {secretKeyRef: {name: keys, key: k}}}]}]
      containers: [{name: c, envFrom: [{configMapRef: {name: cfg}}, {configMapRef: {name: other}}]}]
      volumes:
        - {name: v, configMap: {name: cfg}}
        - {name: w, secret: {secretName: keys}}
        - {name: p, projected: {sources: [{configMap: {name: cfg}}, {secret: {name: keys}}]}}
`

// semantics/kubernetes §23.6 and §23.7: versioned names, and who refers to
// them.
func TestVersion(t *testing.T) {
	t.Parallel()
	all := objects(t, workload)
	made := version(all, 5)
	if diff := cmp.Diff([]string{"ConfigMap/cfg-5", "Secret/keys-5"}, made); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
	spec, _, _ := unstructured.NestedMap(all[4].Object, "spec", "template", "spec")
	want, err := manifest.Decode(`
imagePullSecrets: [{name: pull}, {name: keys-5}]
initContainers: [{name: i, env: [{name: E, valueFrom: {secretKeyRef: {name: keys-5, key: k}}}]}]
containers: [{name: c, envFrom: [{configMapRef: {name: cfg-5}}, {configMapRef: {name: other}}]}]
volumes:
  - {name: v, configMap: {name: cfg-5}}
  - {name: w, secret: {secretName: keys-5}}
  - {name: p, projected: {sources: [{configMap: {name: cfg-5}}, {secret: {name: keys-5}}]}}
`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("the pod's spec (-want +got):\n%s", diff)
	}
	tls, _, _ := unstructured.NestedSlice(all[3].Object, "spec", "tls")
	if diff := cmp.Diff([]any{map[string]any{"secretName": "keys"}}, tls); diff != "" {
		t.Errorf("the Ingress (-want +got):\n%s", diff)
	}
	if long := withSuffix(strings.Repeat("a", 250), "-canary"); len(long) != maxName || !strings.HasSuffix(long, "-canary") {
		t.Errorf("a long name became %d characters", len(long))
	}
}

// semantics/kubernetes §23.16: percentages are rounded up, and at least one.
func TestSelected(t *testing.T) {
	t.Parallel()
	percent := func(n int) *lane.InstanceSelection { return &lane.InstanceSelection{Percentage: &n} }
	two := 2
	for _, tt := range []struct {
		selection *lane.InstanceSelection
		base      int64
		want      int64
	}{{percent(50), 3, 2}, {percent(10), 4, 1}, {&lane.InstanceSelection{Count: &two}, 9, 2}, {percent(0), 4, 1}, {nil, 4, 1}} {
		if got := selected(tt.selection, tt.base); got != tt.want {
			t.Errorf("%+v of %d is %d, want %d", tt.selection, tt.base, got, tt.want)
		}
	}
}

// semantics/kubernetes §23.17: exactly one workload, unless the others ask to
// be left alone.
func TestSingle(t *testing.T) {
	t.Parallel()
	deployment := func(name, annotations string) string {
		return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", annotations: {" + annotations + "}}\n"
	}
	if _, err := single(objects(t, deployment("a", "")+deployment("b", "")), "canary", "Deployment"); err == nil {
		t.Error("two workloads were accepted")
	}
	w, err := single(objects(t, deployment("a", "")+deployment("b", "harness.io/direct-apply: true")), "canary", "Deployment")
	if err != nil || w.GetName() != "a" {
		t.Errorf("%v, %v", w, err)
	}
}

func TestStagedServices(t *testing.T) {
	t.Parallel()
	service := func(name, annotations string) string {
		return "---\napiVersion: v1\nkind: Service\nmetadata: {name: " + name + ", annotations: {" + annotations + "}}\nspec: {clusterIP: 10.0.0.9, ports: [{port: 80, nodePort: 30000}]}\n"
	}
	tests := []struct{ name, manifest, primary, stage, err string }{
		{"kubernetes §23.20 one service: the stage's is a clone", service("web", ""), "web", "web-stage", ""},
		{"two annotated", service("b", "harness.io/stage-service: true") + service("a", "harness.io/primary-service: true"), "a", "b", ""},
		{"two, one annotated: a clone", service("a", "harness.io/primary-service: true") + service("b", ""), "a", "a-stage", ""},
		{"two, none annotated", service("a", "") + service("b", ""), "", "", "none is annotated"},
		{"none", "", "", "", "no Service found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			primary, stage, all, err := stagedServices(objects(t, tt.manifest))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v; want one about %s", err, tt.err)
				}
				return
			}
			if err != nil || primary.GetName() != tt.primary || stage.GetName() != tt.stage {
				t.Fatalf("%v, %v, %v", primary, stage, err)
			}
			if strings.HasSuffix(tt.stage, "-stage") {
				ports, _, _ := unstructured.NestedSlice(stage.Object, "spec", "ports")
				if text(stage, "spec", "clusterIP") != "" || len(all) == 1 || ports[0].(map[string]any)["nodePort"] != nil {
					t.Errorf("the clone has what only one service can have: %v", stage)
				}
			}
		})
	}
}

// givenUp is a Deployment with a deadline of ten minutes whose pods were
// changed at ten o'clock, before it was scaled and its controller gave it up.
func givenUp(at string) string {
	return `{kind: Deployment, metadata: {managedFields: [
  {manager: slipway, operation: Apply, time: '2026-01-02T10:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:spec': {'f:template': {}}}},
  {manager: autoscaler, operation: Update, subresource: scale, time: '2026-01-02T10:05:00Z', fieldsType: FieldsV1, fieldsV1: {'f:spec': {'f:replicas': {}}}}]},
  spec: {replicas: 1}, status: {conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, lastUpdateTime: '2026-01-02T` + at + `Z'}]}}`
}

func TestRollout(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, object string
		done         bool
		err          bool
	}{
		{"a Deployment that has rolled out", "{kind: Deployment, metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}}", true, false},
		{"one that the controller hasn't seen", "{kind: Deployment, metadata: {generation: 3}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}}", false, false},
		{"old pods left", "{kind: Deployment, spec: {replicas: 2}, status: {replicas: 3, updatedReplicas: 2, availableReplicas: 2}}", false, false},
		{"no replicas wanted", "{kind: Deployment, spec: {replicas: 0}, status: {}}", true, false},
		{"past its deadline", "{kind: Deployment, spec: {replicas: 1}, status: {conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}}", false, true},
		{"given up in time", givenUp("10:10:05"), false, true},
		{"given up by the clock of the roll-out before", givenUp("10:09:55"), false, false},
		{"a StatefulSet in the middle", "{kind: StatefulSet, spec: {replicas: 2}, status: {readyReplicas: 2, updatedReplicas: 1, currentRevision: a, updateRevision: b}}", false, false},
		{"a StatefulSet with a partition", "{kind: StatefulSet, spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}, status: {readyReplicas: 3, updatedReplicas: 1, currentRevision: a, updateRevision: b}}", true, false},
		{"a DaemonSet", "{kind: DaemonSet, status: {desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1}}", false, false},
		{"a Job that is done", "{kind: Job, status: {succeeded: 1, conditions: [{type: Complete, status: 'True'}]}}", true, false},
		{"kubernetes §23.27 a Job that failed", "{kind: Job, status: {conditions: [{type: Failed, status: 'True', message: BackoffLimitExceeded}]}}", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := manifest.Decode(tt.object)
			if err != nil {
				t.Fatal(err)
			}
			done, progress, err := rollout(&unstructured.Unstructured{Object: m})
			if done != tt.done || (err != nil) != tt.err || progress == "" {
				t.Errorf("done %v, progress %q, error %v", done, progress, err)
			}
		})
	}
}
