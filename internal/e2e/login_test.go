package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// stacks makes the installation's two stacks, with nothing but their outputs.
func stacks(t *testing.T, a *e2e.AWS) {
	t.Helper()
	outputs := map[string]any{}
	for name, value := range a.Outputs {
		outputs[name] = map[string]string{"Value": value}
	}
	doc, err := json.Marshal(map[string]any{
		"Resources": map[string]any{"Nothing": map[string]any{"Type": "AWS::SNS::Topic"}}, "Outputs": outputs,
	})
	if err != nil {
		t.Fatal(err)
	}
	client := cloudformation.NewFromConfig(testaws.Config(strings.TrimPrefix(a.Env[0], "AWS_ENDPOINT_URL=")))
	for _, name := range []string{"slipway-test-state", "slipway-test-compute"} {
		if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(string(doc))}); err != nil {
			t.Fatal(err)
		}
	}
}

// A person with AWS credentials logs in to an installation and uses it.
func TestLoginOnAWS(t *testing.T) {
	t.Parallel()
	a := e2e.StartAWS(t)
	stacks(t, a)
	home := t.TempDir()
	folder, err := e2e.CommandLine()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "slipway")
	slipway := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), append(a.Env, "HOME="+home, "XDG_CONFIG_HOME="+home)...)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, said.String())
		}
		return string(out), err
	}
	if out, err := slipway("login", "--stage", "none"); err == nil || !strings.Contains(err.Error(), "no stack slipway-none-state in eu-west-1") {
		t.Errorf("a stage that isn't there: %v\n%s", err, out)
	}
	if out, err := slipway("login", "--stage", "test", "--as", "ada"); err != nil || !strings.Contains(out, "logged in to "+a.URL+" as ada") {
		t.Fatalf("login: %v\n%s", err, out)
	}
	if out, err := slipway("doctor"); err != nil || !strings.Contains(out, "1 of 1 are connected") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	document := filepath.Join(home, "p.yaml")
	if err := os.WriteFile(document, []byte(one("p", shell("a", "echo hello from AWS"), "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := slipway("apply", "-f", document); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
	if out, err := slipway("run", "p", "--follow"); err != nil || !strings.Contains(out, "Success") {
		t.Errorf("run: %v\n%s", err, out)
	}
}
