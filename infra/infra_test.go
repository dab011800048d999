package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"
)

// cdk-nag finds nothing that isn't explained at its construct.
func TestNagFindsNothing(t *testing.T) {
	t.Parallel()
	for variant := range variants() {
		reports, err := filepath.Glob(filepath.Join(synthesize(t, variant), "*NagReport.csv"))
		if err != nil || len(reports) != len(stacks(t, variant)) {
			t.Fatalf("%s: %d reports, %v; want one for each stack", variant, len(reports), err)
		}
		for _, file := range reports {
			report, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(report), `"Compliant"`) {
				t.Errorf("%s: %s finds nothing in order: is it a report?", variant, filepath.Base(file))
			}
			for line := range strings.Lines(string(report)) {
				if strings.Contains(line, `"Non-Compliant"`) || strings.Contains(line, `"UNKNOWN"`) {
					t.Errorf("%s: %s", variant, line)
				}
			}
		}
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	lint, err := exec.LookPath("cfn-lint")
	if err != nil {
		t.Skip("cfn-lint isn't installed: pip install cfn-lint")
	}
	for variant := range variants() {
		files, err := filepath.Glob(filepath.Join(synthesize(t, variant), "*.template.json"))
		if err != nil {
			t.Fatal(err)
		}
		if found, err := exec.CommandContext(t.Context(), lint, files...).CombinedOutput(); err != nil {
			t.Errorf("%s: cfn-lint: %v\n%s", variant, err, found)
		}
	}
}

// What is kept outlives its stack in every stage but those for development.
func TestDataOutliveTheStacks(t *testing.T) {
	t.Parallel()
	for variant, want := range map[string]string{"dev": "Delete", "prod": "Retain"} {
		tpl := load(t, variant, "State")
		for _, kind := range []string{"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key"} {
			for name, r := range tpl.of(t, kind) {
				if r.DeletionPolicy != want || r.UpdateReplacePolicy != want {
					t.Errorf("%s: %s: when deleted %s, when replaced %s; want %s", variant, name, r.DeletionPolicy, r.UpdateReplacePolicy, want)
				}
			}
		}
		for name, r := range tpl.of(t, "AWS::DynamoDB::Table") {
			if got := r.Properties["DeletionProtectionEnabled"]; got != (want == "Retain") {
				t.Errorf("%s: %s: protected from deletion: %v", variant, name, got)
			}
		}
	}
}

// The table is what pkg/store/dynamo says, whose tests make theirs from it.
func TestTableIsTheStores(t *testing.T) {
	t.Parallel()
	type key struct{ AttributeName, KeyType string }
	type table struct {
		AttributeDefinitions   []struct{ AttributeName, AttributeType string }
		BillingMode            string
		KeySchema              []key
		GlobalSecondaryIndexes []struct {
			IndexName  string
			KeySchema  []key
			Projection struct {
				ProjectionType   string
				NonKeyAttributes []string
			}
		}
		TimeToLiveSpecification struct {
			AttributeName string
			Enabled       bool
		}
		StreamSpecification struct{ StreamViewType string }
	}
	product := exec.CommandContext(t.Context(), "go", "run", "infra/testdata/table/main.go")
	product.Dir = ".."
	doc, err := product.Output()
	if err != nil {
		t.Fatalf("ask pkg/store/dynamo: %v", err)
	}
	var asked struct {
		Table           table
		TimeToLive      json.RawMessage
		ChangedPrefixes []string
		BlobPrefix      string
		RetiredTag      string
	}
	if err := json.Unmarshal(doc, &asked); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asked.ChangedPrefixes, changedPrefixes()); diff != "" {
		t.Errorf("the stream's filters aren't for what pkg/store/dynamo reads (-want +got):\n%s", diff)
	}
	if asked.BlobPrefix != blobPrefix || asked.RetiredTag != retiredTag {
		t.Errorf("rights and rules are for blobs %s with the tag %s; they are %s with %s", blobPrefix, retiredTag, asked.BlobPrefix, asked.RetiredTag)
	}
	want := asked.Table
	if err := json.Unmarshal(asked.TimeToLive, &want.TimeToLiveSpecification); err != nil {
		t.Fatal(err)
	}
	for name, r := range load(t, "prod", "State").of(t, "AWS::DynamoDB::Table") {
		doc, err := json.Marshal(r.Properties)
		if err != nil {
			t.Fatal(err)
		}
		var got table
		if err := json.Unmarshal(doc, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s isn't pkg/store/dynamo's (-want +got):\n%s", name, diff)
		}
	}
}

// Every alarm says which page helps, and the page is there. docs/cost.md says
// how many there are to pay for.
func TestAlarmsHavePlaybooks(t *testing.T) {
	t.Parallel()
	cost, err := os.ReadFile("../docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("each of the %d alarms", len(load(t, "prod", "Compute").of(t, "AWS::CloudWatch::Alarm"))); !strings.Contains(string(cost), want) {
		t.Errorf("docs/cost.md doesn't say %q", want)
	}
	page := regexp.MustCompile(`docs/playbooks/[a-z-]+\.md`)
	for name, r := range load(t, "prod", "Compute").of(t, "AWS::CloudWatch::Alarm") {
		named := page.FindString(short(r.Properties["AlarmDescription"]))
		if named == "" {
			t.Errorf("%s names no page of docs/playbooks", name)
		} else if _, err := os.Stat(filepath.Join("..", named)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if actions, _ := r.Properties["AlarmActions"].([]any); len(actions) == 0 {
			t.Errorf("%s tells nobody", name)
		}
	}
}

// SAM finds a function by its path, and its code by its asset; samconfig.toml
// names the template.
func TestSAMFindsFunctions(t *testing.T) {
	t.Parallel()
	settings, err := os.ReadFile("../samconfig.toml")
	if err != nil {
		t.Fatal(err)
	}
	if want := `template_file = "cdk.out/Compute.template.json"`; !strings.Contains(string(settings), want) {
		t.Errorf("samconfig.toml hasn't %s", want)
	}
	out := synthesize(t, "dev")
	var paths []string
	for name, r := range load(t, "dev", "Compute").of(t, "AWS::Lambda::Function") {
		path, _ := r.Metadata["aws:cdk:path"].(string)
		paths = append(paths, path)
		asset, _ := r.Metadata["aws:asset:path"].(string)
		if _, err := os.Stat(filepath.Join(out, asset)); asset == "" || err != nil {
			t.Errorf("%s: asset %q: %v", name, asset, err)
		}
		if r.Metadata["aws:asset:property"] != "Code" {
			t.Errorf("%s: the asset is its %v; want Code", name, r.Metadata["aws:asset:property"])
		}
	}
	for _, s := range specs() {
		if want := "Compute/" + upper(s.name) + "Function/Resource"; !slices.Contains(paths, want) {
			t.Errorf("no function at %s; there are %q", want, paths)
		}
	}
}

func TestContextIsChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		context map[string]any
		says    string
	}{
		{map[string]any{"stage": "Prod!"}, `stage "Prod!"`},
		{map[string]any{"domain": "slipway.example.com"}, "domain and certificate"},
		{map[string]any{"auditRetention": "2y"}, `auditRetention "2y": want a number of days`},
		{map[string]any{"auditBuckets": "acme,*"}, `auditBuckets: found "*"`},
		{map[string]any{"auditRoles": "arn:aws:iam::444455556666:role/*"}, `auditRoles: found "arn:aws:iam::444455556666:role/*"`},
		{map[string]any{"functions": "/nowhere"}, "make functions"},
		{map[string]any{"delegate": "ec2"}, "want none or fargate"},
		{map[string]any{"delegate": "fargate"}, "needs delegateVpc"},
		{map[string]any{"delegate": "fargate", "delegateToken": "dlg.default.x.y"}, "the whole ARN"},
		{map[string]any{"delegate": "fargate", "delegateCpu": "half"}, `delegateCpu "half"`},
	} {
		err := build(t, tt.context)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v; want an error about %s", tt.context, err, tt.says)
		}
	}
}

func build(tb testing.TB, context map[string]any) error {
	tb.Helper()
	jsiiMu.Lock()
	defer jsiiMu.Unlock()
	return Build(awscdk.NewApp(&awscdk.AppProps{Context: &context, Outdir: jsii.String(tb.TempDir())}))
}
