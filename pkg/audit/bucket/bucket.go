// Package bucket writes parts of audit trails into the S3 buckets of streaming
// destinations, of the control plane's own account or of others.
//
// What is written, and when, is pkg/audit/stream's. It reads nothing there.
package bucket

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-cd/slipway/pkg/audit"
)

// Writer writes objects. It is for many goroutines.
type Writer struct {
	load func(context.Context) (aws.Config, error)

	mu      sync.Mutex
	clients map[access]*s3.Client
}

// access is how a bucket is reached. Who has assumed a role keeps its credentials.
type access struct{ region, role, externalID string }

// New makes a Writer, which reads the SDK's configuration once it is needed.
func New(load func(context.Context) (aws.Config, error)) *Writer {
	return &Writer{load: load, clients: map[access]*s3.Client{}}
}

// each bounds one object, all tries of the SDK included.
const each = time.Minute

// Put writes an object. The same one again replaces it.
func (w *Writer) Put(ctx context.Context, to audit.Destination, key string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	client, err := w.client(ctx, access{to.Region, to.Role, to.ExternalID})
	if err != nil {
		return err
	}
	_, err = client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &to.Bucket, Key: &key, Body: bytes.NewReader(body), ContentType: aws.String("application/gzip"),
	})
	if err != nil {
		return fmt.Errorf("put %s into the bucket %s: %w", key, to.Bucket, err)
	}
	return nil
}

func (w *Writer) client(ctx context.Context, by access) (*s3.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.clients[by]; c != nil {
		return c, nil
	}
	cfg, err := w.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of AWS: %w", err)
	}
	if by.region != "" {
		cfg.Region = by.region
	}
	if by.role != "" {
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), by.role, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = "slipway-audit"
			if by.externalID != "" {
				o.ExternalID = &by.externalID
			}
		}))
	}
	c := s3.NewFromConfig(cfg)
	w.clients[by] = c
	return c, nil
}
