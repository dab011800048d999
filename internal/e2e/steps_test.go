package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// logOf reads a step's log as text.
func logOf(t *testing.T, s *e2e.Server, execution string, n *e2e.Node) string {
	t.Helper()
	var page struct {
		Lines []struct {
			Text string `json:"m"`
		} `json:"lines"`
	}
	var raw json.RawMessage
	if err := s.Call(t.Context(), "GET", "/v1/executions/"+execution+"/nodes/"+n.ID+"/log", nil, &raw); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range page.Lines {
		b.WriteString(l.Text + "\n")
	}
	if b.Len() == 0 {
		return string(raw)
	}
	return b.String()
}

const secretYAML = `secret:
  identifier: token
  name: token
  type: SecretText
  spec:
    secretManagerIdentifier: harnessSecretManager
    valueType: Inline
    value: s3cr3t-value`

// Outputs go from step to step and from stage to stage; secrets reach a
// script and no log, in no form (semantics/pipeline §7.4, §14.11).
func TestOutputsAndSecrets(t *testing.T) {
	t.Parallel()
	onEveryHost(t, outputsAndSecrets)
}

func outputsAndSecrets(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	s.Apply(t, secretYAML)
	s.Apply(t, `pipeline:
  identifier: p
  name: p
  stages:
    - stage:
        identifier: one
        name: one
        type: Custom
        spec:
          execution:
            steps:
              - step:
                  identifier: make
                  name: make
                  type: ShellScript
                  timeout: 1m
                  spec:
                    shell: Bash
                    onDelegate: true
                    environmentVariables:
                      - {name: TOKEN, type: String, value: '<+secrets.getValue("token")>'}
                    outputVariables:
                      - {name: lines, type: String, value: LINES_}
                      - {name: hidden, type: Secret, value: HIDDEN}
                    source:
                      type: Inline
                      spec:
                        script: |
                          echo "plain $TOKEN"
                          echo "encoded $(printf %s "$TOKEN" | base64)"
                          LINES_=$(printf 'first\nsecond <%sno.expression> <%sbroken' + +)
                          HIDDEN=made-$TOKEN
    - stage:
        identifier: two
        name: two
        type: Custom
        spec:
          execution:
            steps:
              - step:
                  identifier: use
                  name: use
                  type: ShellScript
                  timeout: 1m
                  spec:
                    shell: Bash
                    onDelegate: true
                    source:
                      type: Inline
                      spec:
                        script: |
                          echo "got <+pipeline.stages.one.spec.execution.steps.make.output.outputVariables.lines>"
                          [ "<+pipeline.stages.one.spec.execution.steps.make.output.outputVariables.hidden>" = "made-s3cr3t-value" ] && echo "same"
                          echo "<+pipeline.stages.one.spec.execution.steps.make.output.outputVariables.hidden>"
`)
	e := run(t, s, "p", "Success", nil)
	make, use := logOf(t, s, e.ID, e.Root.Find("make")), logOf(t, s, e.ID, e.Root.Find("use"))
	for _, forbidden := range []string{"s3cr3t-value", base64.StdEncoding.EncodeToString([]byte("s3cr3t-value"))} {
		if strings.Contains(make+use, forbidden) {
			t.Errorf("%q is in a log:\n%s%s", forbidden, make, use)
		}
	}
	for _, want := range []string{"got first", "second <+no.expression> <+broken", "same"} {
		if !strings.Contains(use, want) {
			t.Errorf("%q isn't in the log:\n%s", want, use)
		}
	}
}

// An Http step checks its assertion, and gives outputs
// (semantics/pipeline §7.5).
func TestHTTPStep(t *testing.T) {
	t.Parallel()
	onEveryHost(t, httpStep)
}

func httpStep(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"version":"7","echo":%q,"forged":{"$secret":"secret:::token"}}`, body)
	}))
	t.Cleanup(target.Close)
	s := start(t)
	reads := func(what, assertion string) string {
		return fmt.Sprintf(`{step: {identifier: call, name: call, type: Http, timeout: 1m, spec: {method: POST, url: "%s", requestBody: hello, assertion: '%s', outputVariables: [{name: v, type: String, value: '<+json.select("%s", httpResponseBody)>'}]}}}`, target.URL, assertion, what)
	}
	s.Apply(t, one("p", reads("version", "<+httpResponseCode> == 202")+", "+shell("check", `[ "<+execution.steps.call.output.outputVariables.v>" = 7 ]`), ""))
	run(t, s, "p", "Success", nil)
	s.Apply(t, one("q", reads("version", "<+httpResponseCode> == 200"), ""))
	run(t, s, "q", "Failed", nil)
	s.Apply(t, one("forged", reads("forged", "true"), ""))
	if e := run(t, s, "forged", "Failed", nil); !strings.Contains(e.Message, "$secret") {
		t.Errorf("a response that refers to a secret fails the step with %q", e.Message)
	}
}

// A person's decision ends a wait: an approval is given or refused, a failed
// step is ignored.
func TestPeopleDecide(t *testing.T) {
	t.Parallel()
	onEveryHost(t, peopleDecide)
}

func peopleDecide(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	approval := "{step: {identifier: ask, name: ask, type: HarnessApproval, timeout: 1m, spec: {approvalMessage: 'deploy <+pipeline.name>', includePipelineExecutionHistory: true, approvers: {userGroups: [_project_all_users], minimumCount: 1, disallowPipelineExecutor: false}}}}"
	s.Apply(t, one("approve", approval, ""))
	s.Apply(t, one("intervene", shell("ask", "exit 3"), ", failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: ManualIntervention, spec: {timeout: 1m, onTimeout: {action: {type: Abort}}}}}}]"))
	tests := []struct {
		pipeline, waits, path string
		body                  map[string]string
		want                  string
	}{
		{"approve", "ApprovalWaiting", "approval", map[string]string{"action": "APPROVE"}, "Success"},
		{"approve", "ApprovalWaiting", "approval", map[string]string{"action": "REJECT", "comments": "not now"}, "ApprovalRejected"},
		{"intervene", "InterventionWaiting", "intervene", map[string]string{"action": "Ignore"}, "IgnoreFailed"},
		{"intervene", "InterventionWaiting", "intervene", map[string]string{"action": "MarkAsFailure"}, "Failed"},
	}
	for _, tt := range tests {
		t.Run(tt.pipeline+" "+tt.body["action"], func(t *testing.T) {
			t.Parallel()
			id := s.Begin(t, tt.pipeline, nil)
			ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
			defer cancel()
			e, err := s.Until(ctx, id, func(e e2e.Execution) bool { return e.Root.Find("ask").Status == tt.waits || e2e.Ended(e) })
			if err != nil || e.Status != tt.waits {
				t.Fatalf("%v, the execution is %s", err, e.Status)
			}
			if err := s.Call(ctx, "POST", "/v1/executions/"+id+"/nodes/"+e.Root.Find("ask").ID+"/"+tt.path, tt.body, nil); err != nil {
				t.Fatal(err)
			}
			if e, err = s.Until(ctx, id, e2e.Ended); err != nil || e.Status != tt.want {
				t.Errorf("%v, the execution is %s, want %s", err, e.Status, tt.want)
			}
		})
	}
}

// A step's and a stage's time-out end what runs (semantics/pipeline §5.5).
func TestTimeouts(t *testing.T) {
	t.Parallel()
	onEveryHost(t, timeouts)
}

func timeouts(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	long := strings.Replace(shell("long", "sleep 600"), "timeout: 10m", "timeout: 1s", 1)
	s.Apply(t, one("steptime", long, ", failureStrategies: [{onFailure: {errors: [Timeout], action: {type: MarkAsSuccess}}}]"))
	run(t, s, "steptime", "Success", nil)
	s.Apply(t, one("stagetime", shell("long", "sleep 600"), ", timeout: 1s"))
	e := run(t, s, "stagetime", "Expired", nil)
	if long := e.Root.Find("long"); long.Status != "Expired" {
		t.Errorf("the step is %s", long.Status)
	}
}

// A value that doesn't fit its place is refused before anything runs.
func TestInputsAreCheckedBeforeTheRun(t *testing.T) {
	t.Parallel()
	onEveryHost(t, inputsAreCheckedBeforeTheRun)
}

func inputsAreCheckedBeforeTheRun(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	s.Apply(t, strings.Replace(one("p", shell("a", "true"), ""), "timeout: 10m", "timeout: <+input>", 1))
	_, err := s.TryBegin(t.Context(), "p", map[string]string{"stages.s.spec.execution.steps.a.timeout": "soon"})
	if err == nil || !strings.Contains(err.Error(), `\"soon\" isn't a duration`) {
		t.Errorf("a wrong time-out gave %v", err)
	}
	run(t, s, "p", "Success", map[string]string{"stages.s.spec.execution.steps.a.timeout": "1m"})
}
