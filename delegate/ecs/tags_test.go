package ecs_test

import (
	"fmt"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// The tags of a definition are the service's: one that a later definition lacks goes,
// one that somebody else has set stays, and a rollback gives back what there was.
func TestTagsFollowTheDefinition(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	plain := first.service
	with := func(s *stage, tags string) *stage { s.service = plain + "tags: " + tags + "\n"; return s }
	with(first, "[{key: team, value: shop}, {key: cost, value: '1'}]").succeeds(t, ecslane.OpRolling)
	if _, err := first.client().TagResource(t.Context(), &awsecs.TagResourceInput{
		ResourceArn: first.live(t, "web").ServiceArn, Tags: []types.Tag{{Key: sdk.String("by"), Value: sdk.String("hand")}},
	}); err != nil {
		t.Fatal(err)
	}
	first.tagged(t, "map[by:hand cost:1 team:shop]")

	second := with(first.next(t, "web:2"), "[{key: team, value: web}, {key: new, value: ''}]")
	second.succeeds(t, ecslane.OpRolling)
	second.tagged(t, "map[by:hand new: team:web]")
	second.succeeds(t, ecslane.OpRollingRollback)
	second.tagged(t, "map[by:hand cost:1 team:shop]")

	third := first.next(t, "web:3")
	third.service = plain
	third.succeeds(t, ecslane.OpRolling)
	third.tagged(t, "map[by:hand]")
	third.attempt++
	since := len(first.Calls())
	third.succeeds(t, ecslane.OpRolling)
	for _, c := range first.Calls()[since:] {
		if c.Operation == "ecs:TagResource" || c.Operation == "ecs:UntagResource" {
			t.Errorf("the step that is done again calls %s", c.Operation)
		}
	}
}

// tagged says which tags but Slipway's the service must have.
func (s *stage) tagged(t *testing.T, want string) {
	t.Helper()
	got := map[string]string{}
	for _, tag := range s.live(t, "web").Tags {
		if !aws.Own(*tag.Key) {
			got[*tag.Key] = *tag.Value
		}
	}
	if fmt.Sprint(got) != want {
		t.Errorf("the service has the tags %v; want %s", got, want)
	}
}
