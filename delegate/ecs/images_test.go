package ecs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// An image that ECR doesn't have is told before anything is changed, unless ECR
// would fetch it itself; what ECR doesn't tell the connector stops nothing.
func TestImagesOfECR(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	images := ecr.NewFromConfig(first.Config())
	if _, err := images.CreateRepository(t.Context(), &ecr.CreateRepositoryInput{RepositoryName: sdk.String("shop/web")}); err != nil {
		t.Fatal(err)
	}
	put, err := images.PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: sdk.String("shop/web"), ImageTag: sdk.String("1"), ImageManifest: sdk.String(
		`{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json", "config": {"digest": "sha256:1"}, "layers": []}`,
	)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := images.CreatePullThroughCacheRule(t.Context(), &ecr.CreatePullThroughCacheRuleInput{
		EcrRepositoryPrefix: sdk.String("hub"), UpstreamRegistryUrl: sdk.String("registry-1.docker.io"),
	}); err != nil {
		t.Fatal(err)
	}
	registry := testaws.Account + ".dkr.ecr." + testaws.Region + ".amazonaws.com/"
	deploys := func(image string) string {
		t.Helper()
		s := first.next(t, registry+image)
		since := len(s.Calls())
		r := s.does(t, ecslane.OpRolling)
		if changed := s.changes(since); r.Message != "" && len(changed) > 0 {
			t.Errorf("with %s it changed %v", image, changed)
		}
		return strings.ReplaceAll(r.Message, registry, "") + s.env.Text("Fetch Manifests", executor.Info)
	}
	for image, want := range map[string]string{
		"shop/web:2":   "container web: ECR has no image shop/web:2",
		"shop/web":     "container web: ECR has no image shop/web",
		"shop/other:1": "container web: ECR has no image shop/other:1",
		"shop/web@sha256:" + strings.Repeat("0", 64): "container web: ECR has no image shop/web@sha256:",
	} {
		if got := deploys(image); !strings.HasPrefix(got, want) {
			t.Errorf("of %s it says %q; want %q", image, got, want)
		}
	}
	for _, image := range []string{"shop/web:1", "shop/web@" + *put.Image.ImageId.ImageDigest, "shop/web:1@" + *put.Image.ImageId.ImageDigest, "hub/library/nginx:1"} {
		if got := deploys(image); got != "" {
			t.Errorf("of %s it says %q; want nothing", image, got)
		}
	}
	first.Fail("ecr:DescribeImages", testaws.Fault{Code: "AccessDeniedException", Message: "no", Times: 1})
	if got := deploys("shop/web:1"); !strings.HasPrefix(got, "Whether ECR has the image") || !strings.Contains(got, "ecr:DescribeImages: AccessDeniedException") {
		t.Errorf("of what is denied it says %q", got)
	}
	first.Fail("ecr:DescribePullThroughCacheRules", testaws.Fault{Code: "AccessDeniedException", Message: "no", Times: 1})
	if got := deploys("shop/web:2"); !strings.Contains(got, "isn't known: ecr:DescribePullThroughCacheRules") {
		t.Errorf("of what is denied it says %q", got)
	}
}

// Instances of both colours are told until the old ones go, each with its image.
func TestInstancesOfBothColours(t *testing.T) {
	t.Parallel()
	f := newFront(t, newStage(t))
	f.bluegreen(t, "web:1")
	s := f.next(t, "web:2")
	s.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped)
	swap := func(keepOld bool) task.Change {
		t.Helper()
		s.attempt++
		return s.succeeds(t, ecslane.OpBlueGreenSwap, func(spec *ecslane.Spec) { spec.Swap = &ecslane.Swap{KeepOld: keepOld} }).Changes[0]
	}
	swapped := swap(true)
	seen := func() string {
		t.Helper()
		s.Pass(time.Hour) // what drains is gone
		s.Go()
		images := map[string]int{}
		for _, i := range s.watch(t, swapped).Instances {
			images[i.Images[0]]++
		}
		return fmt.Sprint(images)
	}
	if got, want := seen(), "map[web:1:2 web:2:2]"; got != want {
		t.Errorf("after the swap run %s; want %s", got, want)
	}
	swap(false)
	if got, want := seen(), "map[web:2:2]"; got != want {
		t.Errorf("after downsizing run %s; want %s", got, want)
	}
}
