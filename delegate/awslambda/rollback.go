package awslambda

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/task"
)

// rollback puts back what the stage has found, the newest change first.
func (s *session) rollback(ctx context.Context) (task.Result, error) {
	s.Unit = unitRollback
	was, released, err := s.checkpoints(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if len(was) == 0 {
		s.Say("Nothing to roll back: the stage changed nothing")
		return executor.Succeed(struct{}{})
	}
	var last task.Result
	var changes []task.Change
	for _, b := range was {
		if b.First {
			last, err = s.remove(ctx, b)
		} else {
			last, err = s.restore(ctx, b, released[b.Function])
		}
		if changes = append(changes, last.Changes...); err != nil {
			return task.Result{Changes: changes}, err
		}
	}
	last.Changes = changes
	return last, nil
}

// remove deletes a function that the stage has made.
func (s *session) remove(ctx context.Context, b before) (task.Result, error) {
	out, err := s.client.GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: &b.Function})
	switch {
	case aws.Is(err, notFound):
		s.Say("Function %s isn't there, as before the stage", b.Function)
	case err != nil:
		return task.Result{}, s.failed(ctx, "GetFunction", err)
	case out.TagsError != nil:
		return task.Result{}, fault.New(fault.Unavailable, "function %s may be one that this stage has made, but its tags, which would say so, can't be read: %s: %s; the caller needs lambda:ListTags",
			b.Function, sdk.ToString(out.TagsError.ErrorCode), sdk.ToString(out.TagsError.Message)).Causing(fault.Authorization)
	case out.Tags[aws.ExecutionTag] != s.cfg.Accesses.Tags(s.work)[aws.ExecutionTag]:
		s.Say("Function %s wasn't there before the stage, but its tag %s is %q: it isn't deleted", b.Function, aws.ExecutionTag, out.Tags[aws.ExecutionTag])
		return executor.Succeed(map[string]any{"functionName": short(b.Function)})
	default:
		s.Say("Deleting function %s, which this stage has made", b.Function)
		if _, err := s.client.DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: &b.Function}); err != nil && !aws.Is(err, notFound) {
			return task.Result{}, s.failed(ctx, "DeleteFunction", err)
		}
	}
	return executor.Succeed(map[string]any{"functionName": short(b.Function)}, task.Change{
		Target: s.target(b.Function), Action: "deleted", Resources: []string{s.resource(b.Function)}, Whole: true, Counted: true,
	})
}

// restore puts the aliases back first, because their callers are those that count,
// then the code and the configuration of the version of before.
func (s *session) restore(ctx context.Context, b before, r release) (task.Result, error) {
	var aliases []string
	for _, name := range slices.Sorted(maps.Keys(b.Aliases)) {
		if b.Aliases[name].Version == "" {
			now, err := s.alias(ctx, b.Function, name)
			if err != nil {
				return task.Result{}, err
			}
			if now.Version != "" && now.Version != r.Version && now.Version != b.Version {
				s.Say("Alias %s wasn't there before the stage, but points to version %s by now: it stays", name, now.Version)
				continue
			}
			s.Say("Deleting alias %s, which this stage has made", name)
			if _, err := s.client.DeleteAlias(ctx, &lambda.DeleteAliasInput{FunctionName: &b.Function, Name: &name}); err != nil && !aws.Is(err, notFound) {
				return task.Result{}, s.failed(ctx, "DeleteAlias", err)
			}
			continue
		}
		aliases = append(aliases, name)
		if err := s.point(ctx, b.Function, name, b.Aliases[name]); err != nil {
			return task.Result{}, err
		}
	}
	from, err := s.client.GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: &b.Function, Qualifier: &b.Version})
	if err != nil {
		return task.Result{}, s.failed(ctx, "GetFunction", err)
	}
	if err := s.restoreLatest(ctx, b, from); err != nil {
		return task.Result{}, err
	}
	outputs := map[string]any{"functionName": short(b.Function), "version": b.Version}
	version := b.Version
	if s.spec.Op == lane.OpCanaryRollback {
		deleted, err := s.deleteVersion(ctx, b, r)
		if err != nil {
			return task.Result{}, err
		}
		outputs["deletedVersion"] = deleted
	} else {
		v, err := s.publishVersion(ctx, b.Function, s.description(artifactOf(from.Configuration.Description)))
		if err != nil {
			return task.Result{}, err
		}
		s.Say("Published version %s with what version %s has", v.version, b.Version)
		outputs["restoredVersion"], version = v.version, v.version
	}
	return s.result(ctx, b.Function, aliases, version, "rolled back", outputs)
}

// restoreLatest gives $LATEST the code and the configuration of a version, as far
// as it hasn't them.
func (s *session) restoreLatest(ctx context.Context, b before, from *lambda.GetFunctionOutput) error {
	name := b.Function
	now, err := s.settled(ctx, name, "", false)
	if err != nil {
		return err
	}
	version := sdk.ToString(from.Configuration.Version)
	if e := from.Configuration.Environment; e != nil && e.Error != nil { // else it would be emptied
		return fault.New(fault.Unavailable, "the environment of version %s can't be read: %s", version, sdk.ToString(e.Error.Message)).Causing(fault.Authorization)
	}
	if sdk.ToString(now.CodeSha256) == sdk.ToString(from.Configuration.CodeSha256) {
		s.Say("Function %s has the code of version %s", name, version)
	} else {
		c, err := s.codeOf(ctx, from)
		if err != nil {
			return err
		}
		s.Say("Function %s gets the code of version %s", name, version)
		if err := s.updateCode(ctx, name, from.Configuration.Architectures, c); err != nil {
			return err
		}
	}
	s.Say("Function %s gets the configuration of version %s", name, version)
	in := configured(name, from.Configuration)
	in.Description = &b.Description
	if in.SnapStart != nil && now.SnapStart != nil && in.SnapStart.ApplyOn == now.SnapStart.ApplyOn {
		in.SnapStart = nil // not every runtime and region takes it, also where it is off
	}
	_, err = s.change(ctx, "UpdateFunctionConfiguration", name, func(revision *string) error {
		in.RevisionId = revision
		_, err := s.client.UpdateFunctionConfiguration(ctx, in)
		return err
	})
	if err != nil || b.Tags == nil {
		return err
	}
	return s.tagsBack(ctx, name, b.Tags)
}

// tagsBack gives the function the tags that it had, and takes away what the stage's
// definition has added.
func (s *session) tagsBack(ctx context.Context, name string, had map[string]string) error {
	now, err := s.client.GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: &name})
	if err != nil {
		return s.failed(ctx, "GetFunction", err)
	}
	return s.retag(ctx, now.Configuration.FunctionArn, now.Tags, had, aws.Added(now.Tags, had))
}

// codeOf is the code of a version: its image, or what Lambda gives to download.
func (s *session) codeOf(ctx context.Context, from *lambda.GetFunctionOutput) (code, error) {
	if from.Code == nil {
		return code{}, fault.New(fault.Unavailable, "Lambda doesn't say where the code of version %s is", sdk.ToString(from.Configuration.Version))
	}
	if from.Configuration.PackageType == types.PackageTypeImage {
		if image := sdk.ToString(from.Code.ResolvedImageUri); image != "" {
			return code{image: image}, nil
		}
		return code{image: sdk.ToString(from.Code.ImageUri)}, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, sdk.ToString(from.Code.Location), nil)
	if err != nil {
		return code{}, fault.New(fault.Unavailable, "the address of the code isn't one")
	}
	version := sdk.ToString(from.Configuration.Version)
	response, err := s.http.Do(request)
	if err != nil {
		if told := (*url.Error)(nil); errors.As(err, &told) {
			err = told.Err // the address is as good as the right to read the code
		}
		return code{}, fault.New(fault.Unavailable, "download the code of version %s: %w", version, err).Causing(fault.Connectivity)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return code{}, fault.New(fault.Unavailable, "download the code of version %s: %s", version, response.Status).Causing(fault.Connectivity)
	}
	zip, err := io.ReadAll(io.LimitReader(response.Body, maxZip+1))
	switch {
	case err != nil:
		return code{}, fault.New(fault.Unavailable, "download the code of version %s: %w", version, err).Causing(fault.Connectivity)
	case len(zip) > maxZip:
		return code{}, fault.New(fault.TooLarge, "the code of version %s has more than 50 MB, which is the most that can be sent to Lambda: $LATEST keeps the code of the stage; aliases are back", version).Causing(fault.ResourceLimitsFailure)
	}
	return code{zip: zip}, nil
}

// deleteVersion deletes the version that the stage has published, if nobody's
// alias names it.
func (s *session) deleteVersion(ctx context.Context, b before, r release) (string, error) {
	if r.Version == "" { // the delegate may have been killed before it could tell which
		var err error
		if r.Version, err = s.untold(ctx, b); err != nil {
			return "", err
		}
	}
	if r.Version == "" || r.Version == b.Version {
		return "", nil
	}
	named, err := s.named(ctx, b.Function)
	if err != nil {
		return "", err
	}
	if alias := named[r.Version]; alias != "" {
		s.Say("Version %s stays: alias %s names it", r.Version, alias)
		return "", nil
	}
	s.Say("Deleting version %s", r.Version)
	_, err = s.client.DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: &b.Function, Qualifier: &r.Version})
	if err != nil && !aws.Is(err, notFound) {
		return "", s.failed(ctx, "DeleteFunction", err)
	}
	return r.Version, nil
}

// untold is the version that the execution has published since what was before it, by
// its description; empty: there is none.
func (s *session) untold(ctx context.Context, b before) (string, error) {
	last, err := s.newest(ctx, b.Function)
	if err != nil || last == nil || number(last.Version) <= number(&b.Version) || !strings.HasPrefix(sdk.ToString(last.Description), "slipway "+s.work.Execution+" ") {
		return "", err
	}
	return sdk.ToString(last.Version), nil
}

// configured is the call that gives a function the configuration of a version.
// What the version hasn't is said to be empty, else it would stay. Its description
// is its own, not the function's.
func configured(name string, v *types.FunctionConfiguration) *lambda.UpdateFunctionConfigurationInput {
	in := &lambda.UpdateFunctionConfigurationInput{
		FunctionName: &name, CapacityProviderConfig: v.CapacityProviderConfig, DurableConfig: v.DurableConfig, EphemeralStorage: v.EphemeralStorage,
		Handler: v.Handler, LoggingConfig: v.LoggingConfig, MemorySize: v.MemorySize, Role: v.Role, Runtime: v.Runtime, Timeout: v.Timeout,
		Environment: &types.Environment{Variables: map[string]string{}}, KMSKeyArn: sdk.String(sdk.ToString(v.KMSKeyArn)),
		DeadLetterConfig: &types.DeadLetterConfig{TargetArn: sdk.String("")}, FileSystemConfigs: []types.FileSystemConfig{},
		VpcConfig: &types.VpcConfig{SubnetIds: []string{}, SecurityGroupIds: []string{}},
	}
	if v.Environment != nil && v.Environment.Variables != nil {
		in.Environment.Variables = v.Environment.Variables
	}
	if v.DeadLetterConfig != nil {
		in.DeadLetterConfig = v.DeadLetterConfig
	}
	if v.FileSystemConfigs != nil {
		in.FileSystemConfigs = v.FileSystemConfigs
	}
	if n := v.VpcConfig; n != nil {
		in.VpcConfig = &types.VpcConfig{SubnetIds: n.SubnetIds, SecurityGroupIds: n.SecurityGroupIds, Ipv6AllowedForDualStack: n.Ipv6AllowedForDualStack}
	}
	if v.TracingConfig != nil {
		in.TracingConfig = &types.TracingConfig{Mode: v.TracingConfig.Mode}
	}
	if v.SnapStart != nil {
		in.SnapStart = &types.SnapStart{ApplyOn: v.SnapStart.ApplyOn}
	}
	if v.PackageType == types.PackageTypeImage {
		if r := v.ImageConfigResponse; r != nil && r.ImageConfig != nil {
			in.ImageConfig = r.ImageConfig
		} else {
			in.ImageConfig = &types.ImageConfig{}
		}
		return in
	}
	in.Layers = []string{}
	for _, l := range v.Layers {
		in.Layers = append(in.Layers, sdk.ToString(l.Arn))
	}
	return in
}
