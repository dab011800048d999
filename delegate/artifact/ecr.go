package artifact

import (
	"context"
	"net/http"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// ecrImages is a repository of ECR. It needs the right ecr:DescribeImages.
type ecrImages struct {
	spec lookup.ECRImages
	t    http.RoundTripper
}

func (e ecrImages) client(ctx context.Context) (*ecr.Client, error) {
	cfg, err := aws.ConfigOver(ctx, e.spec.AWS, e.t)
	if err != nil {
		return nil, err
	}
	return ecr.NewFromConfig(cfg), nil
}

// registry is the account whose registry is meant; nil: that of the credentials.
func (e ecrImages) registry() *string {
	if e.spec.Account == "" {
		return nil
	}
	return &e.spec.Account
}

// versions lists the tags, the one that was pushed last first.
func (e ecrImages) versions(ctx context.Context) ([]version, error) {
	client, err := e.client(ctx)
	if err != nil {
		return nil, err
	}
	pages := ecr.NewDescribeImagesPaginator(client, &ecr.DescribeImagesInput{
		RepositoryName: &e.spec.Repository, RegistryId: e.registry(), MaxResults: sdk.Int32(1000),
		Filter: &types.DescribeImagesFilter{TagStatus: types.TagStatusTagged},
	})
	var all []version
	for len(all) < maxVersions && pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, aws.Refused(e.spec.Repository, err)
		}
		for _, image := range page.ImageDetails {
			for _, tag := range image.ImageTags {
				all = append(all, version{tag, sdk.ToTime(image.ImagePushedAt)})
			}
		}
	}
	return sorted(all), nil
}

func (e ecrImages) find(ctx context.Context, id string) (found, error) {
	f := found{}
	client, err := e.client(ctx)
	if err != nil {
		return f, err
	}
	out, err := client.DescribeImages(ctx, &ecr.DescribeImagesInput{
		RepositoryName: &e.spec.Repository, RegistryId: e.registry(), ImageIds: []types.ImageIdentifier{{ImageTag: &id}},
	})
	if err != nil {
		return f, aws.Refused(e.spec.Repository, err)
	}
	if len(out.ImageDetails) == 0 {
		return f, fault.New(fault.NotFound, "%s has no tag %s", e.spec.Repository, id)
	}
	image := out.ImageDetails[0]
	f.Image = lookup.ImageName(aws.ECRHost(sdk.ToString(image.RegistryId), client.Options().Region)+"/"+e.spec.Repository, id, "")
	f.Digest = sdk.ToString(image.ImageDigest)
	f.Metadata = map[string]string{"SHA": f.Digest, "SHAV2": f.Digest, "image": f.Image, "url": f.Image, "tag": id}
	return f, nil
}
