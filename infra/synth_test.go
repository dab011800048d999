package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// variants are the installations that the tests look at, by their context.
func variants() map[string]map[string]any {
	return map[string]map[string]any{
		"dev":  {},
		"prod": {"stage": "prod", "alarms": "ops@example.com"},
		"full": {
			"stage": "prod", "domain": "slipway.example.com",
			"certificate": "arn:aws:acm:eu-west-1:111122223333:certificate/12345678-1234-1234-1234-123456789012",
			"delegate":    "fargate", "delegateImage": "111122223333.dkr.ecr.eu-west-1.amazonaws.com/slipway/delegate:1.0", "delegateTags": "vpc-a",
			"delegateToken": "arn:aws:secretsmanager:eu-west-1:111122223333:secret:slipway-delegate-AbCdEf",
			"auditBuckets":  "acme-audit,acme-more", "auditRoles": "arn:aws:iam::444455556666:role/audit", "auditRetention": "365",
			"delegateVpc": "vpc-0123456789abcdef0", "delegateSubnets": "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
		},
	}
}

// kept is relative to this folder.
var kept = flag.String("keep", "", "folder to leave the stacks of a stage for development in, around empty functions: internal/e2e installs them")

// programEnv makes the test binary the app itself.
const programEnv = "INFRA_PROGRAM"

var (
	jsiiMu   sync.Mutex // jsii has one runtime for the process
	outputs  = map[string]string{}
	emptyZip = []byte("PK\x05\x06" + strings.Repeat("\x00", 18))
)

// synthesize gives the output folder of a variant, made once for the process.
func synthesize(tb testing.TB, variant string) string {
	tb.Helper()
	jsiiMu.Lock()
	defer jsiiMu.Unlock()
	if out, ok := outputs[variant]; ok {
		return out
	}
	// Not tb.TempDir: the other tests read it too.
	dir, err := os.MkdirTemp("", "infra-") //nolint:usetesting // outlives this test
	if err != nil {
		tb.Fatal(err)
	}
	atExit = append(atExit, dir)
	zips, out := filepath.Join(dir, "functions"), filepath.Join(dir, "cdk.out")
	if err := os.Mkdir(zips, 0o700); err != nil {
		tb.Fatal(err)
	}
	for _, name := range functionNames() {
		if err := os.WriteFile(filepath.Join(zips, name+".zip"), emptyZip, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	context := variants()[variant]
	context["functions"] = zips
	if variant == "dev" {
		if *kept != "" {
			out = *kept
		}
		byProgram(tb, out, context)
		outputs[variant] = out
		return out
	}
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(out), Context: &context})
	if err := Build(app); err != nil {
		tb.Fatal(err)
	}
	app.Synth(nil)
	outputs[variant] = out
	return out
}

// byProgram has the app itself synthesize, as the CDK's command line does.
func byProgram(tb testing.TB, out string, context map[string]any) {
	tb.Helper()
	doc, err := json.Marshal(context)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.RemoveAll(out); err != nil {
		tb.Fatal(err)
	}
	program := exec.CommandContext(tb.Context(), os.Args[0])
	program.Env = append(os.Environ(), programEnv+"=1", "CDK_OUTDIR="+out, "CDK_CONTEXT_JSON="+string(doc))
	if said, err := program.CombinedOutput(); err != nil {
		tb.Fatalf("the app: %v\n%s", err, said)
	}
}

// atExit are the folders that synthesize made.
var atExit []string

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
		return
	}
	code := m.Run()
	for _, dir := range atExit {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

type resource struct {
	Type                string
	Properties          map[string]any
	Metadata            map[string]any
	DeletionPolicy      string
	UpdateReplacePolicy string
}

type template struct {
	Resources map[string]resource
	Outputs   map[string]any
}

// load reads a stack of a variant.
func load(tb testing.TB, variant, stack string) template {
	tb.Helper()
	doc, err := os.ReadFile(filepath.Join(synthesize(tb, variant), stack+".template.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var tpl template
	if err := json.Unmarshal(doc, &tpl); err != nil {
		tb.Fatal(err)
	}
	return tpl
}

// stacks are a variant's.
func stacks(tb testing.TB, variant string) map[string]template {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(synthesize(tb, variant), "*.template.json"))
	if err != nil || len(files) < 2 {
		tb.Fatalf("%s has the stacks %q, %v; want State and Compute at least", variant, files, err)
	}
	all := map[string]template{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".template.json")
		all[name] = load(tb, variant, name)
	}
	return all
}

// of are the resources of a type, which there have to be.
func (t template) of(tb testing.TB, kind string) map[string]resource {
	tb.Helper()
	found := map[string]resource{}
	for name, r := range t.Resources {
		if r.Type == kind {
			found[name] = r
		}
	}
	if len(found) == 0 {
		tb.Fatalf("the template has no %s", kind)
	}
	return found
}
