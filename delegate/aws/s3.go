package aws

import (
	"context"
	"io"
	"net/http"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// anyRegion is where the bucket's own region can be asked for.
const anyRegion = "us-east-1"

// ConfigOver is Config with requests sent over t; nil is the SDK's own
// transport, which knows settings that another doesn't, such as AWS_CA_BUNDLE.
func ConfigOver(ctx context.Context, a task.AWS, t http.RoundTripper) (sdk.Config, error) {
	cfg, err := Config(ctx, a)
	if t != nil && t != http.DefaultTransport {
		cfg.HTTPClient = &http.Client{Transport: t}
	}
	return cfg, err
}

// S3 makes a client for a bucket, in its own region unless the connector or
// the source names one. That needs the right s3:GetBucketLocation.
func S3(ctx context.Context, o task.S3Objects, t http.RoundTripper) (*s3.Client, error) {
	return clientOf(ctx, o, func(account task.AWS) (sdk.Config, error) { return ConfigOver(ctx, account, t) })
}

// S3 is the function S3 for an execution's task.
func (s *Accesses) S3(ctx context.Context, o task.S3Objects, execution string) (*s3.Client, error) {
	return clientOf(ctx, o, func(account task.AWS) (sdk.Config, error) {
		a, err := s.Get(ctx, account, execution)
		if err != nil {
			return sdk.Config{}, err
		}
		return a.Config, nil
	})
}

func clientOf(ctx context.Context, o task.S3Objects, config func(task.AWS) (sdk.Config, error)) (*s3.Client, error) {
	in := func(region string) (*s3.Client, error) {
		account := o.AWS
		account.Region = region
		cfg, err := config(account)
		if err != nil {
			return nil, err
		}
		return s3.NewFromConfig(cfg), nil
	}
	if o.AWS.Region != "" {
		return in(o.AWS.Region)
	}
	client, err := in(anyRegion)
	if err != nil {
		return nil, err
	}
	out, err := client.GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: &o.Bucket})
	if err != nil {
		return nil, Refused("s3://"+o.Bucket, err)
	}
	switch region := string(out.LocationConstraint); region {
	case "", anyRegion:
		return client, nil
	case "EU": // of old buckets
		return in("eu-west-1")
	default:
		return in(region)
	}
}

// S3URL is where an object of a bucket is.
func S3URL(bucket, region, key string) string {
	return "https://" + bucket + ".s3." + region + "." + suffix(region) + "/" + key
}

// Bucket is one of S3, whose objects are files. It needs the rights
// s3:ListBucket and s3:GetObject.
type Bucket struct {
	client *s3.Client
	name   string
}

// OpenBucket readies the access to a bucket. Requests are sent over t; nil is
// the SDK's own transport.
func OpenBucket(ctx context.Context, o task.S3Objects, t http.RoundTripper) (Bucket, error) {
	client, err := S3(ctx, o, t)
	return Bucket{client, o.Bucket}, err
}

// OpenBucket is the function OpenBucket for an execution's task.
func (s *Accesses) OpenBucket(ctx context.Context, o task.S3Objects, execution string) (Bucket, error) {
	client, err := s.S3(ctx, o, execution)
	return Bucket{client, o.Bucket}, err
}

// Keys lists the objects whose keys begin with a prefix, but not those in
// folders below it.
func (b Bucket) Keys(ctx context.Context, prefix string) ([]string, error) {
	return b.list(ctx, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix, Delimiter: sdk.String("/")})
}

// Below lists the objects whose keys begin with a prefix.
func (b Bucket) Below(ctx context.Context, prefix string) ([]string, error) {
	return b.list(ctx, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix})
}

func (b Bucket) list(ctx context.Context, in *s3.ListObjectsV2Input) ([]string, error) {
	pages := s3.NewListObjectsV2Paginator(b.client, in)
	var keys []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Refused("s3://"+b.name, err)
		}
		for _, object := range page.Contents {
			keys = append(keys, sdk.ToString(object.Key))
		}
	}
	return keys, nil
}

// largestObject is how much of an object is read, in bytes: more than a chart
// may have once it is unpacked.
const largestObject = 100 << 20

// Get reads an object; fault.TooLarge if it has more than 100 MiB.
func (b Bucket) Get(ctx context.Context, key string) ([]byte, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key})
	if err != nil {
		return nil, Refused("s3://"+b.name+"/"+key, err)
	}
	defer out.Body.Close()
	data, err := io.ReadAll(io.LimitReader(out.Body, largestObject+1))
	switch {
	case err != nil:
		return nil, Refused("s3://"+b.name+"/"+key, err)
	case len(data) > largestObject:
		return nil, fault.New(fault.TooLarge, "s3://%s/%s has more than %d bytes", b.name, key, largestObject)
	}
	return data, nil
}
