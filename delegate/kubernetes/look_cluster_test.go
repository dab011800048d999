package kubernetes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

func secretYAML(name, value string) string {
	return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", annotations: {harness.io/skip-versioning: \"true\"}}\nstringData: {token: " + value + "}\n"
}

// semantics/kubernetes §15: a dry run gives the manifests, asks the cluster
// and changes nothing.
func TestDryRunStepChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := s.succeed(t, s.step(lane.OpDryRun, configYAML("cfg", "1")+secretYAML("key", "geheim")))
	if got := s.names(t); len(got) != 0 {
		t.Errorf("there are %v", got)
	}
	if got := s.records(t); len(got) != 0 {
		t.Errorf("it made the releases %v", got)
	}
	for _, path := range []string{`"ManifestDryRun":`, `"manifestDryRun":`, `kind: ConfigMap`, `namespace: ` + s.namespace} {
		if !contains(string(e.Outputs), path) {
			t.Errorf("the outputs don't have %s:\n%s", path, e.Outputs)
		}
	}
	if contains(string(e.Outputs), "geheim") {
		t.Error("a Secret's value is among the outputs")
	}
	s.fail(t, s.step(lane.OpDryRun, deploymentYAML("web", "nginx:1", 1)+"      nonsense: 1\n"), "Deployment/web", "nonsense")
}

func TestDryRunKeepsItsOutputSecretIfAskedTo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(lane.OpDryRun, secretYAML("key", "geheim"))
	p.EncryptOutput = true
	e := s.succeed(t, p)
	if contains(string(e.Outputs), "kind:") {
		t.Errorf("the manifests are among the outputs: %s", e.Outputs)
	}
	if !contains(e.SecretOutputs["k8s.ManifestDryRun"], "token: geheim") {
		t.Errorf("the secret output is %q", e.SecretOutputs["k8s.ManifestDryRun"])
	}
}

// semantics/kubernetes §15: a diff is what a deployment would change, no more:
// an object that is the same has none, whatever the cluster has added to it.
func TestDiffIsWhatADeploymentWouldChange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := deploymentYAML("web", "nginx:1", 1) + serviceYAML("web", "web") + secretYAML("key", "one")
	if got := s.succeed(t, s.step(lane.OpDiff, all)).output(t, "changed"); len(got.([]any)) != 3 {
		t.Errorf("before the first deployment there change %v", got)
	}
	s.succeed(t, s.step(lane.OpRolling, all))

	same := s.succeed(t, s.step(lane.OpDiff, all))
	if got := same.output(t, "diff"); got != "" {
		t.Errorf("the same manifests differ:\n%s", got)
	}
	if got := same.output(t, "hasChanges"); got != false {
		t.Errorf("hasChanges is %v", got)
	}

	other := s.succeed(t, s.step(lane.OpDiff, deploymentYAML("web", "nginx:2", 1)+serviceYAML("web", "web")+secretYAML("key", "two")))
	if diff := cmp.Diff([]any{"Secret/key", "Deployment/web"}, other.output(t, "changed")); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	text, _ := other.output(t, "diff").(string)
	for _, want := range []string{"-      - image: nginx:1", "+      - image: nginx:2", "-  token: '*** (before)'", "+  token: '*** (after)'"} {
		if !contains(text, want+"\n") {
			t.Errorf("the diff doesn't have %q:\n%s", want, text)
		}
	}
	if contains(text, "b25l") || contains(other.log(unitDiff), "b25l") { // "one" in base64
		t.Error("a Secret's value is told")
	}
	if got := s.image(t, "web"); got != "nginx:1" {
		t.Errorf("the Deployment runs %s by now", got)
	}
}

// A deployment tells first what it will change; a versioned ConfigMap is
// compared with the one before.
func TestDeploymentTellsWhatChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(lane.OpRolling, configYAML("cfg", "1")+deploymentYAML("web", "nginx:1", 1)+serviceYAML("web", "web")))
	log := s.succeed(t, s.step(lane.OpRolling, configYAML("cfg", "2")+deploymentYAML("web", "nginx:1", 2)+serviceYAML("web", "web"))).log(unitInitialize)
	for _, want := range []string{"ConfigMap/cfg-2 is new; compared with cfg-1:", `-  x: "1"`, `+  x: "2"`, "Deployment/web changes:", "-  replicas: 1", "+  replicas: 2", "1 of 3 objects don't change"} {
		if !contains(log, want+"\n") {
			t.Errorf("the log doesn't have %q:\n%s", want, log)
		}
	}
	if contains(log, "Service/web changes") || strings.Count(log, "@@") != 4 {
		t.Errorf("the log tells of more than two changes:\n%s", log)
	}
}

// Everything that the cluster refuses is told at once.
func TestDryRunTellsAllThatIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := s.fail(t, s.step(lane.OpRolling, "---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 0}]}\n"+
		"---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 99999}]}\n"+serviceYAML("c", "web")), "refuses 2 of 3 objects, first Service/a")
	if log := e.log(unitInitialize); !contains(log, "Service/a") || !contains(log, "Service/b") {
		t.Errorf("the log says only\n%s", log)
	}
	if got := s.names(t); len(got) != 0 {
		t.Errorf("there are %v", got)
	}
}

// What will be pruned is told before anything changes.
func TestPruningIsAnnounced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i, all := range []string{fixedYAML("a", "1") + fixedYAML("b", "1"), fixedYAML("a", "1")} {
		p := s.step(lane.OpRolling, all)
		p.Pruning = true
		if log := s.succeed(t, p).log(unitInitialize); contains(log, "ConfigMap/b isn't in the manifests any more and will be pruned") != (i == 1) {
			t.Errorf("deployment %d says\n%s", i, log)
		}
	}
}

// In a stage that deploys a colour, the diff is of that colour.
func TestDiffOfAColor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := func(image string) string { return deploymentYAML("web", image, 1) + serviceYAML("web", "web") }
	for _, image := range []string{"nginx:1", "nginx:2"} {
		p := s.step(lane.OpBlueGreen, all(image))
		s.succeed(t, p)
		s.succeed(t, in(p, lane.OpSwap))
	}
	p := s.step(lane.OpDiff, all("nginx:3"))
	p.BlueGreenInStage = true
	e := s.succeed(t, p)
	if diff := cmp.Diff([]any{"Deployment/web-blue"}, e.output(t, "changed")); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if text, _ := e.output(t, "diff").(string); !contains(text, "-      - image: nginx:1\n") || !contains(text, "+      - image: nginx:3\n") {
		t.Errorf("the diff is\n%s", text)
	}
}
