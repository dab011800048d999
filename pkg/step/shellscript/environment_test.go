package shellscript

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// What stands for an expression, by where it stands in a script.
func TestPlacesOfExpressions(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{ // the script that runs, or why not
		"echo <+a>":                            `echo "${SLIPWAY_1}"`,
		"echo x<+a>y":                          `echo x"${SLIPWAY_1}"y`,
		`echo "a <+a> b"`:                      `echo "a ${SLIPWAY_1} b"`,
		`echo "<+a>" '"' <+b>`:                 `echo "${SLIPWAY_1}" '"' "${SLIPWAY_2}"`,
		"X=<+a>; Y=<+a>":                       `X="${SLIPWAY_1}"; Y="${SLIPWAY_1}"`,
		`echo "$(cat <+a>)"`:                   `echo "$(cat "${SLIPWAY_1}")"`,
		`echo "$(cat "<+a>")" <+b>`:            `echo "$(cat "${SLIPWAY_1}")" "${SLIPWAY_2}"`,
		`echo \" <+a>`:                         `echo \" "${SLIPWAY_1}"`,
		"# don't\necho <+a>":                   "# don't\n" + `echo "${SLIPWAY_1}"`,
		"echo $# ${#x} <+a>":                   `echo $# ${#x} "${SLIPWAY_1}"`,
		"cat <<END\nit's <+a>\nEND\necho <+b>": "cat <<END\nit's ${SLIPWAY_1}\nEND\n" + `echo "${SLIPWAY_2}"`,
		"cat <<-END\n\t<+a>\n\tEND\necho <+b>": "cat <<-END\n\t${SLIPWAY_1}\n\tEND\n" + `echo "${SLIPWAY_2}"`,
		"cat <<< <+a>":                         `cat <<< "${SLIPWAY_1}"`,
		`echo <+secrets.getValue("x")>`:        `echo "${SLIPWAY_1}"`,
		"#!/usr/bin/env bash\necho <+a>":       "#!/usr/bin/env bash\n" + `echo "${SLIPWAY_1}"`,
		"echo '<+a>'":                          "line 1 of the script: <+a> stands in single quotes",
		"echo a\necho $'x<+a>'":                "line 2 of the script: <+a> stands in single quotes",
		"cat <<'END'\n<+a>\nEND":               "line 2 of the script: <+a> stands in a heredoc whose end is quoted",
		"cat <<\"END\"\n<+a>\nEND":             "a heredoc whose end is quoted",
		"cat <<\\END\n<+a>\nEND":               "a heredoc whose end is quoted",
		"cat <<END\n$(x <+a>)\nEND":            "stands in a command",
		"echo `x <+a>`":                        "stands in backticks",
		"echo $((1 + <+a>))":                   "stands in arithmetic",
		"if (( <+a> > 1 )); then x; fi":        "stands in arithmetic",
		"[[ <+a> -eq 1 ]]":                     "stands in arithmetic",
		"echo ${x:-<+a>}":                      "stands in ${...}",
		"eval <+a>":                            "is given to what reads it as code",
		`bash -c "<+a>"`:                       "is given to what reads it as code",
		`sh -ec "<+a>"`:                        "is given to what reads it as code",
		`echo \<+a>`:                           "stands behind a backslash",
		"<+a>":                                 "is the script as a whole",
		"#!/usr/bin/python3\nprint(<+a>)":      "a script of another language",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			prepares(t, "Bash", script, want)
		})
	}
}

func TestPlacesOfExpressionsInPowerShell(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"Write-Host <+a>":                     "Write-Host ${env:SLIPWAY_1}",
		`Write-Host "a <+a> $(f '<x>' <+b>)"`: `Write-Host "a ${env:SLIPWAY_1} $(f '<x>' ${env:SLIPWAY_2})"`,
		"# it's\n$x = <+a>":                   "# it's\n$x = ${env:SLIPWAY_1}",
		"<# it's #> $x = <+a>":                "<# it's #> $x = ${env:SLIPWAY_1}",
		"$x = @\"\nit's <+a>\n\"@; <+b>":      "$x = @\"\nit's ${env:SLIPWAY_1}\n\"@; ${env:SLIPWAY_2}",
		"echo 'a''b' <+a>":                    "echo 'a''b' ${env:SLIPWAY_1}",
		"Write-Host '<+a>'":                   "stands in single quotes",
		"$x = @'\n<+a>\n'@":                   "stands in single quotes",
		"Invoke-Expression <+a>":              "is given to what reads it as code",
		"echo x | iex ; iex <+a>":             "is given to what reads it as code",
		"echo `<+a>":                          "stands behind a backtick",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			prepares(t, "PowerShell", script, want)
		})
	}
}

// spec is that of a step whose expressions go by environment.
func spec(shell, script string) *yamldoc.Node {
	return yamldoc.FromAny(map[string]any{
		"shell": shell, "expressions": asEnvironment,
		"source": map[string]any{"type": "Inline", "spec": map[string]any{"script": script}},
	}, 1, 1)
}

// prepares checks what becomes of a script, or what is said of it, on save and
// when the step starts.
func prepares(t *testing.T, shell, script, want string) {
	t.Helper()
	report := yamldoc.NewReport("")
	Type().Decode(spec(shell, script), report)
	got, err := prepare(spec(shell, script))
	if err != nil {
		if !strings.Contains(err.Error(), want) || !fault.Is(err, fault.Invalid) {
			t.Errorf("error %v; want %s", err, want)
		}
		if f := report.Findings(); len(f) != 1 || !strings.Contains(f[0].Message, want) || f[0].Path != "source.spec.script" {
			t.Errorf("found %v on save; want %s", f, want)
		}
		return
	}
	if report.Failed() {
		t.Error(report.Err())
	}
	if text := got.At("source", "spec", "script").Value; text != want {
		t.Errorf("the script is\n%s\nwant\n%s", text, want)
	}
}

// hostile are texts that somebody outside may choose.
func hostile() []string {
	return []string{
		`"; touch pwned; #`, "$(touch pwned)", "`touch pwned`", "'; touch pwned; '", "\ntouch pwned\n", "${x:-$(touch pwned)}", `\"; touch pwned`,
		"END\ntouch pwned\n", "*", "a  b", "x|", "",
	}
}

// A value is never code: the shell that runs the script sees it as it is,
// wherever it stands, and so with environmentVariables.
func TestAHostileValueIsNeverRun(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"bare":               "printf %s <+trigger.payload.title>",
		"quoted":             `printf %s "<+trigger.payload.title>"`,
		"in a command":       `x="$(printf '%s.' "<+trigger.payload.title>")"; printf %s "${x%.}"`,
		"in a heredoc":       "IFS= read -r -d '' x <<END\n<+trigger.payload.title>\nEND\nprintf %s \"${x%?}\"",
		"by a variable":      `title=<+trigger.payload.title>; printf %s "$title"`,
		"by its environment": `printf %s "$TITLE"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, value := range hostile() {
				p := payload(t, script, value)
				if strings.Contains(p.Script, "<+") || strings.Contains(p.Script, "touch") {
					t.Fatalf("the script is %s", p.Script)
				}
				if got := runs(t, p); got != value {
					t.Errorf("the script saw %q; want %q", got, value)
				}
			}
		})
	}
}

// payload is what a delegate gets of a script if its expression has a value.
func payload(t *testing.T, script, value string) task.Shell {
	t.Helper()
	doc := with(spec("Bash", script), "environmentVariables", yamldoc.FromAny([]any{map[string]any{"name": "TITLE", "type": "String", "value": "<+trigger.payload.title>"}}, 1, 1))
	doc, err := prepare(doc)
	if err != nil {
		t.Fatal(err)
	}
	env := doc.Get("environmentVariables")
	for i, item := range env.Items { // as the engine resolves it
		text := strings.ReplaceAll(item.Get("value").Value, "<+trigger.payload.title>", value)
		env.Items[i] = with(item, "value", yamldoc.FromAny(text, 1, 1))
	}
	report := yamldoc.NewReport("").Resolved()
	action, err := Type().Decode(doc, report).Start(step.In{})
	if err != nil || report.Failed() {
		t.Fatal(err, report.Err())
	}
	p, ok := action.Task.Payload.(task.Shell)
	if !ok {
		t.Fatalf("the payload is a %T", action.Task.Payload)
	}
	return p
}

// runs runs a script in an empty folder and gives what it printed.
func runs(t *testing.T, p task.Shell) string {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "script.sh")
	if err := os.WriteFile(file, []byte(p.Script), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(context.WithoutCancel(t.Context()), bash, file)
	c.Dir, c.Env = folder, os.Environ()
	for name, v := range p.Env {
		c.Env = append(c.Env, name+"="+v)
	}
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Script)
	}
	left, err := filepath.Glob(filepath.Join(folder, "pwned"))
	if err != nil || len(left) > 0 {
		t.Errorf("a value was run: %v, %v", left, err)
	}
	return string(out)
}

// A variable of the environment has a bound, at which a value still fits.
func TestAValueThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	env := map[string]string{"SLIPWAY_1": strings.Repeat("x", maxVariable) + endMark}
	if err := unmark(env); err != nil || len(env["SLIPWAY_1"]) != maxVariable {
		t.Errorf("%d bytes: %v", len(env["SLIPWAY_1"]), err)
	}
	env["SLIPWAY_1"] = strings.Repeat("x", maxVariable+1) + endMark
	if err := unmark(env); !fault.Is(err, fault.TooLarge) {
		t.Errorf("one more: %v", err)
	}
}

// What doesn't go with the option is refused on save.
func TestOptionOfExpressions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{shell: Bash, expressions: Environment, source: {type: Inline, spec: {script: echo <+a.b>}}}":                                                          "",
		"{shell: Bash, expressions: Text, source: {type: Inline, spec: {script: \"'<+a.b>'\"}}}":                                                                "",
		"{shell: Bash, expressions: Env, source: {type: Inline, spec: {script: a}}}":                                                                            `found "Env"; want one of Text, Environment`,
		"{shell: Bash, expressions: <+a.b>, source: {type: Inline, spec: {script: a}}}":                                                                         "found an expression",
		"{shell: Bash, expressions: Environment, source: {type: Harness, spec: {file: /a}}}":                                                                    "expressions of a file of the file store",
		"{shell: Bash, expressions: Environment, source: {type: Inline, spec: {script: a}}, environmentVariables: [{name: SLIPWAY_2, type: String, value: a}]}": "found the variable SLIPWAY_2",
	} {
		docs, _ := yamldoc.Parse("", []byte(text))
		report := yamldoc.NewReport("")
		Type().Decode(docs[0], report)
		switch err := report.Err(); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
