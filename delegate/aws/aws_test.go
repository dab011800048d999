package aws_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// moto's password of ECR has the account in it that the credentials are of.
func TestLogin(t *testing.T) {
	t.Parallel()
	endpoint := config.WithBaseEndpoint(testaws.Moto(t, testaws.NewHost(t)))
	keys := task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: "eu-central-1"}
	role := keys
	role.Role, role.ExternalID = "arn:aws:iam::210987654321:role/deployer", "42"
	role.BackOff = &task.AWSBackOff{Strategy: "EqualJitterBackoffStrategy", Retries: 1, Base: 1, Max: 2}
	for name, tt := range map[string]struct {
		connector task.AWS
		password  string
	}{
		"keys":   {keys, "123456789012-auth-token"},
		"a role": {role, "210987654321-auth-token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := aws.Config(t.Context(), tt.connector, endpoint)
			if err != nil {
				t.Fatal(err)
			}
			r, err := aws.Login(t.Context(), cfg)
			if err != nil || r.User != "AWS" || r.Password != tt.password || !strings.Contains(r.URL, tt.password[:12]+".dkr.ecr.eu-central-1.") {
				t.Errorf("got %+v, %v; want AWS, %q", r, err, tt.password)
			}
		})
	}
}

func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	for name, connector := range map[string]task.AWS{
		"another authentication":      {Auth: "Kerberos", Region: "eu-central-1"},
		"no role to take by a token":  {Auth: task.AWSOIDC, Region: "eu-central-1"},
		"no service account has come": {Auth: task.AWSIRSA, Region: "eu-central-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := aws.Config(t.Context(), connector); !fault.Is(err, fault.Unsupported) && !fault.Is(err, fault.Invalid) {
				t.Errorf("error %v; want one about the connector", err)
			}
		})
	}
}
