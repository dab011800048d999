package serverless

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/task"
)

// before is what a stage finds: the deployment that is there.
type before struct {
	Stack string `json:"stackName"`
	// First says that nothing was ever deployed.
	First bool `json:"first"`
	// Timestamp names the deployment, as serverless does; empty: it can't be told.
	Timestamp string `json:"timestamp,omitempty"`
}

// beforeKey begins the keys of these checkpoints.
const beforeKey = "serverless:before:"

// found is what the stage has found, as an earlier step has kept it or as it is now.
func (j *job) found(ctx context.Context) (before, error) {
	kept, err := executor.Kept[before](ctx, j.Env, beforeKey+j.access.Region+":")
	if err == nil && len(kept) == 1 && j.spec.Op == lane.OpDeployV2 {
		return kept[0], nil
	}
	if err != nil {
		return before{}, err
	}
	return j.keep(ctx)
}

// keep keeps what is there before the first change.
func (j *job) keep(ctx context.Context) (before, error) {
	j.In(unitPrepare)
	stack, err := j.stackName(ctx)
	if err != nil {
		return before{}, err
	}
	now, err := j.stacks.Settled(ctx, stack, j.Env.Log(j.Unit))
	if err != nil {
		return before{}, err
	}
	b := before{Stack: stack, First: now == nil}
	if now != nil {
		if b.Timestamp, b.First, err = j.timestamp(ctx, now); err != nil {
			return before{}, err
		}
	}
	if b, err = executor.Keep(ctx, j.Env, beforeKey+j.access.Region+":"+stack, b); err != nil {
		return before{}, err
	}
	switch {
	case b.First:
		j.Say("Stack %s has no deployment: a rollback removes what this stage makes.", stack)
	case b.Timestamp == "":
		j.Warn("Which deployment stack %s has can't be told: it can't be rolled back to.", stack)
	default:
		j.Say("Stack %s has the deployment %s: a rollback goes back to it.", stack, b.Timestamp)
	}
	return b, nil
}

// deployment is how serverless names the folder of a deployment in its bucket,
// which the code of all functions is in.
var deployment = regexp.MustCompile(`/(\d{12,14})-\d{4}-\d\d-\d\dT[\d:.]+Z/`)

// listed is how it lists deployments.
var listed = regexp.MustCompile(`(?m)^Timestamp: (\d+)`)

// nothing are the statuses of stacks that hold nothing which could be gone back to.
func nothing() []types.StackStatus {
	return []types.StackStatus{
		types.StackStatusReviewInProgress, types.StackStatusRollbackComplete, types.StackStatusRollbackFailed, types.StackStatusCreateFailed,
		types.StackStatusDeleteComplete, types.StackStatusDeleteFailed,
	}
}

// timestamp is the deployment that a stack has: the one from which its template
// takes the functions' code. A stack without functions has the newest that isn't
// younger than its last change, if that went well. empty says that nothing was
// deployed yet.
func (j *job) timestamp(ctx context.Context, now *types.Stack) (timestamp string, empty bool, err error) {
	name := sdk.ToString(now.StackName)
	if slices.Contains(nothing(), now.StackStatus) {
		return "", true, nil
	}
	out, err := j.stacks.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: &name})
	if err != nil {
		return "", false, j.stacks.Failed(ctx, "GetTemplate", err)
	}
	template := sdk.ToString(out.TemplateBody)
	for _, m := range deployment.FindAllStringSubmatch(template, -1) {
		timestamp = max(timestamp, m[1])
	}
	if timestamp != "" {
		return timestamp, false, nil
	}
	// The first thing that serverless makes is the bucket, alone.
	if !strings.Contains(strings.NewReplacer("AWS::S3::BucketPolicy", "", "AWS::S3::Bucket", "").Replace(template), "AWS::") {
		return "", true, nil
	}
	if strings.Contains(string(now.StackStatus), "ROLLBACK") {
		return "", false, nil
	}
	all, err := j.deployments(ctx)
	if err != nil {
		return "", false, err
	}
	changed := sdk.ToTime(now.LastUpdatedTime)
	if now.LastUpdatedTime == nil {
		changed = sdk.ToTime(now.CreationTime)
	}
	for _, one := range slices.Backward(all) {
		if ms, err := strconv.ParseInt(one, 10, 64); err == nil && ms <= changed.UnixMilli() {
			return one, false, nil
		}
	}
	return "", false, nil
}

// deployments are those that the bucket still has, the oldest first.
func (j *job) deployments(ctx context.Context) ([]string, error) {
	said, err := j.quietly(ctx, []string{"deploy", "list"})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, m := range listed.FindAllStringSubmatch(said, -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	return all, nil
}

// rollback puts the service back as the stage has found it.
func (j *job) rollback(ctx context.Context) (task.Result, error) {
	j.In(unitRollback)
	kept, err := executor.Kept[before](ctx, j.Env, beforeKey)
	if err != nil {
		return task.Result{}, err
	}
	return awsstack.PutBack(ctx, j.stacks, kept, func(ctx context.Context, b before) (stack, done string, err error) {
		done, err = j.putBack(ctx, b)
		return b.Stack, done, err
	}, j.Say)
}

// putBack says what was done to a stack; empty: nothing had to be.
func (j *job) putBack(ctx context.Context, b before) (done string, err error) {
	now, err := j.stacks.Settled(ctx, b.Stack, j.Env.Log(j.Unit))
	if err != nil {
		return "", err
	}
	if now == nil {
		j.Say("Stack %s isn't there: there is nothing to roll back.", b.Stack)
		return "", nil
	}
	if b.First {
		if over, err := j.stacks.Overtaken(ctx, j.Env, now, j.Say); err != nil || over {
			return "", err
		}
		j.Say("Nothing was deployed before the stage: the service is removed.")
		return awsstack.Deleted, j.serverless(ctx, "remove")
	}
	is, _, err := j.timestamp(ctx, now)
	switch {
	case err != nil:
		return "", err
	case b.Timestamp == "":
		return "", fault.New(fault.Invalid, "which deployment stack %s had before the stage couldn't be told, so nothing is rolled back; deploy the earlier version", b.Stack).Causing(fault.Unknown)
	case is == b.Timestamp:
		j.Say("Stack %s has the deployment %s, as before the stage: it is %s.", b.Stack, is, now.StackStatus)
		return "", nil
	}
	if over, err := j.stacks.Overtaken(ctx, j.Env, now, j.Say); err != nil || over {
		return "", err
	}
	all, err := j.deployments(ctx)
	if err != nil {
		return "", err
	}
	if !slices.Contains(all, b.Timestamp) {
		return "", fault.New(fault.NotFound, "the deployment %s isn't in the bucket any more, which has %d of them: have provider.deploymentBucket.maxPreviousDeploymentArtifacts keep more, and deploy the earlier version", b.Timestamp, len(all)).
			Causing(fault.Unknown)
	}
	if err := j.serverless(ctx, "rollback", "--timestamp", b.Timestamp); err != nil {
		j.stacks.Explain(ctx, b.Stack, j.Say)
		return "", err
	}
	return "applied", nil
}
