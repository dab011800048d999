package bucket_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/audit/bucket"
)

// Objects are written by the control plane's own credentials, or by a role that is
// assumed once.
func TestPut(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	role := w.Role("audit")
	client := s3.NewFromConfig(w.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String("acme-audit"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	}); err != nil {
		t.Fatal(err)
	}
	writer := bucket.New(func(context.Context) (aws.Config, error) { return w.Config(), nil })
	own := audit.Destination{Bucket: "acme-audit"}
	assumed := audit.Destination{Bucket: "acme-audit", Region: testaws.Region, Role: role, ExternalID: "slipway"}
	for key, to := range map[string]audit.Destination{"audit/a": own, "audit/b": assumed, "audit/c": assumed} {
		for range 2 {
			if err := writer.Put(t.Context(), to, key, []byte("body of "+key)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("acme-audit"), Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(got.Body); err != nil || string(body) != "body of "+key {
			t.Errorf("%s holds %q, %v", key, body, err)
		}
	}
	calls := w.CallsOf("sts:AssumeRole")
	if len(calls) != 1 {
		t.Fatalf("a role was assumed %d times, want once", len(calls))
	}
	var in struct{ RoleArn, RoleSessionName, ExternalId string }
	calls[0].Decode(t, &in)
	if diff := cmp.Diff(struct{ RoleArn, RoleSessionName, ExternalId string }{role, "slipway-audit", "slipway"}, in); diff != "" {
		t.Errorf("role (-want +got):\n%s", diff)
	}
	gone := audit.Destination{Bucket: "gone"}
	if err := writer.Put(t.Context(), gone, "audit/a", nil); err == nil || !strings.Contains(err.Error(), "NoSuchBucket") || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a bucket that isn't there: %v", err)
	}
}
