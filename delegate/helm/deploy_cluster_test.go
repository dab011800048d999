package helm

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

func (s *site) wantRevisions(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), s.revisions(t)); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
}

func TestDeploy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.step(nativehelm.OpDeploy, "replicas: 2")
	first.RunTests = true
	e := s.succeed(t, first)
	s.wantRevisions(t, "1 deployed")
	if e.output(t, "newReleaseVersion") != 1.0 || e.output(t, "prevReleaseVersion") != 0.0 || e.output(t, "hasInstallUpgradeStarted") != true {
		t.Errorf("outputs %s", e.Outputs)
	}
	if n := len(e.Changes[0].Instances); n != 2 || !e.Changes[0].Instances[0].New || e.Changes[0].Revision != "1" {
		t.Errorf("the ledger has %+v; want two new pods at revision 1", e.Changes)
	}
	for _, job := range []string{"rel-migrate", "rel-smoke"} {
		if _, err := s.BatchV1().Jobs(s.namespace).Get(t.Context(), job, metav1.GetOptions{}); err != nil {
			t.Errorf("the hook didn't run: %v", err)
		}
	}
	if diff := cmp.Diff([]string{unitFetch, unitInit, unitChange, unitPrepare, unitSteady, unitWrapUp}, inOrder(e.env.Units())); diff != "" {
		t.Errorf("log sections (-want +got):\n%s", diff)
	}
	e = s.succeed(t, first) // delivered twice
	s.wantRevisions(t, "1 deployed")
	if e.output(t, "newReleaseVersion") != 1.0 || e.output(t, "prevReleaseVersion") != 0.0 {
		t.Errorf("outputs of the second delivery: %s", e.Outputs)
	}
	e = s.succeed(t, s.step(nativehelm.OpDeploy, "image: nginx:2"))
	s.wantRevisions(t, "1 superseded", "2 deployed")
	if got := s.image(t, "rel"); got != "nginx:2" || e.output(t, "prevReleaseVersion") != 1.0 {
		t.Errorf("runs %s after revision %v", got, e.output(t, "prevReleaseVersion"))
	}
}

// inOrder puts log sections into the order of the step's work.
func inOrder(units []string) []string {
	order := []string{unitFetch, unitInit, unitChange, unitPrepare, unitSteady, unitWrapUp}
	slices.SortFunc(units, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return units
}

// Layers above the chart's own values, and flags above those.
func TestValuesAndFlags(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(nativehelm.OpDeploy, "greeting: <+kubernetes.release.revision> ignored")
	p.Target.Values = nil
	p.Target.Manifest.ValuesPaths = []string{"over.yaml"}
	s.succeed(t, p)
	if got := s.greeting(t); got != "from the repository" {
		t.Errorf("greeting is %q", got)
	}
	p = s.step(nativehelm.OpDeploy, "greeting: from the layer above")
	p.Target.Manifest.Chart.CommandFlags = []origin.CommandFlag{{Command: "Upgrade", Flag: "--set greeting=service"}, {Command: "Upgrade", Flag: "--no-hooks"}}
	s.succeed(t, p)
	if got := s.greeting(t); got != "service" {
		t.Errorf("greeting is %q; want the service's flag", got)
	}
	s.wantRevisions(t, "1 superseded", "2 deployed")
	// semantics/kubernetes §23.30: of a command, the step's flags replace the
	// service's.
	s.succeed(t, flagged(p, "Upgrade", "--history-max 2 --set-string greeting='the step' --description \"by hand\""))
	if got := s.greeting(t); got != "the step" {
		t.Errorf("greeting is %q; want the step's flag", got)
	}
	s.wantRevisions(t, "2 superseded", "3 deployed")
}

// semantics/kubernetes §23.29: a first install that fails goes again, unless
// the step says not to.
func TestFirstInstallFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, values, says string
		skip               bool
		left               []string
	}{
		{"its pods don't start", "image: broken:1", "progress deadline", false, []string{}},
		{"its hook fails", "hook: crashloop", "pre-install", false, []string{}},
		{"its tests fail", "test: crashloop", "the tests of release rel", false, []string{}},
		{"and stays", "image: broken:1", "progress deadline", true, []string{"1 deployed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := s.step(nativehelm.OpDeploy, tt.values)
			p.RunTests, p.SkipCleanup = true, tt.skip
			s.fail(t, p, tt.says)
			s.wantRevisions(t, tt.left...)
			e := s.succeed(t, in(p, nativehelm.OpRollback))
			s.wantRevisions(t, tt.left...)
			if e.env.Text(unitRollback, executor.Info) == "" {
				t.Error("the rollback said nothing")
			}
		})
	}
}

// semantics/kubernetes §19.2: two bad deployments in a row still go back to
// the good one.
func TestRollback(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(nativehelm.OpDeploy, "greeting: good"))
	for range 2 {
		bad := s.step(nativehelm.OpDeploy, "image: broken:1\ngreeting: bad")
		s.fail(t, bad, "progress deadline")
	}
	s.wantRevisions(t, "1 superseded", "2 superseded", "3 deployed")
	bad := s.step(nativehelm.OpDeploy, "image: broken:2\ngreeting: bad")
	s.fail(t, bad, "progress deadline")
	e := s.succeed(t, in(bad, nativehelm.OpRollback))
	if s.image(t, "rel") != "nginx:1" || s.greeting(t) != "good" || e.output(t, "rollbackVersion") != 1.0 {
		t.Errorf("runs %s after a rollback with the outputs %s", s.image(t, "rel"), e.Outputs)
	}
	s.wantRevisions(t, "1 superseded", "2 superseded", "3 superseded", "4 superseded", "5 deployed")
	// Twice is harmless, and the next one knows where it could go back to.
	s.succeed(t, in(bad, nativehelm.OpRollback))
	e = s.succeed(t, s.step(nativehelm.OpDeploy, "image: nginx:3"))
	if e.output(t, "prevReleaseVersion") != 6.0 {
		t.Errorf("the last good revision is %v; want the rollback's", e.output(t, "prevReleaseVersion"))
	}
}

func TestRollbackOfNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(nativehelm.OpDeploy, ""))
	p := flagged(s.step(nativehelm.OpDeploy, ""), "Upgrade", "--set-json image={")
	s.fail(t, p, "--set-json")
	s.succeed(t, in(p, nativehelm.OpRollback))
	s.wantRevisions(t, "1 deployed")
}

// semantics/kubernetes §23.29: what failed in Helm itself blocks the next
// deployment.
func TestFailedHistory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(nativehelm.OpDeploy, ""))
	bad := s.step(nativehelm.OpDeploy, "hook: crashloop")
	s.fail(t, bad, "pre-upgrade")
	s.wantRevisions(t, "1 deployed", "2 failed")
	s.fail(t, s.step(nativehelm.OpDeploy, ""), "there is an issue with the latest release", "ignoreReleaseHistFailStatus")
	retry := bad
	retry.Target.Values = nil
	s.succeed(t, retry) // the same stage goes on
	bad = s.step(nativehelm.OpDeploy, "hook: crashloop")
	s.fail(t, bad, "pre-upgrade")
	next := s.step(nativehelm.OpDeploy, "image: nginx:9")
	next.IgnoreFailedHistory = true
	s.succeed(t, next)
	if got := s.image(t, "rel"); got != "nginx:9" {
		t.Errorf("runs %s", got)
	}
}

// A delegate that died leaves a revision that never ends, which Helm takes for
// somebody else's work.
func TestPendingHistory(t *testing.T) {
	t.Parallel()
	for _, good := range []bool{true, false} {
		s := newSite(t)
		s.succeed(t, s.step(nativehelm.OpDeploy, "greeting: first"))
		want := "2 pending-upgrade"
		if good {
			s.succeed(t, s.step(nativehelm.OpDeploy, "greeting: second"))
			s.pretend(t, "2", "pending-upgrade")
		} else {
			s.pretend(t, "1", "pending-install")
			want = "1 pending-install"
		}
		s.fail(t, s.step(nativehelm.OpDeploy, ""), want[2:])
		next := s.step(nativehelm.OpDeploy, "greeting: third")
		next.IgnoreFailedHistory = true
		s.succeed(t, next)
		if got := s.greeting(t); got != "third" {
			t.Errorf("greeting is %q", got)
		}
	}
}

func TestUpgradeInstall(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := flagged(s.step(nativehelm.OpDeploy, ""), "Upgrade", "--set greeting=upgrade")
	p.UpgradeInstall = true
	s.succeed(t, p)
	if got := s.greeting(t); got != "upgrade" {
		t.Errorf("the first installation has the greeting %q; want that of the flags of Upgrade", got)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(nativehelm.OpDeploy, ""))
	dry := s.step(nativehelm.OpDelete, "")
	dry.DryRun = true
	s.succeed(t, dry)
	s.wantRevisions(t, "1 deployed")
	s.succeed(t, s.step(nativehelm.OpDelete, ""))
	s.wantRevisions(t)
	if got := s.image(t, "rel"); got != "" {
		t.Errorf("the Deployment is still there, with %s", got)
	}
	s.fail(t, s.step(nativehelm.OpDelete, ""), "there is no release rel")
	s.succeed(t, flagged(s.step(nativehelm.OpDelete, ""), "Uninstall", "--ignore-not-found"))
	other := s.step(nativehelm.OpDelete, "")
	other.Release = "other"
	s.fail(t, other, "there is no release other")
	// A name whose history is kept can be used again.
	s.succeed(t, s.step(nativehelm.OpDeploy, ""))
	s.succeed(t, flagged(s.step(nativehelm.OpDelete, ""), "Uninstall", "--keep-history"))
	s.wantRevisions(t, "1 uninstalled")
	s.succeed(t, s.step(nativehelm.OpDeploy, ""))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	tests := []struct {
		name, says string
		change     func(*job)
	}{
		{"a long name", "invalid release name", func(p *job) {
			p.Target.ReleaseName = "a-name-that-has-more-than-fifty-three-letters-is-too-long-for-helm"
		}},
		{"no chart", "no Helm chart", func(p *job) { p.Target.Manifest = nil }},
		{"plain manifests", "no Helm chart", func(p *job) { p.Target.Manifest.Type = "K8sManifest" }},
		{"Helm 2", "helmVersion V2", func(p *job) { p.Target.Manifest.Chart.HelmVersion = "V2" }},
		{"a folder that isn't there", "folder none", func(p *job) { p.Target.Manifest.Store.Git.Paths = []string{"none"} }},
		{"a missing values file", `values file "none.yaml"`, func(p *job) { p.Target.Manifest.ValuesPaths = []string{"none.yaml"} }},
		{"a flag that means nothing", "unknown flag", func(p *job) {
			p.CommandFlags = []origin.CommandFlag{{Command: "Install", Flag: "--post-renderer x"}}
		}},
	}
	for _, tt := range tests { //nolint:paralleltest // they share a namespace that nothing is put into
		p := s.step(nativehelm.OpDeploy, "")
		tt.change(&p)
		t.Run(tt.name, func(t *testing.T) { s.fail(t, p, tt.says) })
	}
	s.wantRevisions(t)
}

// Jobs of the chart are waited for if a flag says so, with or without --wait.
func TestJobs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flag, job, says string
	}{
		{"--no-hooks", "crashloop", ""},
		{"--wait-for-jobs", "complete", ""},
		{"--wait-for-jobs", "crashloop", "1 pod of Job/rel-load: container main ended with exit code 1"},
		{"--wait --wait-for-jobs", "crashloop", "Job/rel-load: container main ended with exit code 1"},
	} {
		t.Run(tt.flag+" "+tt.job, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.commit(t, map[string]string{"web/templates/load.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: {{ .Release.Name }}-load}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {slipway.test/behaviour: {{ .Values.load }}}}
    spec: {restartPolicy: Never, containers: [{name: main, image: "busybox:1"}]}
`})
			p := flagged(s.step(nativehelm.OpDeploy, "load: "+tt.job), "Install", tt.flag)
			if tt.says == "" {
				s.succeed(t, p)
				return
			}
			if e := s.fail(t, p, tt.says); e.env.Text(unitWrapUp, executor.Error) == "" {
				t.Error("the log doesn't say why")
			}
		})
	}
}

// What a hook's pod says comes before what Helm says.
func TestHookIsExplained(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := s.fail(t, s.step(nativehelm.OpDeploy, "hook: crashloop"), "pre-install")
	if !strings.HasPrefix(e.Message, "1 pod of Job/rel-migrate: container main ended with exit code 1") {
		t.Errorf("failed with %q; want the hook's pod first", e.Message)
	}
}

// What flags ask to be told is in the log.
func TestTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(nativehelm.OpDeploy, ""))
	p := flagged(flagged(s.step(nativehelm.OpDeploy, ""), "List", "--filter ^rel --deployed"), "Version", "--short")
	e := s.succeed(t, p)
	if log := e.env.Text(unitWrapUp, executor.Info); !strings.Contains(log, "rel\trevision 2\tdeployed\tweb 1.2.3") {
		t.Errorf("the log is %q; want a list of releases", log)
	}
	if log := e.env.Text(unitInit, executor.Info); !strings.HasPrefix(log, "v4.") {
		t.Errorf("the log is %q; want Helm's version", log)
	}
}

// What a chart says of itself is read without a cluster.
func TestDescribe(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.commit(t, map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: \"9\"\ndescription: A web\nkubeVersion: \">=1.25\"\n"})
	p := s.step(nativehelm.OpDescribe, "")
	p.Target.Cluster, p.Target.ReleaseName = task.Cluster{}, ""
	e := s.succeed(t, p)
	var out struct {
		Output struct{ Chart lookup.ChartFound }
	}
	check(t, json.Unmarshal(e.Outputs, &out))
	commit := s.git(t, "rev-parse", "HEAD")
	want := lookup.ChartFound{
		Manifest: "app", CommitID: commit, Name: "web", Description: "A web", Version: "1.2.3", APIVersion: "v2", AppVersion: "9", KubeVersion: ">=1.25",
		Metadata: lookup.ChartPlace{URL: s.url, BasePath: "web", CommitID: commit, Branch: "main"},
	}
	if diff := cmp.Diff(want, out.Output.Chart); diff != "" {
		t.Errorf("chart (-want +got):\n%s", diff)
	}
	p.Target.Manifest.Store.Git.Paths = []string{"none"}
	s.fail(t, p, "folder none")
	p.Target.Manifest = nil
	s.fail(t, p, "no Helm chart")
}
