package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/lint"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// taking is a pipeline with steps and variables that come from outside, and a
// script.
const taking = `
identifier: p
variables: [{name: title, type: String, value: <+trigger.payload.pull_request.title>}, {name: safe, type: String, value: x}, {name: a.b, type: String, value: "x <+eventPayload>"}]
stages:
  - stage:
      identifier: build
      type: Custom
      strategy: {matrix: {branch: [<+trigger.branch>], region: [eu]}}
      variables: [{name: of, type: String, value: <+pipeline.variables.title>}]
      spec:
        execution:
          steps:
            - step: {identifier: ask, type: Http, spec: {url: x, method: GET}}
            - step: {identifier: slug, type: ShellScript, spec: {shell: Bash, environmentVariables: [{name: T, type: String, value: <+trigger.prTitle>}], outputVariables: [{name: slug}]}}
            - step: {identifier: agree, type: CustomApproval, spec: {shell: Bash, environmentVariables: [{name: T, type: String, value: <+trigger.prTitle>}], outputVariables: [{name: who}]}}
            - step: {identifier: clean, type: ShellScript, spec: {shell: Bash}}
            - stepGroup: {identifier: g, variables: [{name: v, type: String, value: <+trigger.tag>}], steps: [{step: {identifier: in, type: ShellScript, spec: {shell: Bash, source: {type: Inline, spec: {script: "@here"}}}}}]}
`

// What anybody outside may have written is found wherever a script takes it,
// whatever is around it and through however many variables it goes.
func TestUntrustedInScripts(t *testing.T) {
	t.Parallel()
	tests := []struct{ script, want string }{
		{"echo <+trigger.payload.title>", "<+trigger.payload.title>"},
		{"echo <+trigger.payload['title']>", "<+trigger.payload.title>"},
		{"echo <+trigger.payload.title.toLowerCase()>", "<+trigger.payload.title"},
		{`echo <+<+trigger.payload.title>.replace("a", "b").split(",")[0]>`, "<+trigger.payload.title>"},
		{`echo <+json.select("a.b", <+eventPayload>)>`, "<+eventPayload>"},
		{`echo <+<+pipeline.name>.concat(<+trigger.sourceBranch>)>`, "<+trigger.sourceBranch>"},
		{`echo <+trigger.event == "PR" ? <+trigger.prTitle> : "none">`, "<+trigger.prTitle>"},
		{"echo <+trigger.header['X-Who']>", "<+trigger.header"},
		{"echo <+pipeline.variables.title>", "which takes <+trigger.payload.pull_request.title>"},
		{"echo <+pipeline.variables.a.b>", "which takes <+eventPayload>"},
		{"echo <+stage.variables.of>", "which takes <+trigger.payload.pull_request.title>"},
		{"echo <+pipeline.stages.build.variables.of>", "which takes <+trigger.payload.pull_request.title>"},
		{"echo <+stepGroup.variables.v>", "which takes <+trigger.tag>"},
		{"echo <+matrix.branch>", "which takes <+trigger.branch>"},
		{"echo <+execution.steps.ask.output.httpResponseBody>", "<+execution.steps.ask.output.httpResponseBody>"},
		{"echo <+pipeline.stages.build.spec.execution.steps.ask.output.outputVariables.x>", "ask.output.outputVariables.x>"},
		{"echo <+execution.steps.slug.output.outputVariables.slug>", "which takes <+trigger.prTitle>"},
		{"echo <+execution.steps.agree.output.outputVariables.who>", "which takes <+trigger.prTitle>"},
		{"echo <+trigger.prNumber> <+trigger.commitSha> <+trigger.event>", ""},
		{"echo <+execution.steps.ask.output.httpResponseCode>", ""},
		{"echo <+execution.steps.clean.output.outputVariables.slug>", ""},
		{"echo <+pipeline.variables.safe> <+matrix.region> <+pipeline.name>", ""},
		{"echo $TITLE", ""},
	}
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			t.Parallel()
			got := untrustedIn(t, strings.Replace(taking, `"@here"`, fmt.Sprintf("%q", tt.script), 1), false)
			if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Errorf("found %q; want %q", got, tt.want)
			}
		})
	}
}

// It isn't only scripts that are run or applied.
func TestUntrustedInWhatIsApplied(t *testing.T) {
	t.Parallel()
	const title = "<+trigger.payload.title>"
	tests := map[string]struct{ doc, want string }{
		"a flag":                {"{steps: [{step: {spec: {commandFlags: [{commandType: Apply, flag: '--x=" + title + "'}]}}}]}", "steps[0].step.spec.commandFlags[0].flag: warning: the command's flag takes"},
		"an inline manifest":    {"{serviceDefinition: {spec: {manifests: [{manifest: {spec: {store: {type: Inline, spec: {content: '" + title + "'}}}}}]}}}", "store.spec.content: warning: the inline file takes"},
		"an inline patch":       {"{spec: {source: {type: Inline, spec: {content: '" + title + "'}}}}", "the inline file takes"},
		"a script that fetches": {"{store: {type: CustomRemote, spec: {extractionScript: 'curl " + title + "'}}}", "the script takes"},
		"instances":             {"{infrastructure: {fetchInstancesScript: {store: {type: Inline, spec: {content: '" + title + "'}}}}}", "the script takes"},
		"the environment":       {"{spec: {environmentVariables: [{name: T, value: " + title + "}], source: {type: Inline, spec: {script: 'echo $T'}}}}", ""},
		"a config file":         {"{configFiles: [{configFile: {spec: {store: {type: Inline, spec: {content: '" + title + "'}}}}}]}", ""},
		"what a service says":   {"{serviceDefinition: {spec: {variables: [{name: v, value: " + title + "}], manifests: [{manifest: {spec: {store: {type: Inline, spec: {content: <+serviceVariables.v>}}}}}]}}}", "which takes " + title},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := untrustedIn(t, tt.doc, false)
			if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Errorf("found %q; want %q", got, tt.want)
			}
		})
	}
	if got := untrustedIn(t, tests["a flag"].doc, true); len(got) != 1 || strings.Contains(got[0], "warning") {
		t.Errorf("a strict report has %q; want an error", got)
	}
}

func untrustedIn(t *testing.T, doc string, strict bool) []string {
	t.Helper()
	docs, r := yamldoc.Parse("", []byte(doc))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if strict {
		r.Strict()
	}
	lint.Untrusted(docs[0], builtin.Steps(), r)
	var out []string
	for _, f := range r.Findings() {
		out = append(out, f.String())
	}
	return out
}

// A step that gets the values beside its script is silent, and the option is
// named where it isn't used; what such a script prints is from outside all the same.
func TestExpressionsBesideAScript(t *testing.T) {
	t.Parallel()
	const option = "(expressions: Environment in its spec)"
	doc := strings.Replace(taking, `"@here"`, `"echo <+trigger.payload.title>"`, 1)
	if got := untrustedIn(t, doc, false); len(got) != 1 || !strings.Contains(got[0], option) {
		t.Errorf("found %q; want the option named", got)
	}
	doc = strings.Replace(doc, "identifier: in, type: ShellScript, spec: {shell: Bash,", "identifier: in, type: ShellScript, spec: {shell: Bash, expressions: Environment,", 1)
	if got := untrustedIn(t, doc, false); len(got) > 0 {
		t.Errorf("found %q; want nothing", got)
	}
	doc += `            - step: {identifier: after, type: ShellScript, spec: {shell: Bash, source: {type: Inline, spec: {script: "echo <+steps.in.output.outputVariables.x>"}}}}` + "\n"
	if got := untrustedIn(t, doc, false); len(got) != 1 || !strings.Contains(got[0], "<+trigger.payload.title>") {
		t.Errorf("found %q; want the output of the step", got)
	}
}
