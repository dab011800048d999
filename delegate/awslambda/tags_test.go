package awslambda_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
)

// The tags of a definition are the function's: one that a later definition lacks goes,
// one that somebody else has set stays, and a rollback gives back what there was.
func TestTagsFollowTheDefinition(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	with := func(execution, key, tags string) *stage {
		return a.stage(execution, key).defined(strings.Replace(definition, "{team: shop}", tags, 1))
	}
	with("e1", "web-1.zip", "{team: shop, cost: '1'}").good(lane.OpDeploy, 0)
	if _, err := a.lambda.TagResource(t.Context(), &lambda.TagResourceInput{Resource: sdk.String(testaws.FunctionARN("web")), Tags: map[string]string{"by": "hand"}}); err != nil {
		t.Fatal(err)
	}
	a.tagged("map[by:hand cost:1 team:shop]")

	second := with("e2", "web-2.zip", "{team: web, new: n}")
	second.good(lane.OpDeploy, 0)
	a.tagged("map[by:hand new:n team:web]")
	second.good(lane.OpRollback, 0)
	a.tagged("map[by:hand cost:1 team:shop]")

	with("e3", "web-2.zip", "{}").good(lane.OpDeploy, 0)
	a.tagged("map[by:hand]")
}

// tagged says which tags but Slipway's the function must have.
func (a *account) tagged(want string) {
	a.t.Helper()
	out, err := a.lambda.ListTags(a.t.Context(), &lambda.ListTagsInput{Resource: sdk.String(testaws.FunctionARN("web"))})
	if err != nil {
		a.t.Fatal(err)
	}
	got := map[string]string{}
	for key, value := range out.Tags {
		if !aws.Own(key) {
			got[key] = value
		}
	}
	if fmt.Sprint(got) != want {
		a.t.Errorf("the function has the tags %v; want %s", got, want)
	}
}
