package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

var update = flag.Bool("update", false, "write testdata anew")

// synthesized is the app's output folder, made once: jsii is slow, and has one
// runtime for the process.
var synthesized = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "infra-")
	if err != nil {
		return "", err
	}
	zips, out := filepath.Join(dir, "functions"), filepath.Join(dir, "cdk.out")
	if err := os.Mkdir(zips, 0o700); err != nil {
		return "", err
	}
	for _, name := range functionNames() {
		if err := os.WriteFile(filepath.Join(zips, name+".zip"), []byte("not built for this test"), 0o600); err != nil {
			return "", err
		}
	}
	app := awscdk.NewApp(&awscdk.AppProps{
		Outdir: jsii.String(out), Context: &map[string]any{"stage": "prod", "functions": zips, "alarms": "ops@example.com"},
	})
	if err := Build(app); err != nil {
		return "", err
	}
	app.Synth(nil)
	return out, nil
})

type template struct {
	Resources map[string]struct {
		Type       string
		Properties map[string]any
	}
	Outputs map[string]any
}

func load(t *testing.T, stack string) template {
	t.Helper()
	out, err := synthesized()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(out, stack+".template.json"))
	if err != nil {
		t.Fatal(err)
	}
	var tpl template
	if err := json.Unmarshal(doc, &tpl); err != nil {
		t.Fatal(err)
	}
	return tpl
}

// TestOutline compares what the stacks hold, and what each role may do, with
// testdata/outline.txt: a reviewer reads the change there.
func TestOutline(t *testing.T) {
	var b strings.Builder
	for _, stack := range []string{"State", "Compute"} {
		tpl := load(t, stack)
		fmt.Fprintf(&b, "%s\n", stack)
		for _, line := range resources(tpl) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		for _, line := range rights(tpl) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		fmt.Fprintf(&b, "  outputs: %s\n\n", strings.Join(ours(slices.Sorted(maps.Keys(tpl.Outputs))), ", "))
	}
	const file = "testdata/outline.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != b.String() {
		t.Errorf("the stacks aren't as %s says; if they should be, run go test -update .\n%s", file, b.String())
	}
}

// ours leaves out the outputs by which one stack reads another's.
func ours(names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "ExportsOutput") })
}

func resources(tpl template) []string {
	count := map[string]int{}
	for _, r := range tpl.Resources {
		count[r.Type]++
	}
	var out []string
	for _, typ := range slices.Sorted(maps.Keys(count)) {
		out = append(out, fmt.Sprintf("%d %s", count[typ], typ))
	}
	return out
}

// statement is a part of a policy.
type statement struct {
	Sid      string
	Effect   string
	Action   any
	Resource any
}

func statements(tpl template) map[string][]statement {
	out := map[string][]statement{}
	for _, r := range tpl.Resources {
		if r.Type != "AWS::IAM::Policy" {
			continue
		}
		doc, err := json.Marshal(r.Properties["PolicyDocument"])
		if err != nil {
			continue
		}
		var p struct{ Statement []statement }
		if json.Unmarshal(doc, &p) != nil {
			continue
		}
		roles, _ := r.Properties["Roles"].([]any)
		for _, role := range roles {
			out[short(role)] = append(out[short(role)], p.Statement...)
		}
	}
	return out
}

// rights are what each role may do, a line for each statement.
func rights(tpl template) []string {
	var out []string
	for role, list := range statements(tpl) {
		for _, s := range list {
			out = append(out, fmt.Sprintf("%s %s %s: %s on %s", role, s.Effect, s.Sid, short(s.Action), short(s.Resource)))
		}
	}
	slices.Sort(out)
	return out
}

// short is a value of a template in few words: references are their names.
func short(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = short(p)
		}
		return strings.Join(parts, " ")
	case map[string]any:
		for _, kind := range []string{"Ref", "Fn::GetAtt", "Fn::ImportValue"} {
			if at, ok := v[kind]; ok {
				return "{" + strings.ReplaceAll(short(at), " ", ".") + "}"
			}
		}
		if list, ok := v["Fn::Join"].([]any); ok && len(list) == 2 {
			parts, _ := list[1].([]any)
			var b strings.Builder
			for _, p := range parts {
				b.WriteString(short(p))
			}
			return b.String()
		}
	}
	doc, _ := json.Marshal(v) //nolint:errchkjson // a part of a decoded template
	return string(doc)
}

// A resource of "*" stands only where AWS has nothing to name.
func TestWildcardsAreExplained(t *testing.T) {
	known := map[string]string{
		"": "what the CDK adds for logs and traces: the delivery of logs and X-Ray have no resources to name",
	}
	for role, list := range statements(load(t, "Compute")) {
		for _, s := range list {
			if slices.Contains(strings.Fields(short(s.Resource)), "*") && known[s.Sid] == "" {
				t.Errorf("%s may do %s on everything", role, short(s.Action))
			}
			if strings.Contains(short(s.Action), "*") {
				t.Errorf("%s may do %s: name the actions", role, short(s.Action))
			}
		}
	}
}

// cdk-nag finds nothing that isn't explained at its construct.
func TestNagFindsNothing(t *testing.T) {
	out, err := synthesized()
	if err != nil {
		t.Fatal(err)
	}
	reports, err := filepath.Glob(filepath.Join(out, "*NagReport.csv"))
	if err != nil || len(reports) != 2 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for _, file := range reports {
		report, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(report)) {
			if strings.Contains(line, `"Non-Compliant"`) {
				t.Error(line)
			}
		}
	}
}

func TestLint(t *testing.T) {
	lint, err := exec.LookPath("cfn-lint")
	if err != nil {
		t.Skip("cfn-lint isn't installed: pip install cfn-lint")
	}
	out, err := synthesized()
	if err != nil {
		t.Fatal(err)
	}
	if found, err := exec.CommandContext(t.Context(), lint, filepath.Join(out, "State.template.json"), filepath.Join(out, "Compute.template.json")).CombinedOutput(); err != nil {
		t.Errorf("cfn-lint: %v\n%s", err, found)
	}
}

func TestDataOutliveTheStacks(t *testing.T) {
	for name, r := range load(t, "State").Resources {
		if r.Type == "AWS::DynamoDB::Table" && r.Properties["DeletionProtectionEnabled"] != true {
			t.Errorf("table %s isn't protected from deletion", name)
		}
	}
}

func TestContextIsChecked(t *testing.T) {
	for _, tt := range []struct {
		context map[string]any
		says    string
	}{
		{map[string]any{"stage": "Prod!"}, `stage "Prod!"`},
		{map[string]any{"domain": "slipway.example.com"}, "domain and certificate"},
		{map[string]any{"functions": "/nowhere"}, "make functions"},
	} {
		err := Build(awscdk.NewApp(&awscdk.AppProps{Context: &tt.context, Outdir: jsii.String(t.TempDir())}))
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v; want an error about %s", tt.context, err, tt.says)
		}
	}
}
