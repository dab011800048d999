// Package s3 keeps large objects in one S3 bucket, for the store on AWS.
//
// A key is made from the hash of its body: what is there is never overwritten
// with something else, and who reads checks it. How long objects stay is the
// bucket's own rule.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// RetiredTag is the tag, with the value yes, of objects that may go (infra).
const RetiredTag = "retired"

// Bucket is a bucket. It is for many goroutines.
type Bucket struct {
	client *s3.Client
	name   string
}

// New gives the bucket with the name; it has to be there.
func New(client *s3.Client, name string) *Bucket { return &Bucket{client: client, name: name} }

// Put stores an object.
func (b *Bucket) Put(ctx context.Context, key string, body []byte) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: bytes.NewReader(body)})
	if err != nil {
		return fmt.Errorf("put object %s: %w", key, err)
	}
	return nil
}

// Retire marks an object that nothing refers to any more. The bucket's rules
// remove it: not at once, because somebody may be about to read it. An object
// that is gone is no error.
func (b *Bucket) Retire(ctx context.Context, key string) error {
	_, err := b.client.PutObjectTagging(ctx, &s3.PutObjectTaggingInput{
		Bucket: &b.name, Key: &key, Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String(RetiredTag), Value: aws.String("yes")}}},
	})
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "NoSuchKey" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mark object %s as no longer needed: %w", key, err)
	}
	return nil
}

// Get reads an object; fault.NotFound if there is none.
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key})
	var missing *types.NoSuchKey
	if errors.As(err, &missing) {
		return nil, fault.New(fault.NotFound, "object %s doesn't exist", key)
	}
	if err != nil {
		return nil, fmt.Errorf("get object %s: %w", key, err)
	}
	defer func() { _ = out.Body.Close() }() // it has been read
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", key, err)
	}
	return body, nil
}
