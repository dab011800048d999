package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// stub stands for go, npm and npx: it writes down where and how it was
// called, and fails where the script says so. What it stands for needs AWS and
// the network.
const stub = `#!/bin/sh
echo "$(basename "$PWD")$ $(basename "$0") $*" >>"$CALLS"
case "$(basename "$0") $*" in
  $FAILS) echo "it fails" >&2; exit 3 ;;
esac
`

// TestDeploy runs the scripts of testdata/deploy with moto as AWS. Each takes
// a region of its own: "stack NAME [KEY=VALUE...]" makes a stack there, with
// outputs.
func TestDeploy(t *testing.T) {
	t.Parallel()
	endpoint := testaws.Moto(t, testaws.NewHost(t))
	// The scripts run beside each other, after this function has come back.
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir: filepath.Join("testdata", "deploy"),
			Setup: func(e *testscript.Env) error {
				program, err := exec.LookPath("slipway")
				if err != nil {
					return err
				}
				for name, value := range map[string]string{
					"HOME": e.WorkDir, "CALLS": filepath.Join(e.WorkDir, "calls"), "PATH": filepath.Join(e.WorkDir, "bin") + ":" + e.Getenv("PATH"),
					"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true",
					"SLIPWAY": program,
				} {
					e.Setenv(name, value)
				}
				return stubs(filepath.Join(e.WorkDir, "bin"))
			},
			Cmds:                map[string]func(*testscript.TestScript, bool, []string){"stack": makeStack},
			RequireExplicitExec: true,
			UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		})
	})
}

func stubs(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"go", "node", "npm", "npx"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(stub), 0o700); err != nil {
			return err
		}
	}
	return nil
}

func makeStack(ts *testscript.TestScript, _ bool, args []string) {
	outputs := map[string]any{}
	for _, pair := range args[1:] {
		name, value, _ := strings.Cut(pair, "=")
		outputs[name] = map[string]string{"Value": value}
	}
	doc, err := json.Marshal(map[string]any{
		"Resources": map[string]any{"Nothing": map[string]any{"Type": "AWS::SNS::Topic"}}, "Outputs": outputs,
	})
	ts.Check(err)
	sdk := testaws.Config(ts.Getenv("AWS_ENDPOINT_URL"))
	sdk.Region = ts.Getenv("AWS_REGION")
	_, err = cloudformation.NewFromConfig(sdk).CreateStack(context.Background(), &cloudformation.CreateStackInput{StackName: &args[0], TemplateBody: aws.String(string(doc))})
	ts.Check(err)
}

// What AWS says about credentials that it doesn't take reaches the person;
// moto takes all.
func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`<ErrorResponse><Error><Code>ExpiredToken</Code><Message>The security token is expired</Message></Error></ErrorResponse>`))
	}))
	t.Cleanup(server.Close)
	sdk := aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")}
	_, err := findAccount(t.Context(), sdk)
	if fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), "refuses the credentials (ExpiredToken): The security token is expired") {
		t.Errorf("error %v; want INVALID, with what AWS says", err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error %q has a credential in it", err)
	}
}
