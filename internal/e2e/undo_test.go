package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/api"
)

// semantics/pipeline §5.4, post-deployment rollback: the rollback steps of an
// execution that succeeded run in reverse, in an execution of their own, and
// read what it came to; once, and only the pipeline's latest.
func TestRollingBackAfterwards(t *testing.T) {
	t.Parallel()
	onEveryHost(t, rollingBackAfterwards)
}

func rollingBackAfterwards(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	file := t.TempDir() + "/log"
	set := `{step: {identifier: set, name: set, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, outputVariables: [{name: X, type: String, value: X}], source: {type: Inline, spec: {script: X=7}}}}}`
	stage := func(id, steps, back string) string {
		return replace(`{stage: {identifier: ID, name: ID, type: Custom, spec: {execution: {steps: [STEPS], rollbackSteps: [BACK]}}}}`, "ID", id, "STEPS", steps, "BACK", back)
	}
	back := func(id, more string) string {
		return shell("back_"+id, `echo `+id+` <+pipeline.executionMode> <+pipeline.stages.one.spec.execution.steps.set.output.outputVariables.X> >> `+file+more)
	}
	s.Apply(t, "pipeline: {identifier: p, name: p, stages: ["+strings.Join([]string{
		stage("one", set, back("one", "")), stage("none", shell("fine", "true"), ""),
		stage("two", shell("fine", "true"), back("two", "; [ -e "+file+".good ]")), `{stage: {identifier: never, name: never, type: Custom, when: {pipelineStatus: Failure}, spec: {execution: {steps: [` + shell("fine", "true") + `], rollbackSteps: [` + back("never", "") + `]}}}}`,
	}, ", ")+"]}")
	old := run(t, s, "p", "Success", nil)
	e := run(t, s, "p", "Success", nil)
	undo := func(id, refused string) string {
		t.Helper()
		var made e2e.Execution
		err := s.Call(t.Context(), "POST", "/v1/executions/"+id+"/rollback", nil, &made)
		if refused != "" {
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%v; want %q", err, refused)
			}
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	undo(old.ID, "only the latest of a pipeline can be rolled back")
	first := undo(e.ID, "")
	got := reaches(t, s, first, "p", "Failed") // its rollback step fails
	for node, want := range map[string]string{"two": "Failed", "one": "Success", "none": "Success", "back_one": "Success", "never": "Skipped"} {
		if n := got.Root.Find(node); n.Status != want {
			t.Errorf("%s is %s, want %s", node, n.Status, want)
		}
	}
	if log, want := read(t, file), "two POST_EXECUTION_ROLLBACK 7\none POST_EXECUTION_ROLLBACK 7\n"; log != want {
		t.Errorf("the rollback did %q, want %q", log, want)
	}
	if err := os.WriteFile(file+".good", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := undo(e.ID, "") // a rollback that failed may be tried again
	reaches(t, s, second, "p", "Success")
	undo(e.ID, "already")
	undo(second, "can't be rolled back")
	if err := s.Call(t.Context(), "POST", "/v1/executions/"+second+"/retry", nil, nil); err == nil || !strings.Contains(err.Error(), "has rolled") {
		t.Errorf("a rollback was repeated: %v", err)
	}
	third := run(t, s, "p", "Success", nil)
	reaches(t, s, undo(third.ID, ""), "p", "Success")
}

// undone rolls an execution back that has succeeded; its rollback step has
// something to undo.
func undone(t *testing.T, s *e2e.Server, e e2e.Execution) {
	t.Helper()
	if e.Status != "Success" {
		t.Fatalf("what is to be rolled back is %s: %s", e.Status, e.Message)
	}
	var made e2e.Execution
	if err := s.Call(t.Context(), "POST", "/v1/executions/"+e.ID+"/rollback", nil, &made); err != nil {
		t.Fatal(err)
	}
	back := finish(t, s, made.ID)
	if log := logOf(t, s, back.ID, back.Root.Find("back")); back.Status != "Success" || strings.Contains(log, "Nothing to roll back") {
		t.Errorf("the rollback is %s: %s\n%s", back.Status, back.Message, log)
	}
}

// What a service runs is rolled back by its place, to what it ran before; not
// by an execution after which another pipeline has deployed there.
func TestRollingBackADeployment(t *testing.T) {
	t.Parallel()
	onEveryHost(t, rollingBackADeployment)
}

func rollingBackADeployment(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := start(t)
	guestbook(t, s, namespace)
	for _, pipeline := range []string{"first", "other"} {
		s.Apply(t, deployment(pipeline, kubeStep("roll", "K8sRollingDeploy", "{}"), kubeStep("back", "K8sRollingRollback", "{}")))
	}
	s.Apply(t, deployment("slow", holdStep+kubeStep("roll", "K8sRollingDeploy", "{}"), kubeStep("back", "K8sRollingRollback", "{}")))
	rollBack := func(where string, body any) (made e2e.Execution, err error) {
		err = s.Call(t.Context(), "POST", "/v1/"+where, body, &made)
		return made, err
	}
	const web = "services/web/rollback" + ofProject
	dev := api.RollbackPlace{Environment: "dev"}
	refused := func(why, where string, body any) {
		t.Helper()
		if _, err := rollBack(where, body); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v; want %q", where, err, why)
		}
	}
	runs := func(tag string) {
		t.Helper()
		if got := kubectl(t, kubeconfig, namespace, "get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}"); got != "nginx:"+tag {
			t.Errorf("the cluster runs %s, want nginx:%s", got, tag)
		}
	}
	refused("no deployment of service web", web, dev)
	run(t, s, "first", "Success", image("1"))
	run(t, s, "first", "Success", image("2"))
	made, err := rollBack(web, dev)
	if err != nil {
		t.Fatal(err)
	}
	reaches(t, s, made.ID, "first", "Success")
	runs("1")
	untilPlaced(t, s, "the rollback", func(p api.Placement) bool { return p.Artifact == "nginx:1" && p.Deployed.Execution == made.ID })
	refused("can't be rolled back", web, dev) // once

	third := run(t, s, "first", "Success", image("3"))
	run(t, s, "other", "Success", image("4"))
	refused("pipeline other has deployed service web", "executions/"+third.ID+"/rollback", nil)
	if made, err = rollBack(web, api.RollbackPlace{Environment: "dev", Infrastructure: "local"}); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, made.ID, "other", "Success")
	runs("3")

	// Whoever has its turn first deploys after the rollback was asked for.
	fifth := run(t, s, "first", "Success", image("5"))
	before, _ := held(t, s, "slow", image("6"))
	if made, err = rollBack("executions/"+fifth.ID+"/rollback", nil); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, made.ID, "deploy", "ResourceWaiting")
	approve(t, s, before, "hold")
	reaches(t, s, before, "slow", "Success")
	over := finish(t, s, made.ID)
	if why := over.Root.Find("back").Message; over.Status == "Success" || !strings.Contains(why, before+" of pipeline slow has deployed service web there since") {
		t.Errorf("the rollback is %s: %s", over.Status, why)
	}
	runs("6")
}
