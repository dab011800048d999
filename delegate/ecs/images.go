package ecs

import (
	"context"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/aws"
)

// inECR is how an image of ECR is named: account, region, repository and tag or
// digest.
var inECR = regexp.MustCompile(`^(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.[a-z0-9.]+/([a-z0-9._/-]+?)(?::([\w.-]+))?(?:@(sha256:[0-9a-f]{64}))?$`)

// image is one of ECR.
type image struct {
	name                  string // as the task definition has it
	account, region, repo string
	id                    ecrtypes.ImageIdentifier
}

// imageOf takes an image's name apart; false: it isn't one of ECR.
func imageOf(name string) (image, bool) {
	at := inECR.FindStringSubmatch(name)
	if at == nil {
		return image{}, false
	}
	i := image{name: name, account: at[1], region: at[2], repo: at[3]}
	switch {
	case at[5] != "":
		i.id.ImageDigest = &at[5]
	case at[4] != "":
		i.id.ImageTag = &at[4]
	default:
		i.id.ImageTag = sdk.String("latest")
	}
	return i, true
}

// needs looks for what the containers of a task definition need.
type needs struct {
	access *aws.Access
	say    func(format string, args ...any)
}

// startable says what the containers of a task definition need and AWS doesn't
// have.
func (n needs) startable(ctx context.Context, containers []types.ContainerDefinition) error {
	if err := n.pullable(ctx, containers); err != nil {
		return err
	}
	return n.whole(ctx, containers)
}

// pullable says which image of a task definition ECR doesn't have, which tasks would
// fail by one after the other. What ECR doesn't tell the connector, it may tell the
// tasks.
func (n needs) pullable(ctx context.Context, containers []types.ContainerDefinition) error {
	var known []string
	for _, c := range containers {
		one, ok := imageOf(sdk.ToString(c.Image))
		if !ok || slices.Contains(known, one.name) {
			continue
		}
		known = append(known, one.name)
		there, err := n.inECR(ctx, one)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			n.say("Whether ECR has the image %s isn't known: %s", one.name, err)
		case !there:
			return wrong("container %s: ECR has no image %s", sdk.ToString(c.Name), one.name)
		}
	}
	return nil
}

// inECR says whether ECR has an image, or would fetch it from elsewhere.
func (n needs) inECR(ctx context.Context, one image) (bool, error) {
	cfg := n.access.Config.Copy()
	cfg.Region = one.region
	client := ecr.NewFromConfig(cfg)
	_, err := client.DescribeImages(ctx, &ecr.DescribeImagesInput{RegistryId: &one.account, RepositoryName: &one.repo, ImageIds: []ecrtypes.ImageIdentifier{one.id}})
	if err == nil || !aws.Is(err, "ImageNotFoundException", "RepositoryNotFoundException") {
		if err != nil {
			err = n.access.Failed(ctx, "ecr:DescribeImages", err)
		}
		return err == nil, err
	}
	rules := ecr.NewDescribePullThroughCacheRulesPaginator(client, &ecr.DescribePullThroughCacheRulesInput{RegistryId: &one.account})
	for rules.HasMorePages() {
		page, err := rules.NextPage(ctx)
		if err != nil {
			return false, n.access.Failed(ctx, "ecr:DescribePullThroughCacheRules", err)
		}
		for _, r := range page.PullThroughCacheRules {
			if prefix := sdk.ToString(r.EcrRepositoryPrefix); prefix == "ROOT" || strings.HasPrefix(one.repo, prefix+"/") {
				return true, nil
			}
		}
	}
	return false, nil
}
