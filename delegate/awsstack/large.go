package awsstack

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// MaxBody is how large a template may be that comes with a request, in bytes.
const MaxBody = 51_200

// Bucket is where templates are put for the time of a task that are too large to
// come with a request.
type Bucket struct {
	Accesses *aws.Accesses
	Name     string // empty: there is none
}

// Put puts a template into the bucket, with the credentials for the stack itself,
// and gives the URL by which CloudFormation reads it. It has to be removed, though
// the task may have been ended meanwhile.
func (b Bucket) Put(ctx context.Context, account task.AWS, a task.Assignment, template string) (url string, remove func() error, err error) {
	if b.Name == "" {
		return "", nil, fault.New(fault.Invalid, "the template has %d bytes; CloudFormation takes one of at most 51,200 with a request. "+
			"Start the delegate with --cloudformation-bucket, or put it into a bucket of S3 and name it there: templateFile of the type S3URL", len(template)).
			Causing(fault.ConfigurationFailure)
	}
	access, err := b.Accesses.Get(ctx, account, a.Execution)
	if err != nil {
		return "", nil, err
	}
	account.Region = "" // the bucket's own is asked for
	client, err := b.Accesses.S3(ctx, task.S3Objects{AWS: account, Bucket: b.Name}, a.Execution)
	if err != nil {
		return "", nil, err
	}
	key := "slipway/" + a.Execution + "/" + aws.Token(a, "template")
	if _, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: strings.NewReader(template)}); err != nil {
		return "", nil, access.Failed(ctx, "s3:PutObject", err)
	}
	remove = func() error {
		late, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer stop()
		if _, err := client.DeleteObject(late, &s3.DeleteObjectInput{Bucket: &b.Name, Key: &key}); err != nil {
			return access.Failed(late, "s3:DeleteObject", err)
		}
		return nil
	}
	return aws.S3URL(b.Name, client.Options().Region, key), remove, nil
}
