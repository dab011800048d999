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
	machines  machines
	balancers *alb.Balancers
}

// machines are the calls of EC2 that the groups' templates take. The client itself
// isn't kept: the linker drops no method of a type that reflection may come to, and
// this one's are a fifth of the program.
type machines struct {
	CreateLaunchTemplate           func(context.Context, *ec2.CreateLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error)
	CreateLaunchTemplateVersion    func(context.Context, *ec2.CreateLaunchTemplateVersionInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateVersionOutput, error)
	DescribeLaunchTemplateVersions func(context.Context, *ec2.DescribeLaunchTemplateVersionsInput, ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error)
	DeleteLaunchTemplate           func(context.Context, *ec2.DeleteLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error)
}

func machinesOf(cfg sdk.Config) machines {
	c := ec2.NewFromConfig(cfg)
	return machines{
		CreateLaunchTemplate: c.CreateLaunchTemplate, CreateLaunchTemplateVersion: c.CreateLaunchTemplateVersion,
		DescribeLaunchTemplateVersions: c.DescribeLaunchTemplateVersions, DeleteLaunchTemplate: c.DeleteLaunchTemplate,
	}
}

func open(ctx context.Context, accesses *aws.Accesses, in task.AWS, execution string) (account, error) {
	access, err := accesses.Get(ctx, in, execution)
	if err != nil {
		return account{}, err
	}
	return account{
		Access: access, groups: autoscaling.NewFromConfig(access.Config), machines: machinesOf(access.Config), balancers: alb.New(access),
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
