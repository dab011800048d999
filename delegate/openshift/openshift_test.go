package openshift_test

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/openshift"
)

// processor generates the same values in every run, and remembers them.
func processor(generated *[]string) openshift.Processor {
	return openshift.Processor{
		Random:    func(string) io.Reader { return rand.NewChaCha8([32]byte{1}) },
		Generated: func(v string) { *generated = append(*generated, v) },
	}
}

// semantics/kubernetes §4.5: what objects make of parameters.
func TestProcess(t *testing.T) {
	t.Parallel()
	const web = `
apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: web}
labels: {template: web, "${NAME}": "${ENV}"}
parameters:
- {name: NAME, value: web, required: true}
- {name: ENV, value: dev}
- {name: REPLICAS, value: "2"}
- {name: FLAGS, value: '{"a": [1, true]}'}
- {name: EMPTY}
objects:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: "${NAME}-${ENV}", namespace: fixed, labels: {template: own, kept: "yes"}}
  spec: {replicas: "${{REPLICAS}}", paused: false, minReadySeconds: 5}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: cfg, namespace: "${ENV}"}
  data: {"${NAME}.sh": "echo ${HOME} ${{NAME}} $NAME ${EMPTY}.", text: "${{NAME}}", flags: "${{FLAGS}}", more: "x${{REPLICAS}}"}
`
	file := manifest.File{Name: "web.yaml", Text: web}
	var none []string
	text, err := processor(&none).Process(file, map[string]string{"ENV": "prod", "REPLICAS": "3"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web-prod","labels":{"template":"web","kept":"yes","web":"prod"}},
		 "spec":{"replicas":3,"paused":false,"minReadySeconds":5}},
		{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cfg","namespace":"prod","labels":{"template":"web","web":"prod"}},
		 "data":{"web.sh":"echo ${HOME} ${{NAME}} $NAME .","text":"web","flags":{"a":[1,true]},"more":"x${{REPLICAS}}"}}]}`
	if diff := cmp.Diff(decode(t, want), decode(t, text)); diff != "" || none != nil {
		t.Errorf("generated %v; objects (-want +got):\n%s", none, diff)
	}
	if text, err = processor(&none).Process(file, map[string]string{"REPLICAS": "many"}); err != nil || !strings.Contains(text, `"replicas":"many"`) {
		t.Errorf("a value that is no JSON gave %v:\n%s", err, text)
	}
	// The file is processed anew each time: nothing of the first run is left.
	if text, err = processor(&none).Process(file, nil); err != nil || !strings.Contains(text, "web-dev") {
		t.Errorf("%v:\n%s", err, text)
	}
}

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestGenerated(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"[a-zA-Z0-9]{16}":         `[a-zA-Z0-9]{16}`,
		"user-[a-f]{3}-[0-9]{2}x": `user-[a-f]{3}-[0-9]{2}x`,
		`[\w]{40}`:                `[a-zA-Z0-9_]{40}`,
		`[\d]{5}[\a]{5}`:          `[0-9]{5}[a-zA-Z0-9]{5}`,
		`[\A]{30}`:                `[^a-zA-Z0-9\s]{30}`,
		"[abx-]{9}":               `[abx-]{9}`,
		`[\w\w\w\w\w]{8}`:         `[a-zA-Z0-9_]{8}`, // more than a byte can choose from, were they others
		"fixed":                   `fixed`,
	} {
		var heard []string
		text, err := processor(&heard).Process(generating(from), nil)
		if err != nil {
			t.Errorf("%s: %v", from, err)
			continue
		}
		items, _ := decode(t, text).(map[string]any)["items"].([]any)
		got := items[0].(map[string]any)["data"].(map[string]any)["secret"].(string)
		if !regexp.MustCompile("^"+want+"$").MatchString(got) || len(heard) != 1 || heard[0] != got {
			t.Errorf("%s gave %q; heard of %q", from, got, heard)
		}
	}
	var heard []string
	text, err := processor(&heard).Process(generating("[a-z]{9}"), map[string]string{"SECRET": "given"})
	if err != nil || !strings.Contains(text, `"given"`) || heard != nil {
		t.Errorf("a given value was generated: %v, %v\n%s", err, heard, text)
	}
}

// Every character of a class comes up, and about as often as another.
func TestGeneratedAreSpread(t *testing.T) {
	t.Parallel()
	count := map[rune]int{}
	random := rand.NewChaCha8([32]byte{7})
	p := openshift.Processor{Random: func(string) io.Reader { return random }, Generated: func(v string) {
		for _, c := range v {
			count[c]++
		}
	}}
	for range 100 {
		if _, err := p.Process(generating("[a-ze-mm]{255}"), nil); err != nil { // what is named again isn't more likely
			t.Fatal(err)
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		if n := count[c]; n < 800 || n > 1200 { // about 981
			t.Errorf("%c came up %d times of 25500", c, n)
		}
	}
}

func generating(from string) manifest.File {
	return manifest.File{Name: "t.json", Text: `{"kind": "Template", "parameters": [{"name": "SECRET", "generate": "expression", "from": ` + string(quote(from)) + `}],
		"objects": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"secret": "${SECRET}"}}]}`}
}

func quote(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return text
}

func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	parameter := func(p string) string { return "kind: Template\nparameters: [" + p + "]\nobjects: []\n" }
	for _, tt := range []struct {
		name, text string
		given      map[string]string
		err        string
	}{
		{"no template", "kind: List\n", nil, `web.yaml is of the kind "List"; want a Template`},
		{"no YAML", "a: [", nil, "web.yaml"},
		{"a number for a text", parameter("{name: A, value: 5}"), nil, "web.yaml"},
		{"required", parameter("{name: A, required: true}"), nil, "parameter A is required"},
		{"an unknown one", parameter("{name: B}, {name: A}"), map[string]string{"C": "1"}, `no parameter "C"; want one of A, B`},
		{"another generator", parameter("{name: A, generate: uuid}"), nil, `generate is "uuid"`},
		{"nothing to generate", parameter("{name: A, generate: expression}"), nil, "from is empty"},
		{"too long", parameter("{name: A, generate: expression, from: '[a-z]{256}'}"), nil, "1 to 255"},
		{"a range of nothing", parameter("{name: A, generate: expression, from: '[z-a]{2}'}"), nil, "z-a"},
		{"an unknown class", parameter(`{name: A, generate: expression, from: '[\s]{2}'}`), nil, `\w, \d, \a or \A`},
	} {
		var none []string
		if _, err := processor(&none).Process(manifest.File{Name: "web.yaml", Text: tt.text}, tt.given); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %v; want an error about %s", tt.name, err, tt.err)
		}
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	low := manifest.File{Name: "low", Text: "# of all\nA=1\nB: two words \r\n\nexport C = x#y # comment\nURL=https://h:1/?a=b\nE=\n"}
	high := manifest.File{Name: "high", Text: "A=2\nKEY=\"line 1\nline \\\"2\\\" # \\$x\\n\"\nQ='a \\n # \"b'\n"}
	got, err := openshift.Params([]manifest.File{low, high})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"A": "2", "B": "two words", "C": "x#y", "URL": "https://h:1/?a=b", "E": "", "KEY": "line 1\nline \"2\" # $x\n", "Q": `a \n # "b`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"A=1\nB":       "line 2: found no value",
		"a b=1":        `line 1: found the name "a b"`,
		"\nA=\"x\ny\n": "line 2: a value begins with \"",
	} {
		if _, err := openshift.Params([]manifest.File{{Name: "p", Text: text}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v; want an error about %s", text, err, want)
		}
	}
}

// FuzzTemplates: whatever a template and its parameters are, processing ends,
// and what it makes is JSON.
func FuzzTemplates(f *testing.F) {
	f.Add(generating(`a[\w-z]{3}[`).Text, "SECRET=x")
	f.Add("kind: Template\nobjects: [{metadata: a, a: [\"${{A}}\"]}]\nlabels: {a: b}\nparameters: [{name: A}]\n", "A=\"{\n\"")
	f.Fuzz(func(t *testing.T, template, params string) {
		given, err := openshift.Params([]manifest.File{{Name: "p", Text: params}})
		if err != nil {
			return
		}
		var heard []string
		text, err := processor(&heard).Process(manifest.File{Name: "t", Text: template}, given)
		if err == nil {
			decode(t, text)
		}
	})
}
