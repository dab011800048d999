package asg

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-cd/slipway/delegate/alb"
	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// mostGroups is how many groups AWS describes at once.
const mostGroups = 100

// account is a region of an account as a delegate works in it.
type account struct {
	*aws.Access
	groups    *autoscaling.Client
	machines  *ec2.Client
	balancers *alb.Balancers
}

func open(ctx context.Context, accesses *aws.Accesses, in task.AWS, execution string) (account, error) {
	access, err := accesses.Get(ctx, in, execution)
	if err != nil {
		return account{}, err
	}
	return account{
		Access: access, groups: autoscaling.NewFromConfig(access.Config), machines: ec2.NewFromConfig(access.Config), balancers: alb.New(access),
	}, nil
}

// describe describes groups by their names, those that there are.
func (a account) describe(ctx context.Context, names []string) (map[string]types.AutoScalingGroup, error) {
	found := map[string]types.AutoScalingGroup{}
	for some := range slices.Chunk(names, mostGroups) {
		pages := autoscaling.NewDescribeAutoScalingGroupsPaginator(a.groups, &autoscaling.DescribeAutoScalingGroupsInput{
			AutoScalingGroupNames: some, MaxRecords: sdk.Int32(mostGroups),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, a.Failed(ctx, "autoscaling:DescribeAutoScalingGroups", err)
			}
			for _, one := range page.AutoScalingGroups {
				found[sdk.ToString(one.AutoScalingGroupName)] = one
			}
		}
	}
	return found, nil
}

// live is a group that is there, or that is just going; nil for none.
func (a account) live(ctx context.Context, name string) (*types.AutoScalingGroup, error) {
	found, err := a.describe(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	one, ok := found[name]
	if !ok {
		return nil, nil //nolint:nilnil // as documented
	}
	return &one, nil
}

// as makes one of AWS's structures of another one that has members of the same
// names: what a describing call answers becomes the input of the call that would
// make it so. Other members are left out.
func as[T any](from any) (*T, error) {
	doc, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("encode a %T: %w", from, err)
	}
	to := new(T)
	if err := json.Unmarshal(doc, to); err != nil {
		return nil, fmt.Errorf("make a %T of a %T: %w", to, from, err)
	}
	return to, nil
}

// same says whether two of AWS's structures say the same.
func same(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && string(x) == string(y)
}
