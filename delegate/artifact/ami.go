package artifact

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// machineImages are AMIs. They need the right ec2:DescribeImages.
type machineImages struct {
	spec lookup.MachineImages
	t    http.RoundTripper
	only string        // the id of the one that is asked for; empty: all
	all  []types.Image // once they were asked for
}

// imagesAtOnce is how many images an answer of EC2 has.
const imagesAtOnce = 1000

// versions lists the names, that of the image which was made last first.
func (m *machineImages) versions(ctx context.Context) ([]version, error) {
	if err := m.list(ctx); err != nil {
		return nil, err
	}
	all := make([]version, 0, len(m.all))
	for _, i := range m.all {
		all = append(all, version{sdk.ToString(i.Name), made(i)})
	}
	return all, nil
}

// list asks for the account's own images that are available, the newest first:
// those of others that it may launch aren't among them.
func (m *machineImages) list(ctx context.Context) error {
	if m.all != nil {
		return nil
	}
	cfg, err := aws.ConfigOver(ctx, m.spec.AWS, m.t)
	if err != nil {
		return err
	}
	filters := []types.Filter{{Name: sdk.String("state"), Values: []string{string(types.ImageStateAvailable)}}}
	for name, value := range m.spec.Filters {
		filters = append(filters, types.Filter{Name: &name, Values: []string{value}})
	}
	if m.only != "" {
		filters = append(filters, types.Filter{Name: sdk.String("image-id"), Values: []string{m.only}})
	}
	pages := ec2.NewDescribeImagesPaginator(describing(ec2.NewFromConfig(cfg).DescribeImages), &ec2.DescribeImagesInput{
		Owners: []string{"self"}, Filters: filters, MaxResults: sdk.Int32(imagesAtOnce),
	})
	all := []types.Image{}
	for len(all) < maxVersions && pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return aws.Refused("ec2:DescribeImages", err)
		}
		all = append(all, page.Images...)
	}
	slices.SortFunc(all, func(a, b types.Image) int {
		return cmp.Or(made(b).Compare(made(a)), cmp.Compare(sdk.ToString(b.ImageId), sdk.ToString(a.ImageId)))
	})
	m.all = all[:min(len(all), maxVersions)]
	return nil
}

// describing is the one call of EC2 that is made here. A client in an interface
// keeps all of its methods in the program, which are a fifth of it.
type describing func(context.Context, *ec2.DescribeImagesInput, ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)

// DescribeImages calls it (ec2.DescribeImagesAPIClient).
func (d describing) DescribeImages(ctx context.Context, in *ec2.DescribeImagesInput, options ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error) {
	return d(ctx, in, options...)
}

// made is when an image was made; zero if AWS doesn't say it in a way that is
// known.
func made(i types.Image) time.Time {
	at, err := time.Parse(time.RFC3339, sdk.ToString(i.CreationDate))
	if err != nil {
		return time.Time{}
	}
	return at
}

// find looks for a name among the images. An answer for the name alone would
// need the filters besides, of which one may be about the name.
func (m *machineImages) find(ctx context.Context, id string) (found, error) {
	if err := m.list(ctx); err != nil {
		return found{}, err
	}
	at := slices.IndexFunc(m.all, func(i types.Image) bool { return sdk.ToString(i.Name) == id })
	if at < 0 {
		return found{}, fault.New(fault.NotFound, "there is no AMI %s", id)
	}
	return described(m.all[at]), nil
}

// described is what is known of an image.
func described(i types.Image) found {
	id, name := sdk.ToString(i.ImageId), sdk.ToString(i.Name)
	return found{Image: id, Metadata: map[string]string{
		"amiId": id, "image": id, "url": id, "tag": name, "name": name,
		"ownerId": sdk.ToString(i.OwnerId), "creationDate": sdk.ToString(i.CreationDate), "architecture": string(i.Architecture),
	}}
}
