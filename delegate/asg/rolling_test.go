package asg_test

import (
	"encoding/base64"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// fixed gives the group a size.
func fixed(least, most, desired int) func(*asglane.Spec) {
	return func(s *asglane.Spec) { s.Size = &awslane.Size{Min: least, Max: most, Desired: desired} }
}

// The first deployment makes a template and a group, and refreshes nothing; it is
// kept before that there was none.
func TestFirstDeployment(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.succeeds(t, asglane.OpRolling, fixed(1, 3, 2))
	if diff := cmp.Diff([]string{"CreateLaunchTemplate", "CreateAutoScalingGroup"}, s.changes(0)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got := s.runs(t, "web"); got != "version 1, 1 to 3, 2 desired: 1 1" {
		t.Errorf("the group is %s", got)
	}
	kept := s.env.Kept()
	if len(kept) != 1 || !strings.Contains(string(kept[0].Data), `"first":true`) {
		t.Errorf("kept %v; want that there was no group", kept)
	}
	live := s.live(t, "web")
	want := map[string]any{
		"asgName": "web", "asgArn": *live.AutoScalingGroupARN, "region": testaws.Region, "launchTemplateId": *live.LaunchTemplate.LaunchTemplateId,
		"launchTemplateVersion": "1", "amiId": s.images["web-1"], "min": 1.0, "max": 3.0, "desired": 2.0, "previousVersion": nil, "instanceRefreshId": nil,
	}
	for name, value := range want {
		if got := output(t, r, name); got != value {
			t.Errorf("output %s is %v; want %v", name, got, value)
		}
	}
	c := r.Changes[0]
	if len(c.Instances) != 2 || c.Instances[0].Images[0] != s.images["web-1"] || len(c.Workloads) != 1 || *c.Workloads[0].Replicas != 2 {
		t.Errorf("the ledger gets %+v", c)
	}
}

// A first deployment that takes the sizes of what runs has those of Harness.
func TestCurrentRunningOfTheFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	running := func(s *asglane.Spec) { s.Size = &awslane.Size{Running: true} }
	s.succeeds(t, asglane.OpRolling, running)
	if got := s.runs(t, "web"); got != "version 1, 0 to 10, 6 desired: 1 1 1 1 1 1" {
		t.Errorf("the group is %s", got)
	}
	if _, err := s.groups().UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: sdk.String("web"), MinSize: sdk.Int32(2), MaxSize: sdk.Int32(5), DesiredCapacity: sdk.Int32(3),
	}); err != nil {
		t.Fatal(err)
	}
	s = s.next(t, "web-2")
	s.succeeds(t, asglane.OpRolling, running)
	if got := s.runs(t, "web"); got != "version 2, 2 to 5, 3 desired: 2 2 2" {
		t.Errorf("the second group is %s", got)
	}
}

// template is a version of the group's launch template.
func (s *stage) template(t *testing.T, version string) *ec2.DescribeLaunchTemplateVersionsOutput {
	t.Helper()
	out, err := s.machines().DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateName: sdk.String("web"), Versions: []string{version},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The service's image wins over the template's, and its user data too; both forms
// of a template are read.
func TestImageAndUserData(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	script := func(text string) func(*asglane.Spec) {
		return func(s *asglane.Spec) { s.Target.UserData = manifest("userData", text) }
	}
	s.succeeds(t, asglane.OpRolling, script("#!/bin/sh\necho 1\n"))
	bare := func(s *asglane.Spec) {
		s.Target.Template = manifest("AsgLaunchTemplate", "instanceType: t3.large\nuserData: bm9uZQ==\n")
	}
	s = s.next(t, "web-2")
	s.succeeds(t, asglane.OpRolling, bare, script("#!/bin/sh\necho 2\n"))
	for version, want := range map[string][3]string{
		"1": {s.images["web-1"], "t3.micro", "#!/bin/sh\necho 1\n"}, "2": {s.images["web-2"], "t3.large", "#!/bin/sh\necho 2\n"},
	} {
		data := s.template(t, version).LaunchTemplateVersions[0].LaunchTemplateData
		text, err := base64.StdEncoding.DecodeString(sdk.ToString(data.UserData))
		if got := [3]string{*data.ImageId, string(data.InstanceType), string(text)}; err != nil || got != want {
			t.Errorf("version %s has %q, %v; want %q", version, got, err, want)
		}
	}
}

// An update gives the group its template when the refresh has succeeded, not
// before; the rollback brings back what was there before the first attempt.
func TestUpdateAndRollback(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, asglane.OpRolling)
	s := first.next(t, "web-2")
	since := len(s.Calls())
	done := make(chan string, 1)
	s.Hold()
	go func() {
		defer s.Go()
		s.Await("autoscaling:StartInstanceRefresh", 1)
		done <- *s.live(t, "web").LaunchTemplate.Version
	}()
	r := s.succeeds(t, asglane.OpRolling, fixed(1, 5, 3))
	if during := <-done; during != "1" {
		t.Errorf("during the refresh the group has version %s", during)
	}
	want := []string{"CreateLaunchTemplateVersion", "UpdateAutoScalingGroup", "CreateOrUpdateTags", "StartInstanceRefresh"}
	if diff := cmp.Diff(want, s.changes(since)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	var in autoscaling.StartInstanceRefreshInput
	s.CallsOf("autoscaling:StartInstanceRefresh")[0].Decode(t, &in)
	if v := in.DesiredConfiguration.LaunchTemplate.Version; *v != "2" || *in.Preferences.MinHealthyPercentage != 90 || *in.Preferences.MaxHealthyPercentage != 110 || !*in.Preferences.SkipMatching {
		t.Errorf("the refresh is %+v to version %s", in.Preferences, *v)
	}
	if got := s.runs(t, "web"); got != "version 2, 1 to 5, 3 desired: 2 2 2" {
		t.Errorf("the group is %s", got)
	}
	if got := output(t, r, "previousVersion"); got != "1" || output(t, r, "launchTemplateVersion") != "2" || output(t, r, "instanceRefreshId") == nil {
		t.Errorf("outputs %s", r.Outputs)
	}
	// A second attempt makes nothing anew and keeps nothing anew.
	s.attempt = 2
	since = len(s.Calls())
	s.succeeds(t, asglane.OpRolling, fixed(1, 5, 3))
	if got := s.changes(since); len(got) > 0 {
		t.Errorf("the second attempt changes %v", got)
	}
	since = len(s.Calls())
	r = s.succeeds(t, asglane.OpRollingRollback)
	if got := s.runs(t, "web"); got != "version 1, 1 to 4, 2 desired: 1 1" {
		t.Errorf("after the rollback the group is %s", got)
	}
	if got := r.Changes[0]; got.Action != "rolled back" || len(got.Instances) != 2 || got.Instances[0].Images[0] != s.images["web-1"] {
		t.Errorf("the ledger gets %+v", got)
	}
	if diff := cmp.Diff([]string{"UpdateAutoScalingGroup", "CreateOrUpdateTags", "StartInstanceRefresh"}, s.changes(since)); diff != "" {
		t.Errorf("changes of the rollback (-want +got):\n%s", diff)
	}
	refreshes := s.CallsOf("autoscaling:StartInstanceRefresh")
	refreshes[len(refreshes)-1].Decode(t, &in)
	if *in.Preferences.MinHealthyPercentage != 100 || *in.Preferences.MaxHealthyPercentage != 200 || !*in.Preferences.SkipMatching {
		t.Errorf("the refresh of the rollback is %+v", in.Preferences)
	}
	// Once more: it is as before.
	since = len(s.Calls())
	s.succeeds(t, asglane.OpRollingRollback)
	if got := s.changes(since); len(got) > 0 {
		t.Errorf("the second rollback changes %v", got)
	}
}

// A refresh that fails leaves the group on the version that works: what is scaled
// out later starts from that.
func TestRefreshFails(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, asglane.OpRolling)
	s := first.next(t, "crash-2")
	r := s.refused(t, "is Failed: Instance refresh has failed", asglane.OpRolling)
	if len(r.Changes) != 1 || r.Outputs == nil {
		t.Errorf("the ledger gets %v of the failure", r.Changes)
	}
	if _, err := s.groups().SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: sdk.String("web"), DesiredCapacity: sdk.Int32(3)}); err != nil {
		t.Fatal(err)
	}
	s.becomes(t, "web", "version 1, 1 to 4, 3 desired: 1 1 1")
	s.succeeds(t, asglane.OpRollingRollback)
	if got := s.runs(t, "web"); got != "version 1, 1 to 4, 2 desired: 1 1" {
		t.Errorf("after the rollback the group is %s", got)
	}
}

// A first deployment that is taken back leaves nothing.
func TestRollbackOfTheFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, asglane.OpRolling)
	r := s.succeeds(t, asglane.OpRollingRollback)
	if got := s.runs(t, "web"); got != "gone" {
		t.Errorf("after the rollback the group is %s", got)
	}
	if out, err := s.machines().DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{}); err != nil || len(out.LaunchTemplates) > 0 {
		t.Errorf("after the rollback there are launch templates: %v, %v", out, err)
	}
	if len(r.Changes[0].Instances) != 0 || !r.Changes[0].Counted {
		t.Errorf("the ledger gets %+v", r.Changes[0])
	}
}

// Nothing was changed, so nothing is asked of AWS.
func TestNothingToRollBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	since := len(s.Calls())
	s.succeeds(t, asglane.OpRollingRollback)
	if got := s.Calls()[since:]; len(got) > 0 {
		t.Errorf("calls %v; want none", got)
	}
	if log := s.env.Text("Rollback", executor.Info); !strings.Contains(log, "Nothing to roll back: AsgRollingDeploy changed nothing") {
		t.Errorf("the log says:\n%s", log)
	}
}

// What AWS would say late, or not at all.
func TestRefusedInPrepare(t *testing.T) {
	t.Parallel()
	group := func(text string) func(*asglane.Spec) {
		return func(s *asglane.Spec) { s.Target.Configuration = manifest("AsgConfiguration", text) }
	}
	template := func(text string) func(*asglane.Spec) {
		return func(s *asglane.Spec) { s.Target.Template = manifest("AsgLaunchTemplate", text) }
	}
	for name, tt := range map[string]struct {
		change func(*asglane.Spec)
		want   string
	}{
		"a misspelt member":           {template("LaunchTemplateData: {InstanceTyp: t3.micro}"), "InstanceType"},
		"a misspelt member, bare":     {template("instanceTyp: t3.micro"), "instanceType"},
		"no name":                     {group("minSize: 1\nmaxSize: 1\n"), "the group has no name"},
		"a name that no template has": {group("autoScalingGroupName: we b\n"), "because its launch template has the same name"},
		"an answer":                   {group("AutoScalingGroups: [{AutoScalingGroupName: web}]\n"), "remove the AutoScalingGroups array"},
		"no size":                     {group("autoScalingGroupName: web\nmaxSize: 1\n"), "nothing says how large Asg web is to be"},
		"sizes that can't be":         {fixed(3, 2, 2), "at least 3, at most 2 and now 2 instances"},
		"no image":                    {func(s *asglane.Spec) { s.Target.Image = ""; template("{InstanceType: t3.micro}")(s) }, "no image to start machines from"},
		"no base":                     {func(s *asglane.Spec) { s.Target.Base = "base" }, "there is no Asg base"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.refused(t, tt.want, asglane.OpRolling, tt.change)
			if got := s.changes(0); len(got) > 0 {
				t.Errorf("it changes %v; want nothing", got)
			}
		})
	}
}
