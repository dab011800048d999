package expr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// document is what names mean in these tests. In mappings called variables,
// stages and steps a missing name is unknown; elsewhere it is null.
const document = `{
  "pipeline": {
    "identifier": "shop", "name": "Shop", "executionId": "exec-1", "sequenceId": 7, "triggerType": "MANUAL",
    "tags": {"team": "web"},
    "variables": {
      "v": "ABC", "n": 2, "half": 1.5, "whole": 3.0, "five": "5", "three": "3", "env": "dev", "empty": "", "nothing": null,
      "version": "5.6.0", "list": "a,b,c", "yes": true, "no": false, "textTrue": "true", "textFalse": "false",
      "path": "/srv/www", "spaced": "  x y  ", "json": "{\"a\":{\"b\":[1,2]},\"k\":\"v\"}", "umlaut": "Größe", "emoji": "a😀b",
      "my-var": "dashed", "a.b": "dotted", "stage": "build", "dollar": "$1", "date": "2024-01-31", "xml": "<r><i id='1'>one</i><i id='2'>two</i></r>",
      "angle": "<+pipeline.variables.v>", "quote": "it's \"so\"", "lines": "one\ntwo"
    },
    "stages": {
      "build": {"name": "Build", "status": "Success", "variables": {"x": "from build"}, "spec": {"execution": {"steps": {
         "s1": {"output": {"outputVariables": {"x": "out", "o-k": "dash"}}},
         "s1_0": {"output": {"outputVariables": {"x": "out 0"}}},
         "skippedStep": {}}}}},
      "build_0": {"name": "Build", "variables": {"x": "from build_0"}}
    }
  },
  "stage": {"name": "Deploy", "identifier": "deploy", "variables": {"s": "_s"}},
  "execution": {"steps": {
    "s1": {"output": {"outputVariables": {"x": "out"}}}, "s1_0": {"output": {"outputVariables": {"x": "out 0"}}},
    "skippedStep": {"output": null}}},
  "artifact": {"image": "nginx:1.2", "label": {"com.x.owner": "ada", "k": "lv"}},
  "issue": {"Status": "Done", "Field Name": "spaced field", "key": "AB-1"},
  "approval": {"approvalActivities": [{"user": {"name": "ada"}, "comments": "ok"}]},
  "trigger": {"payload": {"ref": "refs/heads/main", "k": [1, 2, {"d": true}], "n": {}}, "header": {"X-Event": "push"}},
  "strategy": {"iteration": 0, "identifierPostFix": "_0", "node": {"canary": {"currentStatus": "SUCCESS"}}},
  "matrix": {"weight": 30, "service": {"name": "svc1", "replicas": 2}},
  "serviceVariables": {"a.b": "sv dotted", "plain": "sv"},
  "env": null,
  "httpResponseCode": 200, "httpResponseBody": "{\"status\":\"UP\",\"s\":\"X\",\"items\":[{\"n\":\"a\"},{\"n\":\"b\"}]}",
  "var": {"get": "var"}
}`

// scope is a Scope over the document, with functors and stored expressions.
type scope struct {
	root   expr.Value
	stored map[string]string // pipeline.variables.<name> with expressions in them
	trail  *expr.Trail
	calls  *[]string
}

func newScope(tb testing.TB) scope {
	tb.Helper()
	root, err := expr.FromJSON([]byte(document))
	if err != nil {
		tb.Fatal(err)
	}
	return scope{root: root, calls: new([]string)}
}

func (s scope) Lookup(path []string) (expr.Value, int, error) {
	if len(path) >= 3 && path[1] == "variables" {
		if text, ok := s.stored[path[2]]; ok {
			inner, err := s.trail.Enter(strings.Join(path[:3], "."))
			if err != nil {
				return expr.Null(), 0, err
			}
			v, err := expr.Interpolate(text, scope{s.root, s.stored, inner, s.calls})
			return v, 3, err
		}
	}
	v := s.root
	for i, name := range path {
		if v.Kind() != expr.KindMap {
			if v.IsNull() {
				return v, len(path), nil
			}
			return v, i, nil
		}
		next, ok := v.Field(name)
		switch strict := i == 0 || path[i-1] == "variables" || path[i-1] == "stages" || path[i-1] == "steps"; {
		case !ok && strict:
			return expr.Null(), 0, fmt.Errorf("%w %q", expr.ErrUnknown, name)
		case !ok:
			return expr.Null(), len(path), nil
		}
		if v = next; name == "status" || name == "currentStatus" {
			v = expr.StatusOf(v.Text())
		}
	}
	return v, len(path), nil
}

func (s scope) Call(name string, args []expr.Value) (expr.Value, error) {
	*s.calls = append(*s.calls, name)
	switch name {
	case "secrets.getValue":
		*s.calls = append(*s.calls, args[0].Text())
		return expr.SecretRef("{{" + args[0].Text() + "}}"), nil
	case "configFile.getAsString":
		return expr.String("content of " + args[0].Text()), nil
	case "currentTime":
		return expr.String("2024-01-31T10:30:00Z"), nil
	case "broken.get_it":
		return expr.Null(), errors.New("connection refused")
	case "gone.get_it":
		return expr.Null(), fault.New(fault.NotFound, "secret %q doesn't exist", args[0].Text())
	}
	return expr.Null(), expr.ErrUnknown
}

// row is one line of a table: what a text gives, as JSON, or a part of the
// error's message.
type row struct {
	text string
	want string // JSON, e.g. `"abc"` or `7`
	err  string
}

// interpolate runs rows through Interpolate.
func interpolate(t *testing.T, rows []row) {
	t.Helper()
	run(t, rows, expr.Interpolate)
}

// evaluate runs rows through Evaluate, where the text is a body.
func evaluate(t *testing.T, rows []row) {
	t.Helper()
	run(t, rows, expr.Evaluate)
}

func run(t *testing.T, rows []row, f func(string, expr.Scope) (expr.Value, error)) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.text, func(t *testing.T) {
			t.Parallel()
			v, err := f(r.text, newScope(t))
			if r.err != "" {
				if err == nil || !strings.Contains(err.Error(), r.err) {
					t.Fatalf("%s\n got %s, error %v\nwant an error with %q", r.text, v.Text(), err, r.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s\n%v", r.text, err)
			}
			want, err := expr.FromJSON([]byte(r.want))
			if err != nil {
				t.Fatalf("the wanted value %s isn't JSON: %v", r.want, err)
			}
			if diff := cmp.Diff(want, plain(v)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", r.text, diff)
			}
		})
	}
}

// plain makes statuses and secrets strings, so that they compare with JSON.
func plain(v expr.Value) expr.Value {
	switch v.Kind() {
	case expr.KindStatus, expr.KindSecret:
		return expr.String(v.Text())
	default:
		return v
	}
}
