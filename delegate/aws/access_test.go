package aws_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The tasks of an execution share a session, which CloudTrail shows by the
// execution's name: STS is asked once.
func TestTasksShareASession(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	accesses := &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint)}}
	connector := task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: "us-east-1", Role: "arn:aws:iam::210987654321:role/deployer", ExternalID: "42"}
	who := func(execution string) string {
		a, err := accesses.Get(t.Context(), connector, execution)
		if err != nil {
			t.Error(err)
			return ""
		}
		if a.Region != "us-east-1" {
			t.Errorf("the region is %s", a.Region)
		}
		out, err := sts.NewFromConfig(a.Config).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
		if err != nil {
			t.Error(err)
			return ""
		}
		return *out.Arn
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := who("x1"); !strings.HasSuffix(got, "assumed-role/deployer/slipway-x1") {
				t.Errorf("the caller is %s", got)
			}
		})
	}
	all.Wait()
	calls := w.CallsOf("sts:AssumeRole")
	if len(calls) != 1 {
		t.Fatalf("STS was asked %d times; want once", len(calls))
	}
	var asked struct {
		ExternalID      string `json:"ExternalId"`
		DurationSeconds int
	}
	if err := json.Unmarshal(calls[0].Parameters, &asked); err != nil || asked.ExternalID != "42" || asked.DurationSeconds != 3600 {
		t.Errorf("asked for %s, %v; want an hour", calls[0].Parameters, err)
	}
	if got := who("x2"); !strings.HasSuffix(got, "/slipway-x2") || w.Count("sts:AssumeRole") != 2 {
		t.Errorf("another execution is %s", got)
	}
	connector.Region = "eu-west-1"
	accesses = &aws.Accesses{Options: accesses.Options}
	if a, err := accesses.Get(t.Context(), connector, ""); err != nil || a.Region != "eu-west-1" {
		t.Errorf("%v, %v", a, err)
	}
}
