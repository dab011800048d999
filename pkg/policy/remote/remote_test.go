package remote_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/policy/rego"
	"github.com/slipway-cd/slipway/pkg/policy/remote"
)

// function is Lambda with the function policy, which counts its calls.
type function struct {
	calls  int
	answer func(w http.ResponseWriter, payload []byte)
}

// ServeHTTP is Invoke.
func (f *function) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.calls++
	payload, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/2015-03-31/functions/policy/invocations" || len(payload) > 6<<20 {
		http.Error(w, "bad call", http.StatusBadRequest)
		return
	}
	f.answer(w, payload)
}

func start(t *testing.T) (*remote.Client, *function) {
	t.Helper()
	engine := rego.New()
	f := &function{answer: func(w http.ResponseWriter, payload []byte) {
		text, err := remote.Answer(t.Context(), engine, payload)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(text)
	}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	api := lambda.New(lambda.Options{Region: "eu-west-1", BaseEndpoint: aws.String(server.URL), Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{}})
	return remote.New(api, "policy"), f
}

// What is asked in the function comes to the same as in the process.
func TestTheFunctionSaysTheSame(t *testing.T) {
	t.Parallel()
	c, f := start(t)
	here := rego.New()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	texts := []string{
		"package p\n\ndeny[msg] { input.n > 9007199254740992; msg := sprintf(\"%v is large\", [input.n]) }",
		"package p\n\nwarn[x] { x := input.list[_] }",
		"package p\n\ndeny { time.now_ns() == " + json.Number("1777896000000000000").String() + " }",
		"package p\n\ndeny[msg] {",
	}
	input := map[string]any{"n": json.Number("9007199254740993"), "list": []any{"a", "b"}}
	got, err := c.Ask(t.Context(), texts, input, now)
	if err != nil {
		t.Fatal(err)
	}
	want, err := here.Ask(t.Context(), texts, input, now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range texts {
		if a, b := said(got[i]), said(want[i]); a != b || a == said(policy.Answer{}) {
			t.Errorf("policy %d: the function says %s, the process %s", i, a, b)
		}
	}
	if f.calls != 1 {
		t.Errorf("the function was called %d times for one set", f.calls)
	}
	broken := "package p\n\ndeny[msg] { msg := nothing }"
	if got, want := c.Check(broken), here.Check(broken); len(got) != 1 || len(want) != 1 || got[0] != want[0] || got[0].Line != 3 {
		t.Errorf("the function finds %v, the process %v", got, want)
	}
	if c.Check(broken); f.calls != 2 {
		t.Errorf("a text that is known was checked again: %d calls", f.calls)
	}
	if got := c.Check(strings.Repeat("#", policy.MaxRego+1)); len(got) != 1 || f.calls != 2 {
		t.Errorf("of a policy that is too large: %v, %d calls", got, f.calls)
	}
}

// said is an answer as a text.
func said(a policy.Answer) string {
	text := strings.Join(a.Deny, ",") + "|" + strings.Join(a.Warn, ",")
	if a.Err != nil {
		text += "|" + a.Err.Error()
	}
	return text
}

// An input may be larger than what Lambda takes.
func TestLargeInputsArePacked(t *testing.T) {
	t.Parallel()
	c, _ := start(t)
	stages := make([]any, 600) // few and long: what reads many takes a while of a policy's second
	for i := range stages {
		stages[i] = map[string]any{"stage": map[string]any{"identifier": "deploy_to_production", "description": strings.Repeat("to production, ", 1000)}}
	}
	got, err := c.Ask(t.Context(), []string{"package p\n\ndeny[msg] { n := count(input.stages); msg := sprintf(\"%d stages\", [n]) }"}, map[string]any{"stages": stages}, time.Now())
	if err != nil || len(got[0].Deny) != 1 || got[0].Deny[0] != "600 stages" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A function that breaks has denied, and one that can't be asked is for another try.
func TestFailuresOfTheFunction(t *testing.T) {
	t.Parallel()
	c, f := start(t)
	f.answer = func(w http.ResponseWriter, _ []byte) {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		_, _ = io.WriteString(w, `{"errorType":"Runtime.OutOfMemory","errorMessage":"signal: killed"}`)
	}
	got, err := c.Ask(t.Context(), []string{"a", "b"}, nil, time.Now())
	if err != nil || len(got) != 2 || got[1].Err == nil || !strings.Contains(got[1].Err.Error(), "Runtime.OutOfMemory") {
		t.Errorf("got %+v, %v", got, err)
	}
	f.answer = func(w http.ResponseWriter, _ []byte) {
		w.Header().Set("X-Amzn-Errortype", "TooManyRequestsException")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"Type":"User","message":"Rate exceeded"}`)
	}
	if _, err := c.Ask(t.Context(), []string{"a"}, nil, time.Now()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("got %v; want one that can be tried again", err)
	}
	if got := c.Check("package p"); len(got) != 1 || got[0].Warning || !strings.Contains(got[0].Message, "can't be checked") {
		t.Errorf("got %v", got)
	}
	f.answer = func(w http.ResponseWriter, _ []byte) { _, _ = io.WriteString(w, `{"problems":[]}`) }
	if got := c.Check("package p"); len(got) != 0 {
		t.Errorf("that it couldn't be checked was remembered: %v", got)
	}
}
