package look

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestActions: which there are for an object as it is.
func TestActions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{apiVersion: apps/v1, kind: Deployment}":                                                     "pause restart scale",
		"{apiVersion: apps/v1, kind: Deployment, spec: {paused: true}}":                               "resume scale",
		"{apiVersion: apps/v1, kind: StatefulSet}":                                                    "restart scale",
		"{apiVersion: apps/v1, kind: DaemonSet}":                                                      "restart",
		"{apiVersion: batch/v1, kind: CronJob, spec: {suspend: true}}":                                "create-job resume",
		"{apiVersion: batch/v1, kind: Job}":                                                           "suspend terminate",
		"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}": "",
		"{apiVersion: argoproj.io/v1alpha1, kind: Rollout, status: {stableRS: a, currentPodHash: a}}": "pause restart",
		"{apiVersion: argoproj.io/v1alpha1, kind: Rollout, spec: {strategy: {canary: {steps: [{}]}}}, status: {pauseConditions: [{}], stableRS: a}}": "abort promote-full restart resume skip-current-step",
		"{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization}":                                                                          "reconcile suspend",
		"{apiVersion: external-secrets.io/v1, kind: ExternalSecret}":                                                                                 "refresh",
		"{apiVersion: v1, kind: ConfigMap}":                                                                                                          "",
	} {
		var names []string
		all, err := Actions(t.Context(), nil, decode(t, text))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if !a.Disabled {
				names = append(names, a.Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has %q; want %q", text, got, want)
		}
	}
}

func decode(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	doc, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestJobOf: a Job that a CronJob makes has a name that comes again with the request.
func TestJobOf(t *testing.T) {
	t.Parallel()
	cron := decode(t, "{apiVersion: batch/v1, kind: CronJob, metadata: {name: "+strings.Repeat("a", 52)+", namespace: shop, uid: u}, spec: {jobTemplate: {metadata: {labels: {a: b}}, spec: {x: 1}}}}")
	job, err := jobOf(asked{now: time.Unix(1_800_000_000, 0)}, cron)
	if err != nil {
		t.Fatal(err)
	}
	if name := job.GetName(); len(name) > 63 || !strings.HasSuffix(name, "-1800000000") || job.GetNamespace() != "shop" || job.GetOwnerReferences()[0].UID != "u" || job.GetLabels()["a"] != "b" {
		t.Errorf("the job is %v", job.Object)
	}
	if _, err := jobOf(asked{}, decode(t, "{kind: CronJob}")); err == nil {
		t.Error("a CronJob without a template makes a Job")
	}
}

// TestOffers: of the Rollouts of an application, those that pause can go on.
func TestOffers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"{apiVersion: argoproj.io/v1alpha1, kind: Rollout, status: {pauseConditions: [{}]}}": true,
		"{apiVersion: argoproj.io/v1alpha1, kind: Rollout}":                                  false,
		"{apiVersion: apps/v1, kind: DaemonSet}":                                             false,
	} {
		if got, err := Offers(t.Context(), nil, decode(t, text), "resume"); got != want || err != nil {
			t.Errorf("%s can go on: %t, %v; want %t", text, got, err, want)
		}
	}
}
