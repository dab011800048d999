package ecs_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// withKeys has the task definition's container take keys more.
func withKeys(keys string) func(*ecslane.Spec) {
	return func(s *ecslane.Spec) {
		doc := &s.Target.TaskDefinition.Store.Inline
		*doc = strings.Replace(*doc, "portMappings", keys+", portMappings", 1)
	}
}

// vault is an account with a secret, one that was deleted, and two parameters.
func vault(t *testing.T, s *stage) (secret, deleted string) {
	t.Helper()
	secrets, parameters := secretsmanager.NewFromConfig(s.Config()), ssm.NewFromConfig(s.Config())
	var arns []string
	for _, name := range []string{"shop/db", "shop/old"} {
		out, err := secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: sdk.String(`{"password": "p"}`)})
		if err != nil {
			t.Fatal(err)
		}
		arns = append(arns, *out.ARN)
	}
	if _, err := secrets.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: &arns[1]}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/shop/key", "plain"} {
		if _, err := parameters.PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Value: sdk.String("v"), Type: ssmtypes.ParameterTypeSecureString}); err != nil {
			t.Fatal(err)
		}
	}
	return arns[0], arns[1]
}

// parameterARN is the ARN of a parameter.
func parameterARN(resource string) string {
	return "arn:aws:ssm:" + testaws.Region + ":" + testaws.Account + ":parameter/" + resource
}

// A secret of a task definition that isn't there is told with its container, its
// name and its ARN, before anything is changed; what AWS doesn't tell the connector
// stops nothing.
func TestSecretsOfTaskDefinitions(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	secret, deleted := vault(t, s)
	none := strings.Replace(secret, "shop/db", "shop/none", 1)
	secretOf := func(from string) string { return `secrets: [{name: KEY, valueFrom: "` + from + `"}]` }
	since := len(s.Calls())
	for keys, want := range map[string]string{
		secretOf(none):                     "container web: secret KEY: Secrets Manager has no secret " + none,
		secretOf(deleted):                  "container web: secret KEY: the secret " + deleted + " was deleted",
		secretOf(secret + "::AWSPENDING:"): "container web: secret KEY: the secret " + secret + "::AWSPENDING: has no version AWSPENDING",
		secretOf(secret + ":password::6"):  "container web: secret KEY: the secret " + secret + ":password::6 has no version 6",
		secretOf("/shop/none"):             "container web: secret KEY: Systems Manager has no parameter /shop/none",
		secretOf(parameterARN("none")):     "container web: secret KEY: Systems Manager has no parameter " + parameterARN("none"),
		secretOf("arn:aws:s3:::shop"):      `container web: secret KEY: found valueFrom "arn:aws:s3:::shop"; want the ARN of a secret of Secrets Manager, or the name or ARN of a parameter of Systems Manager`,
		secretOf(""):                       `container web: secret KEY: found valueFrom ""; want the ARN of a secret of Secrets Manager, or the name or ARN of a parameter of Systems Manager`,
		`logConfiguration: {logDriver: splunk, secretOptions: [{name: splunk-token, valueFrom: none}]}`: "container web: secret splunk-token of its log: Systems Manager has no parameter none",
		// The first that is missing is told by its own container's name.
		`secrets: [{name: A, valueFrom: plain}, {name: B, valueFrom: none}, {name: C, valueFrom: none}]`: "container web: secret B: Systems Manager has no parameter none",
	} {
		s.refused(t, want, ecslane.OpRolling, withKeys(keys))
	}
	if changed := s.changes(since); len(changed) > 0 {
		t.Errorf("what was refused has changed %v", changed)
	}
	there := `secrets: [{name: A, valueFrom: "` + secret + `"}, {name: B, valueFrom: "` + secret + `:password:AWSCURRENT:"}, {name: C, valueFrom: plain},
    {name: D, valueFrom: "` + parameterARN("shop/key") + `"}, {name: E, valueFrom: "` + parameterARN("plain") + `"}]`
	s.succeeds(t, ecslane.OpRolling, withKeys(there))
	if said := s.env.Text("Fetch Manifests", executor.Info); said != "" {
		t.Errorf("of secrets that are there it says %q", said)
	}
	// The value of none is asked for in the clear.
	for _, c := range s.CallsOf("ssm:GetParameters") {
		if strings.Contains(string(c.Parameters), `"WithDecryption":true`) {
			t.Errorf("parameters are decrypted: %s", c.Parameters)
		}
	}

	next := s.next(t, "web:2")
	next.Fail("secretsmanager:DescribeSecret", testaws.Fault{Code: "AccessDeniedException", Message: "no", Times: 2})
	next.Fail("ssm:GetParameters", testaws.Fault{Code: "AccessDeniedException", Message: "no", Times: 1})
	next.succeeds(t, ecslane.OpRolling, withKeys(there))
	for _, want := range []string{
		"Whether Secrets Manager has the secret " + secret + " of container web isn't known: secretsmanager:DescribeSecret: AccessDeniedException",
		"Whether Systems Manager has the parameters " + parameterARN("plain") + ", " + parameterARN("shop/key") + ", plain isn't known: ssm:GetParameters: AccessDeniedException",
	} {
		if said := next.env.Text("Fetch Manifests", executor.Info); !strings.Contains(said, want) {
			t.Errorf("of what is denied it says %q; want %q", said, want)
		}
	}
}

// The secrets of a task definition that is registered already are looked for, too,
// before the steps change anything: a blue/green step deletes a service first.
func TestSecretsOfRegisteredDefinitions(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	secret, _ := vault(t, first)
	f := newFront(t, first)
	f.bluegreen(t, "web:1")
	f.bluegreen(t, "web:2")
	out, err := first.client().RegisterTaskDefinition(t.Context(), &awsecs.RegisterTaskDefinitionInput{Family: sdk.String("other"), ContainerDefinitions: []types.ContainerDefinition{{
		Name: sdk.String("web"), Image: sdk.String("web:3"), Memory: sdk.Int32(256), Secrets: []types.Secret{{Name: sdk.String("KEY"), ValueFrom: &secret}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	registered := func(s *ecslane.Spec) {
		s.Target.TaskDefinition, s.Target.TaskDefinitionARN = nil, *out.TaskDefinition.TaskDefinitionArn
	}
	s := f.next(t, "web:3")
	secrets := secretsmanager.NewFromConfig(s.Config())
	if _, err := secrets.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: &secret}); err != nil {
		t.Fatal(err)
	}
	since := len(s.Calls())
	s.refused(t, "container web: secret KEY: the secret "+secret+" was deleted", ecslane.OpBlueGreenCreate, f.swapped, registered)
	if changed := s.changes(since); len(changed) > 0 {
		t.Errorf("it has changed %v", changed)
	}
}
