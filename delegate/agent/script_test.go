package agent_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// script is a task for a real shell.
func script(t *testing.T, p task.Shell, secrets map[string]string) task.Assignment {
	t.Helper()
	doc, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	a := assignment("t1")
	a.Kind, a.Payload, a.Secrets = task.KindShell, doc, secrets
	return a
}

func withShell(c *agent.Config) {
	c.Kinds = map[task.Kind]executor.Kind{task.KindShell: {Do: shell.New(os.Environ(), os.TempDir())}}
}

// TestSecretsStayOutOfSight follows a secret from the claim through a script
// to everything that comes back.
func TestSecretsStayOutOfSight(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.offer(script(t, task.Shell{
		Shell: "Bash", Env: map[string]string{"PASSWORD": "⟦s-1⟧"},
		Script: `echo "password: $PASSWORD"
			for c in $(echo "$PASSWORD" | sed 's/./& /g'); do printf %s "$c"; done; echo
			plain=$PASSWORD; token=made-of-$PASSWORD; echo "$PASSWORD" >&2`,
		Outputs: []task.ShellOutput{{Name: "plain", Variable: "plain"}, {Name: "token", Variable: "token", Secret: true}},
	}, map[string]string{"⟦s-1⟧": "opensesame"}))
	s := p.start(nil, withShell)
	<-p.done
	s.finish()
	r, _ := p.resultOf("t1")
	want := task.Result{
		Status: task.Succeeded, Outputs: json.RawMessage(`{"exitCode":0,"output":{"exitCode":0,"outputVariables":{"plain":"**************"}}}`),
		SecretOutputs: map[string]string{"output.outputVariables.token": "made-of-opensesame"},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if log := strings.Join(p.lines("t1"), "\n"); strings.Contains(log, "opensesame") || strings.Count(log, "**************") != 3 {
		t.Errorf("the log shows the secret, or hides it other than three times:\n%s", log)
	}
}

// TestACancelReachesTheScript: over the socket, to the end of its processes.
func TestACancelReachesTheScript(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.offer(script(t, task.Shell{Shell: "Bash", Script: "echo ready; sleep 300 & wait"}, nil))
	s := p.start(nil, withShell)
	<-p.opened
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !slices.Contains(p.lines("t1"), "Execute INFO: ready") {
		<-look.C
	}
	p.say(protocol.Wake{Type: "cancel", Task: "t1"}) // heartbeats tell of none here
	<-p.done
	s.finish()
	if r, _ := p.resultOf("t1"); r.Status != task.Aborted {
		t.Errorf("result %+v, want %s", r, task.Aborted)
	}
}
