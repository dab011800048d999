package asg

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsdoc"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// wanted is what the documents of a group say.
type wanted struct {
	name      string // of the group, and of its launch template
	template  *ec2.CreateLaunchTemplateInput
	create    *autoscaling.CreateAutoScalingGroupInput // its sizes are those of the step
	policies  []autoscaling.PutScalingPolicyInput
	schedules []autoscaling.PutScheduledUpdateGroupActionInput
	metrics   *metrics // nil: they stay as they are
	unused    bool     // the group has no traffic, so that it may have the version at once
}

// metrics are which ones of a group are collected.
type metrics struct {
	Enabled bool
	Listed  []metric // none: all
}

type metric struct {
	Metric, Granularity string
}

// usualGranularity is the only one that there is.
const usualGranularity = "1Minute"

// baseSuffix ends the name of a group that stands for one without a name.
const baseSuffix = "-slipway"

// templateName is how EC2 lets a launch template be called, which has the name of
// its group.
var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)

func misconfigured(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Causing(fault.ConfigurationFailure)
}

// reader reads the documents of a task.
type reader struct{ s *session }

// source fetches documents.
func (r reader) source() awsdoc.Source {
	return awsdoc.Source{
		Git: r.s.Git, Stage: r.s.work.Execution + r.s.work.Stage, Env: r.s.Env, Log: r.s.Env.Log(fetchUnit),
		Accesses: r.s.Accesses, Execution: r.s.work.Execution,
	}
}

// wanted reads the group's documents.
func (r reader) wanted(ctx context.Context) (*wanted, error) {
	r.s.In(fetchUnit)
	w := &wanted{}
	base, err := r.base(ctx)
	if err != nil {
		return nil, err
	}
	for _, read := range []func(context.Context, *wanted, *types.AutoScalingGroup) error{r.templateWanted, r.groupWanted} {
		if err := read(ctx, w, base); err != nil {
			return nil, err
		}
	}
	for _, read := range []func(context.Context, *wanted) error{r.policiesWanted, r.schedulesWanted, r.metricsWanted} {
		if err := read(ctx, w); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// base is the group that stands for documents which the service hasn't; nil: there
// is none.
func (r reader) base(ctx context.Context) (*types.AutoScalingGroup, error) {
	name := r.s.spec.Target.Base
	if name == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	one, err := r.s.live(ctx, name)
	if err == nil && one == nil {
		err = fault.New(fault.NotFound, "there is no Asg %s, which is the baseAsgName of the infrastructure definition", name).Causing(fault.ConfigurationFailure)
	}
	return one, err
}

// templateWanted reads the launch template: its image is the service's, and what
// its machines do first is the service's user data.
func (r reader) templateWanted(ctx context.Context, w *wanted, base *types.AutoScalingGroup) error {
	if m := r.s.spec.Target.Template; m == nil {
		if err := r.templateOf(ctx, w, base); err != nil {
			return err
		}
	} else {
		files, err := r.source().Fetch(ctx, *m)
		if err != nil {
			return err
		}
		in, notes, err := awsdoc.One[ec2.CreateLaunchTemplateInput](files, awsdoc.Rules{
			What: "launch template", Wrapped: "LaunchTemplateData", Answer: "LaunchTemplateVersions",
			Ours: []string{"LaunchTemplateName", "LaunchTemplateId", "ClientToken", "DryRun", "VersionDescription", "SourceVersion"},
			Described: []string{
				"VersionNumber", "CreateTime", "CreatedBy", "DefaultVersion", "DefaultVersionNumber", "LatestVersionNumber", "Operator",
			},
		})
		if err != nil {
			return err
		}
		r.tell(notes)
		if in.LaunchTemplateData == nil {
			return misconfigured("manifest %s: the launch template has no members", m.ID)
		}
		w.template = in
	}
	if image := r.s.spec.Target.Image; image != "" {
		w.template.LaunchTemplateData.ImageId = &image
	}
	if sdk.ToString(w.template.LaunchTemplateData.ImageId) == "" {
		return misconfigured("there is no image to start machines from: the service has no artifact, and the launch template no ImageId")
	}
	return r.userData(ctx, w)
}

func (r reader) tell(notes []string) {
	for _, note := range notes {
		r.s.Say("%s", note)
	}
}

// userData puts the service's user data into the launch template.
func (r reader) userData(ctx context.Context, w *wanted) error {
	m := r.s.spec.Target.UserData
	if m == nil {
		return nil
	}
	files, err := r.source().Fetch(ctx, *m)
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return misconfigured("userData wants one file, found %d", len(files))
	}
	w.template.LaunchTemplateData.UserData = sdk.String(base64.StdEncoding.EncodeToString([]byte(files[0].Text)))
	return nil
}

// templateOf makes the launch template of another group's.
func (r reader) templateOf(ctx context.Context, w *wanted, base *types.AutoScalingGroup) error {
	named := templateOf(base)
	if named == nil {
		return misconfigured("the service has no manifest of the type AsgLaunchTemplate, and the base Asg has no launch template")
	}
	v, err := r.s.version(ctx, named)
	if err != nil {
		return err
	}
	if v == nil || v.LaunchTemplateData == nil {
		return fault.New(fault.NotFound, "version %s of the launch template of Asg %s isn't there", versionNamed(named), r.s.spec.Target.Base).Causing(fault.ConfigurationFailure)
	}
	data, err := as[ec2types.RequestLaunchTemplateData](v.LaunchTemplateData)
	if err != nil {
		return err
	}
	w.template = &ec2.CreateLaunchTemplateInput{LaunchTemplateData: data}
	r.s.Say("The launch template is that of Asg %s", r.s.spec.Target.Base)
	return nil
}

// templateOf is how a group names the version of a launch template that it starts
// machines from; nil: by none.
func templateOf(one *types.AutoScalingGroup) *types.LaunchTemplateSpecification {
	switch {
	case one == nil:
		return nil
	case one.MixedInstancesPolicy != nil && one.MixedInstancesPolicy.LaunchTemplate != nil:
		return one.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification
	}
	return one.LaunchTemplate
}

// groupWanted reads the configuration of the group, and what it is called.
func (r reader) groupWanted(ctx context.Context, w *wanted, base *types.AutoScalingGroup) error {
	if m := r.s.spec.Target.Configuration; m == nil {
		if base == nil {
			return misconfigured("the service has no manifest of the type AsgConfiguration")
		}
		in, err := createOf(base)
		if err != nil {
			return err
		}
		in.AutoScalingGroupName = nil
		w.create = in
		r.s.Say("The configuration is that of Asg %s", r.s.spec.Target.Base)
	} else {
		files, err := r.source().Fetch(ctx, *m)
		if err != nil {
			return err
		}
		in, notes, err := awsdoc.One[autoscaling.CreateAutoScalingGroupInput](files, awsdoc.Rules{
			What: "configuration of an Auto Scaling group", Answer: "AutoScalingGroups", Ours: []string{"LaunchTemplate", "LaunchConfigurationName", "InstanceId"},
			Described: []string{
				"AutoScalingGroupARN", "CreatedTime", "Instances", "Status", "EnabledMetrics", "SuspendedProcesses", "PredictedCapacity",
				"WarmPoolConfiguration", "WarmPoolSize",
			},
		})
		if err != nil {
			return err
		}
		r.tell(notes)
		w.create = in
	}
	return r.named(w)
}

// name reads the configuration alone, for what the group is called.
func (r reader) name(ctx context.Context) (string, error) {
	r.s.In(fetchUnit)
	if r.s.spec.Target.Configuration == nil && r.s.spec.Target.Base == "" && r.s.spec.Name == "" {
		return "", misconfigured("the group has no name: want asgName in the step, or a manifest of the type AsgConfiguration")
	}
	w := &wanted{}
	if r.s.spec.Target.Configuration == nil {
		w.create = &autoscaling.CreateAutoScalingGroupInput{}
		err := r.named(w)
		return w.name, err
	}
	err := r.groupWanted(ctx, w, nil)
	return w.name, err
}

// named says what the group is called.
func (r reader) named(w *wanted) error {
	w.name = r.s.spec.Name
	if w.name == "" {
		w.name = sdk.ToString(w.create.AutoScalingGroupName)
	}
	if w.name == "" && r.s.spec.Target.Base != "" {
		w.name = r.s.spec.Target.Base + baseSuffix
	}
	switch w.name {
	case "":
		return misconfigured("the group has no name: want asgName in the step, or AutoScalingGroupName in its configuration")
	case r.s.spec.Target.Base:
		return misconfigured("the group is called %s, as the baseAsgName of the infrastructure definition, which is never changed; want another name", w.name)
	}
	return callable(w.name)
}

// callable says whether a group, and so its launch template, can have a name.
func callable(name string) error {
	if templateName.MatchString(name) {
		return nil
	}
	return misconfigured("the group is called %q; want 3 to 128 letters, digits and any of ( ) . - / _, because its launch template has the same name", name)
}

// createOf is how a group is, as what would make another one like it.
func createOf(one *types.AutoScalingGroup) (*autoscaling.CreateAutoScalingGroupInput, error) {
	update, err := updateOf(one)
	if err != nil {
		return nil, err
	}
	in, err := as[autoscaling.CreateAutoScalingGroupInput](update)
	if err != nil {
		return nil, err
	}
	in.LaunchTemplate, in.LaunchConfigurationName, in.ServiceLinkedRoleARN = nil, nil, nil
	in.TargetGroupARNs, in.LoadBalancerNames = one.TargetGroupARNs, one.LoadBalancerNames
	for _, t := range tagsOf(one) {
		if !strings.HasPrefix(sdk.ToString(t.Key), "aws:") && !aws.Own(sdk.ToString(t.Key)) {
			t.ResourceId = nil
			in.Tags = append(in.Tags, t)
		}
	}
	return in, nil
}

// valued are tags by their keys.
func valued(tags []types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[sdk.ToString(t.Key)] = sdk.ToString(t.Value)
	}
	return out
}

// tagsOf are the tags of a group, as calls take them.
func tagsOf(one *types.AutoScalingGroup) []types.Tag {
	var out []types.Tag
	for _, t := range one.Tags {
		out = append(out, types.Tag{Key: t.Key, Value: t.Value, PropagateAtLaunch: t.PropagateAtLaunch, ResourceId: t.ResourceId, ResourceType: t.ResourceType})
	}
	return out
}

// policiesWanted reads what scales the group.
func (r reader) policiesWanted(ctx context.Context, w *wanted) error {
	all, err := many[autoscaling.PutScalingPolicyInput](ctx, r, r.s.spec.Target.Policies, awsdoc.Rules{
		What: "scaling policy", Ours: []string{"AutoScalingGroupName"}, Answer: "ScalingPolicies", Described: []string{"PolicyARN", "Alarms"},
	})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, p := range all {
		if p.PolicyName == nil {
			return misconfigured("a scaling policy has no PolicyName")
		}
		if seen[*p.PolicyName] {
			return misconfigured("there are two scaling policies %s", *p.PolicyName)
		}
		seen[*p.PolicyName] = true
		w.policies = append(w.policies, *p)
	}
	return nil
}

// schedulesWanted reads when the group changes its size.
func (r reader) schedulesWanted(ctx context.Context, w *wanted) error {
	all, err := many[autoscaling.PutScheduledUpdateGroupActionInput](ctx, r, r.s.spec.Target.Schedules, awsdoc.Rules{
		What: "scheduled action", Ours: []string{"AutoScalingGroupName"}, Answer: "ScheduledUpdateGroupActions", Described: []string{"ScheduledActionARN"},
	})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, a := range all {
		if a.ScheduledActionName == nil {
			return misconfigured("a scheduled action has no ScheduledActionName")
		}
		if seen[*a.ScheduledActionName] {
			return misconfigured("there are two scheduled actions %s", *a.ScheduledActionName)
		}
		seen[*a.ScheduledActionName] = true
		w.schedules = append(w.schedules, *a)
	}
	return nil
}

// many reads the documents of manifests of which there may be any number.
func many[T any](ctx context.Context, r reader, from []lane.Manifest, rules awsdoc.Rules) ([]*T, error) {
	files, err := r.source().Fetch(ctx, from...)
	if err != nil {
		return nil, err
	}
	all, notes, err := awsdoc.All[T](files, rules)
	r.tell(notes)
	return all, err
}

// metricsWanted reads which metrics are collected.
func (r reader) metricsWanted(ctx context.Context, w *wanted) error {
	m := r.s.spec.Target.Additional
	if m == nil {
		return nil
	}
	files, err := r.source().Fetch(ctx, *m)
	if err != nil {
		return err
	}
	// The first name is that of Harness's own samples.
	doc, notes, err := awsdoc.One[struct {
		Metrics *struct {
			EnableMetrices, EnableMetrics *bool
			MetricsCollection             []metric
		}
	}](files, awsdoc.Rules{What: "additional configuration"})
	if err != nil {
		return err
	}
	r.tell(notes)
	if doc.Metrics == nil {
		return nil
	}
	w.metrics = &metrics{Enabled: sdk.ToBool(doc.Metrics.EnableMetrices) || sdk.ToBool(doc.Metrics.EnableMetrics), Listed: doc.Metrics.MetricsCollection}
	for i, one := range w.metrics.Listed {
		if one.Granularity == "" {
			w.metrics.Listed[i].Granularity = usualGranularity
		}
	}
	return nil
}

// tags are those of the configuration, and those that say which execution deployed
// the group.
func (s *session) tags(w *wanted) []types.Tag {
	out := slices.Clone(w.create.Tags)
	set := valued(out)
	delete(set, colourTag) // which tells of traffic, whatever the documents say
	marks := s.Accesses.Marks(s.work, slices.Collect(maps.Keys(set))...)
	for _, key := range slices.Sorted(maps.Keys(marks)) {
		if marks[key] != "" && !slices.ContainsFunc(out, func(t types.Tag) bool { return sdk.ToString(t.Key) == key }) {
			out = append(out, types.Tag{Key: sdk.String(key), Value: sdk.String(marks[key]), PropagateAtLaunch: sdk.Bool(true)})
		}
	}
	for i := range out {
		out[i].ResourceId, out[i].ResourceType = &w.name, sdk.String(taggedGroup)
	}
	return out
}

// taggedGroup is how AWS calls a group that has a tag.
const taggedGroup = "auto-scaling-group"

// Sizes of a first deployment that takes those of what runs.
const (
	firstMin, firstDesired, firstMax = 0, 6, 10
)

// sized gives the group the size that the step says.
func (s *session) sized(w *wanted, live *types.AutoScalingGroup) error {
	c := w.create
	switch size := s.spec.Size; {
	case size == nil:
	case !size.Running:
		c.MinSize, c.MaxSize, c.DesiredCapacity = int32of(size.Min), int32of(size.Max), int32of(size.Desired)
	case live == nil:
		c.MinSize, c.MaxSize, c.DesiredCapacity = int32of(firstMin), int32of(firstMax), int32of(firstDesired)
	default:
		c.MinSize, c.MaxSize, c.DesiredCapacity = live.MinSize, live.MaxSize, live.DesiredCapacity
	}
	if c.MinSize == nil || c.MaxSize == nil {
		return misconfigured("nothing says how large Asg %s is to be: want MinSize and MaxSize in its configuration, or instances in the step", w.name)
	}
	if d := c.DesiredCapacity; *c.MinSize > *c.MaxSize || d != nil && (*d < *c.MinSize || *d > *c.MaxSize) {
		return misconfigured("Asg %s is to have at least %d, at most %d and now %s instances, which can't be", w.name, *c.MinSize, *c.MaxSize, count(d))
	}
	return nil
}

func int32of(n int) *int32 { return sdk.Int32(int32(n)) } //nolint:gosec // a number of machines

func count(n *int32) string {
	if n == nil {
		return "any number of"
	}
	return fmt.Sprint(*n)
}
