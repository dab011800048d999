package awslambda_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/task"
)

// watched is what a watch of a release that a step reported sees first.
func (a *account) watched(r task.Result) task.Observed {
	a.t.Helper()
	place, err := json.Marshal(lane.Place{AWS: keys()})
	if err != nil {
		a.t.Fatal(err)
	}
	w := task.Watch{Kind: lane.Kind, Place: place}
	for _, wl := range r.Changes[0].Workloads {
		w.Workloads = append(w.Workloads, task.Workload{Resource: wl.Resource, Selector: wl.Selector})
	}
	ctx, stop := context.WithCancel(a.t.Context())
	defer stop()
	var seen task.Observed
	_ = a.kind.Watch(ctx, w, func(_ context.Context, o task.Observed) error { // it ends because it is stopped
		seen = o
		stop()
		return nil
	})
	return seen
}

// running are the versions that get traffic, and whose.
func running(o task.Observed) string {
	var all []string
	for _, i := range o.Instances {
		text := i.Name + " of " + i.Images[0] + ", " + i.Properties["aliases"]
		if i.Canary {
			text += ", canary"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// The versions that get traffic are the instances: of an alias that is shared both.
func TestInstances(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	s := a.stage("e2", "web-2.zip")
	s.good(lane.OpCanary, 0)
	for _, c := range []struct {
		percent int
		want    string
	}{
		{10, "web:1 of web-1.zip, live 90 %; web:2 of web-2.zip, live 10 %, canary"},
		{100, "web:2 of web-2.zip, live"},
	} {
		r := s.do(lane.OpShift, c.percent)
		if got := running(a.watched(r)); got != c.want {
			t.Errorf("of %d %%: %s; want %s", c.percent, got, c.want)
		}
		if got := running(task.Observed{Instances: r.Changes[0].Instances}); got != c.want || !r.Changes[0].Counted {
			t.Errorf("the step says of %d %%: %s; want %s", c.percent, got, c.want)
		}
	}
}

// What was changed by hand since is what a watch sees otherwise than the step did.
func TestWhatWasChangedByHand(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	r := a.stage("e2", "web-2.zip").do(lane.OpDeploy, 0)
	if got := a.watched(r); got.Workloads[1].Traffic[0] != "version 2" || got.Workloads[0].Images[0] != "web-2.zip" {
		t.Errorf("seen %+v", got.Workloads)
	}
	a.put(bucket, "hand.zip")
	if _, err := a.lambda.UpdateAlias(t.Context(), &lambda.UpdateAliasInput{
		FunctionName: sdk.String("web"), Name: sdk.String("live"), RoutingConfig: &types.AliasRoutingConfiguration{AdditionalVersionWeights: map[string]float64{"1": 0.5}},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.lambda.UpdateFunctionCode(t.Context(), &lambda.UpdateFunctionCodeInput{FunctionName: sdk.String("web"), S3Bucket: sdk.String(bucket), S3Key: sdk.String("hand.zip")}); err != nil {
		t.Fatal(err)
	}
	got := a.watched(r)
	if text := strings.Join(got.Workloads[1].Traffic, ", "); text != "version 2, version 1 (50 %)" {
		t.Errorf("the alias sends its traffic to %s", text)
	}
	if text := strings.Join(got.Workloads[0].Images, ", "); text != "web-2.zip, other code in $LATEST" {
		t.Errorf("the function has %s", text)
	}
	a.stage("e3", "web-3.zip") // nothing of it is deployed
	for _, call := range []func() error{
		func() error {
			_, err := a.lambda.DeleteAlias(t.Context(), &lambda.DeleteAliasInput{FunctionName: sdk.String("web"), Name: sdk.String("live")})
			return err
		},
		func() error {
			_, err := a.lambda.DeleteFunction(t.Context(), &lambda.DeleteFunctionInput{FunctionName: sdk.String("web")})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	if got = a.watched(r); !got.Workloads[0].Gone || !got.Workloads[1].Gone || len(got.Instances) != 0 {
		t.Errorf("of what is gone is seen %+v", got)
	}
}

// What AWS doesn't tell isn't guessed.
func TestCredentialsThatWereRevoked(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	r := a.stage("e1", "web-1.zip").do(lane.OpDeploy, 0)
	a.Fail("lambda:GetAlias", testaws.Fault{Code: "UnrecognizedClientException", Message: "The security token included in the request is invalid.", Times: -1})
	if got := a.watched(r); !strings.Contains(got.Trouble, "The security token") || len(got.Instances) != 0 {
		t.Errorf("seen %+v", got)
	}
}
