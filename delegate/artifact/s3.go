package artifact

import (
	"context"
	"net/http"
	"path"
	"regexp"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// s3Objects is a bucket. It needs the rights s3:ListBucket, s3:GetObject and,
// without a region, s3:GetBucketLocation.
type s3Objects struct {
	spec    task.S3Objects
	pattern string // of the keys that are wanted; what it begins with narrows the list
	t       http.RoundTripper
}

// versions lists the keys, that of the object which was put last first.
func (o s3Objects) versions(ctx context.Context) ([]version, error) {
	client, err := aws.S3(ctx, o.spec, o.t)
	if err != nil {
		return nil, err
	}
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &o.spec.Bucket, Prefix: o.prefix()})
	var all []version
	for len(all) < maxVersions && pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, aws.Refused("s3://"+o.spec.Bucket, err)
		}
		for _, object := range page.Contents {
			if key := sdk.ToString(object.Key); !strings.HasSuffix(key, "/") { // a folder, as the console makes them
				all = append(all, version{key, sdk.ToTime(object.LastModified)})
			}
		}
	}
	return sorted(all), nil
}

// prefix is what all keys that match begin with; nil if nothing.
func (o s3Objects) prefix() *string {
	re, err := regexp.Compile(o.pattern)
	if err != nil {
		return nil
	}
	if prefix, _ := re.LiteralPrefix(); prefix != "" {
		return &prefix
	}
	return nil
}

func (o s3Objects) find(ctx context.Context, id string) (found, error) {
	f := found{}
	client, err := aws.S3(ctx, o.spec, o.t)
	if err != nil {
		return f, err
	}
	out, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &o.spec.Bucket, Key: &id})
	if err != nil {
		return f, aws.Refused("s3://"+o.spec.Bucket+"/"+id, err)
	}
	f.Metadata = map[string]string{
		"bucketName": o.spec.Bucket, "key": id, "artifactPath": id, "fileName": path.Base(id), "url": "s3://" + o.spec.Bucket + "/" + id,
		"etag": strings.Trim(sdk.ToString(out.ETag), `"`), "versionId": sdk.ToString(out.VersionId),
	}
	return f, nil
}
