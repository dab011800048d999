package asg_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
)

// The tags of a configuration are the group's: one that a later configuration lacks
// goes, one that somebody else has set stays, and a rollback gives back what there was.
func TestTagsFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	plain := first.configuration
	with := func(s *stage, tags string) *stage { s.configuration = plain + "tags: " + tags + "\n"; return s }
	with(first, "[{key: team, value: shop}, {key: cost, value: '1'}]").succeeds(t, asglane.OpRolling)
	if _, err := first.groups().CreateOrUpdateTags(t.Context(), &autoscaling.CreateOrUpdateTagsInput{Tags: []types.Tag{{
		Key: sdk.String("by"), Value: sdk.String("hand"), ResourceId: sdk.String("web"), ResourceType: sdk.String("auto-scaling-group"), PropagateAtLaunch: sdk.Bool(false),
	}}}); err != nil {
		t.Fatal(err)
	}
	first.tagged(t, "map[by:hand cost:1 team:shop]")

	second := with(first.next(t, "web-2"), "[{key: team, value: web}, {key: new, value: n}]")
	if got := fmt.Sprint(output(t, second.succeeds(t, asglane.OpDiff), "diff")); !strings.Contains(got, `-    "cost": "1"`) || strings.Contains(got, "hand") {
		t.Errorf("the preview says\n%s", got)
	}
	second.succeeds(t, asglane.OpRolling)
	second.tagged(t, "map[by:hand new:n team:web]")
	second.succeeds(t, asglane.OpRollingRollback)
	second.tagged(t, "map[by:hand cost:1 team:shop]")

	third := first.next(t, "web-3")
	third.configuration = plain
	third.succeeds(t, asglane.OpRolling)
	third.tagged(t, "map[by:hand]")
}

// tagged says which tags but Slipway's the group must have.
func (s *stage) tagged(t *testing.T, want string) {
	t.Helper()
	got := map[string]string{}
	for _, tag := range s.live(t, "web").Tags {
		if !aws.Own(*tag.Key) {
			got[*tag.Key] = *tag.Value
		}
	}
	if fmt.Sprint(got) != want {
		t.Errorf("the group has the tags %v; want %s", got, want)
	}
}
