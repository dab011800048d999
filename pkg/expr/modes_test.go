package expr_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func TestInterpolate(t *testing.T) { // semantics/pipeline §3.1
	t.Parallel()
	interpolate(t, []row{
		{text: "no expression > here", want: `"no expression > here"`},
		{text: "", want: `""`},
		{text: "a <+pipeline.variables.v> b", want: `"a ABC b"`},
		{text: "<+pipeline.variables.v><+pipeline.variables.v>", want: `"ABCABC"`},
		{text: "<+pipeline.variables.v> <+pipeline.variables.n>", want: `"ABC 2"`},
		{text: "us/<+pipeline.variables.env>/x", want: `"us/dev/x"`},
		{text: "# a comment: <+pipeline.variables.v>\necho", want: `"# a comment: ABC\necho"`},
		{text: "echo \"<+pipeline.variables.v>\" > /tmp/<+pipeline.sequenceId> && x < y", want: `"echo \"ABC\" > /tmp/7 && x < y"`},
		{text: "<+pipeline.variables.nothing>!", want: `"null!"`},
		{text: "<+pipeline.variables.half> <+pipeline.variables.whole> <+pipeline.variables.yes>", want: `"1.5 3 true"`},
		{text: "x=<+trigger.payload.k>", want: `"x=[1,2,{\"d\":true}]"`},
		{text: "<+pipeline.variables.v>.toLowerCase()", want: `"ABC.toLowerCase()"`}, // outside of brackets it is text here
		{text: "a\n<+pipeline.variables.lines>\n", want: `"a\none\ntwo\n"`},
		{text: "<+pipeline.variables.v>\n", want: `"ABC\n"`},
		{text: "${HARNESS_KUBE_CONFIG_PATH} <+pipeline.variables.v>", want: `"${HARNESS_KUBE_CONFIG_PATH} ABC"`},
	})
}

func TestWholeValueKeepsItsType(t *testing.T) { // semantics/pipeline §3.1
	t.Parallel()
	interpolate(t, []row{
		{text: "<+trigger.payload.k>", want: `[1,2,{"d":true}]`},
		{text: "<+matrix.service>", want: `{"name":"svc1","replicas":2}`},
		{text: "<+pipeline.variables.n>", want: `2`},
		{text: "<+pipeline.variables.yes>", want: `true`},
		{text: "<+pipeline.variables.nothing>", want: `null`},
		{text: "<+pipeline.variables.five>", want: `"5"`},
		{text: "<+pipeline.variables.list.split(',')>", want: `["a","b","c"]`},
		{text: "<+[1, \"a\", <+pipeline.variables.n>]>", want: `[1,"a",2]`},
	})
}

func TestResultsAreNotExpressions(t *testing.T) { // nothing is evaluated twice
	t.Parallel()
	interpolate(t, []row{
		{text: "<+pipeline.variables.angle>", want: `"<+pipeline.variables.v>"`},
		{text: "x<+pipeline.variables.angle>", want: `"x<+pipeline.variables.v>"`},
		{text: `<+"<" + "+pipeline.variables.v>">`, want: `"<+pipeline.variables.v>"`},
		{text: `<+<+pipeline.variables.angle>>`, want: `"<+pipeline.variables.v>"`},
	})
}

func TestBody(t *testing.T) { // semantics/pipeline §3.1, JEXL body
	t.Parallel()
	evaluate(t, []row{
		{text: "<+pipeline.variables.n> > 0", want: `true`},
		{text: "<+pipeline.variables.n>>0", want: `true`},
		{text: "<+pipeline.variables.n> >= 3", want: `false`},
		{text: "<+pipeline.variables.n>>=2", want: `true`},
		{text: "<+pipeline.variables.list>.split(',')", want: `["a","b","c"]`},
		{text: "<+<+pipeline.variables.list>.split(',')>", want: `["a","b","c"]`},
		{text: `<+pipeline.variables.v> == "ABC" || <+pipeline.variables.env> == "x"`, want: `true`},
		{text: `<+pipeline.variables.v>=="ABC"&&<+pipeline.variables.env>=="dev"`, want: `true`},
		{text: `<+pipeline.variables.v>=~"A.*"`, want: `true`},
		{text: `<+pipeline.variables.env>=~["dev","qa"]`, want: `true`},
		{text: "  \n <+pipeline.variables.n> \n == \n 2  ", want: `true`},
		{text: "httpResponseCode == 200", want: `true`},
		{text: "<+httpResponseCode> == 200", want: `true`},
		{text: `<+json.select("status", httpResponseBody)> == "UP"`, want: `true`},
		{text: `json.select("status", httpResponseBody) == "UP"`, want: `true`},
		{text: `"<+json.select(\"s\",httpResponseBody)>" == "X"`, want: `true`},
		{text: `"<+json.select("s",httpResponseBody)>" == "X"`, want: `true`},
		{text: `'<+pipeline.variables.v>' == 'ABC'`, want: `true`},
		{text: `["a", "b"]`, want: `["a","b"]`},
		{text: "true", want: `true`},
		{text: "<+pipeline.variables.v>", want: `"ABC"`},
		{text: "(<+pipeline.variables.n> + 1) * 2", want: `6`},
		{text: `<+issue.Status> == "Done" && <+issue."Field Name"> != "x"`, want: `true`},
		{text: "<+ pipeline.variables.yes > && <+ pipeline.variables.yes >", want: `true`},
		{text: "<+ pipeline.variables.n > > 1 && <+ pipeline.variables.n > > 1", want: `true`},
		{text: "<+pipeline.variables.n> > 1 && <+pipeline.variables.n> < 3", want: `true`},
		{text: `<+stage.variables.s>_x == "y"`, err: `"_s_x"`}, // glued: a name that is computed
	})
}

func TestInterpolateKnown(t *testing.T) { // semantics/pipeline §3.5 item 4
	t.Parallel()
	s := newScope(t)
	v, err := expr.InterpolateKnown("<+pipeline.name>: <+notification.nodeStatus> <+<+nope>.trim()>", s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("Shop: <+notification.nodeStatus> <+<+nope>.trim()>", v.Text()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := expr.InterpolateKnown(`<+pipeline.name.charAt(99)>`, s); !fault.Is(err, fault.Invalid) {
		t.Errorf("an expression that is wrong and not just unresolved: got %v, want INVALID", err)
	}
}

func TestInterpolateBlank(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	v, err := expr.InterpolateBlank("<+pipeline.name>: [<+notification.nodeStatus>] [<+<+nope>.trim()>]", s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("Shop: [] []", v.Text()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := expr.InterpolateBlank(`<+pipeline.name.charAt(99)>`, s); !fault.Is(err, fault.Invalid) {
		t.Errorf("an expression that is wrong and not just unresolved: got %v, want INVALID", err)
	}
}

func TestProgramIsReusable(t *testing.T) {
	t.Parallel()
	p, err := expr.Compile("v<+pipeline.sequenceId>")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if v, err := p.Run(newScope(t)); err != nil || v.Text() != "v7" {
			t.Fatalf("got %q, %v", v.Text(), err)
		}
	}
	body, err := expr.CompileBody("<+pipeline.sequenceId> + 1")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := body.Run(newScope(t)); err != nil || v.Text() != "8" {
		t.Fatalf("got %q, %v", v.Text(), err)
	}
}
