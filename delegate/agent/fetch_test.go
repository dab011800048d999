package agent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/task"
)

// fetched is a script that sets the secret by a command.
func fetched(command string, timeout time.Duration) task.LateSecret {
	return task.LateSecret{Fetched: &task.FetchedSecret{Name: "db", Timeout: timeout, Script: &task.Shell{
		Shell: "Bash", Script: command, Env: map[string]string{"TOKEN": "⟦s-1⟧"},
		Outputs: []task.ShellOutput{{Name: "secret", Variable: "secret", Secret: true}},
	}}}
}

// A secret that another manager keeps is fetched with the task's own secrets,
// put in its place, and hidden; what its script says is in no log.
func TestSecretsAreFetched(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	a := script(t, task.Shell{Shell: "Bash", Script: `echo "it is $DB"`, Env: map[string]string{"DB": "<⟦p-1⟧>"}}, map[string]string{"⟦s-1⟧": "opensesame"})
	a.LateSecrets = map[string]task.LateSecret{"⟦p-1⟧": fetched(`set -x; secret="db-of-$TOKEN"; echo "I have $secret"`, 0)}
	p.offer(a)
	s := p.start(nil, withShell)
	<-p.done
	s.finish()
	if r, _ := p.resultOf("t1"); r.Status != task.Succeeded {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
	log := strings.Join(p.lines("t1"), "\n")
	if strings.Contains(log, "opensesame") || strings.Contains(log, "I have") || !strings.Contains(log, "it is <**************>") {
		t.Errorf("the log has\n%s", log)
	}
}

// A token that a step asks for comes with its task, is put in its place and is
// hidden, also in other forms.
func TestATokenOfAStep(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	a := script(t, task.Shell{Shell: "Bash", Script: `echo "it is $JWT"; printf %s "$JWT" | base64`, Env: map[string]string{"JWT": "⟦p-1⟧"}}, nil)
	a.LateSecrets = map[string]task.LateSecret{"⟦p-1⟧": {Token: "identity-1"}}
	a.Tokens = map[string]task.IdentityToken{"identity-1": {Text: "eyHeader.eyClaims.c2lnbmF0dXJl", Good: 15 * time.Minute}}
	p.offer(a)
	s := p.start(nil, withShell)
	<-p.done
	s.finish()
	if r, _ := p.resultOf("t1"); r.Status != task.Succeeded {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
	log := strings.Join(p.lines("t1"), "\n")
	if strings.Contains(log, "ey") || !strings.Contains(log, "it is **************") {
		t.Errorf("the log has\n%s", log)
	}
}

// A task whose secret can't be fetched isn't begun.
func TestSecretsThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		p    task.LateSecret
		want string
	}{
		"the script fails":      {fetched("echo no $TOKEN >&2; exit 4", 0), "fetch the secret db: the script ended with exit code 4"},
		"it sets nothing":       {fetched("true", 0), `fetch the secret db: secret output variable "secret" is empty`},
		"it exits early":        {fetched("secret=x; exit 0", 0), "fetch the secret db: its script hasn't set the variable secret"},
		"it takes too long":     {fetched("sleep 60", 50*time.Millisecond), "fetch the secret db: its manager took longer than 50ms"},
		"the delegate is older": {task.LateSecret{Fetched: &task.FetchedSecret{Name: "db"}}, "fetch the secret db: delegate blue doesn't know how"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			a := script(t, task.Shell{Shell: "Bash", Script: "echo begun ⟦p-1⟧"}, map[string]string{"⟦s-1⟧": "opensesame"})
			a.LateSecrets = map[string]task.LateSecret{"⟦p-1⟧": tt.p}
			p.offer(a)
			s := p.start(nil, withShell)
			<-p.done
			s.finish()
			r, _ := p.resultOf("t1")
			if r.Status != task.Errored || !strings.Contains(r.Message, tt.want) || strings.Contains(r.Message, "opensesame") {
				t.Errorf("%s: %s; want %s", r.Status, r.Message, tt.want)
			}
			if slices.ContainsFunc(p.lines("t1"), func(l string) bool { return strings.Contains(l, "begun") || strings.Contains(l, "opensesame") }) {
				t.Errorf("the log has %q", p.lines("t1"))
			}
		})
	}
}
