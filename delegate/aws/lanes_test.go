package aws_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// services are those that lanes call, each with one call.
func services() map[string]func(context.Context, sdk.Config) error {
	return map[string]func(context.Context, sdk.Config) error{
		"ecs": func(ctx context.Context, c sdk.Config) error {
			_, err := ecs.NewFromConfig(c).ListClusters(ctx, &ecs.ListClustersInput{})
			return err
		},
		"autoscaling": func(ctx context.Context, c sdk.Config) error {
			_, err := autoscaling.NewFromConfig(c).DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{})
			return err
		},
		"lambda": func(ctx context.Context, c sdk.Config) error {
			_, err := lambda.NewFromConfig(c).ListFunctions(ctx, &lambda.ListFunctionsInput{})
			return err
		},
		"cloudformation": func(ctx context.Context, c sdk.Config) error {
			_, err := cloudformation.NewFromConfig(c).ListStacks(ctx, &cloudformation.ListStacksInput{})
			return err
		},
		"elasticloadbalancing": func(ctx context.Context, c sdk.Config) error {
			_, err := elb.NewFromConfig(c).DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{})
			return err
		},
		"application-autoscaling": func(ctx context.Context, c sdk.Config) error {
			_, err := applicationautoscaling.NewFromConfig(c).DescribeScalableTargets(ctx, &applicationautoscaling.DescribeScalableTargetsInput{ServiceNamespace: types.ServiceNamespaceEcs})
			return err
		},
		"ec2": func(ctx context.Context, c sdk.Config) error {
			_, err := ec2.NewFromConfig(c).DescribeImages(ctx, &ec2.DescribeImagesInput{})
			return err
		},
		"ecr": func(ctx context.Context, c sdk.Config) error {
			_, err := ecr.NewFromConfig(c).DescribeRepositories(ctx, &ecr.DescribeRepositoriesInput{})
			return err
		},
		"s3": func(ctx context.Context, c sdk.Config) error {
			_, err := s3.NewFromConfig(c).ListBuckets(ctx, &s3.ListBucketsInput{})
			return err
		},
		"sts": func(ctx context.Context, c sdk.Config) error {
			_, err := sts.NewFromConfig(c).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
			return err
		},
	}
}

// busy is an AWS that has no time.
type busy struct{ hosts []string }

// Do answers a request (aws.HTTPClient).
func (b *busy) Do(r *http.Request) (*http.Response, error) {
	b.hosts = append(b.hosts, r.URL.Host)
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// crowded is an AWS that gets too many requests.
type crowded struct{ requests int }

// Do answers a request (aws.HTTPClient).
func (c *crowded) Do(r *http.Request) (*http.Response, error) {
	c.requests++
	body := io.NopCloser(strings.NewReader(`{"__type": "ThrottlingException", "message": "Rate exceeded"}`))
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: body, Request: r}, nil
}

// What AWS throttles is sent more often than what fails, unless the connector says
// how often.
func TestThrottledRequestsAreSentMoreOften(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		backOff *task.AWSBackOff
		want    int
	}{
		"nothing said": {nil, 10},
		"said":         {&task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 2, Fixed: 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg, err := aws.Config(t.Context(), task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: "eu-west-1", BackOff: tt.backOff})
				if err != nil {
					t.Fatal(err)
				}
				crowd := &crowded{}
				cfg.HTTPClient = crowd
				err = services()["ecs"](t.Context(), cfg)
				if crowd.requests != tt.want || !aws.Throttled(err) {
					t.Errorf("it was sent %d times: %v; want %d", crowd.requests, err, tt.want)
				}
			})
		})
	}
}

// Whatever service a lane calls, a request that AWS has no time for is sent again
// as often, and after as long, as the connector says, and to the region of the
// infrastructure definition.
func TestEachServiceWaitsAsTheConnectorSays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		backOff     *task.AWSBackOff
		calls       int
		least, most time.Duration
	}{
		"fixed":        {&task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 2, Fixed: 3000}, 3, 6 * time.Second, 6 * time.Second},
		"equal jitter": {&task.AWSBackOff{Strategy: "EqualJitterBackoffStrategy", Retries: 3, Base: 1000, Max: 2000}, 4, 2500 * time.Millisecond, 5 * time.Second},
		"full jitter":  {&task.AWSBackOff{Strategy: "FullJitterBackoffStrategy", Retries: 1, Base: 1000, Max: 9000}, 2, 0, time.Second},
		"none":         {&task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 0, Fixed: 3000}, 1, 0, 0},
		"nothing said": {nil, 5, 0, 100 * time.Second},
	} {
		for service, call := range services() {
			t.Run(name+" "+service, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					busy := &busy{}
					a := task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: "eu-west-1", BackOff: tt.backOff}
					cfg, err := aws.Config(t.Context(), a)
					if err != nil {
						t.Fatal(err)
					}
					cfg.HTTPClient = busy
					began := time.Now()
					if err := call(t.Context(), cfg); err == nil {
						t.Fatal("the call went well")
					}
					if took := time.Since(began); len(busy.hosts) != tt.calls || took < tt.least || took > tt.most {
						t.Errorf("it was sent %d times within %s; want %d within %s to %s", len(busy.hosts), took, tt.calls, tt.least, tt.most)
					}
					for _, host := range busy.hosts {
						if !strings.Contains(host, ".eu-west-1.") {
							t.Errorf("it was sent to %s", host)
						}
					}
				})
			})
		}
	}
}
