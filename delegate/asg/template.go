package asg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Versions of a launch template that aren't named by a number.
const (
	latest   = "$Latest"
	byNumber = "$"
)

// version is a version of a launch template.
type version struct {
	ID     string // of the template
	Number string
	Image  string // the id of its image
	said   string // its description
}

// reference is how a group names it.
func (v version) reference() *types.LaunchTemplateSpecification {
	return &types.LaunchTemplateSpecification{LaunchTemplateId: &v.ID, Version: &v.Number}
}

// mark begins the descriptions of the versions that a stage makes, by which they
// are known again.
func mark(w task.Work) string {
	sum := sha256.Sum256([]byte(w.Execution + "\x00" + w.Stage))
	return "slipway " + hex.EncodeToString(sum[:10]) + " "
}

// marked says whether the stage has made a version.
func marked(v version, w task.Work) bool { return strings.HasPrefix(v.said, mark(w)) }

// digest tells templates apart.
func digest(d *ec2types.RequestLaunchTemplateData) (string, error) {
	doc, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("encode the launch template: %w", err)
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:16]), nil
}

// newVersion makes a version of the launch template of a group, with all that it
// says: nothing is taken over of an earlier one. A step that is done again finds the
// one that it has made.
func (s *session) newVersion(ctx context.Context, w *wanted) (version, error) {
	content, err := digest(w.template.LaunchTemplateData)
	if err != nil {
		return version{}, err
	}
	said := mark(s.work) + content
	was, err := s.newest(ctx, w.name)
	if err != nil {
		return version{}, err
	}
	switch {
	case was == nil:
		return s.newTemplate(ctx, w, said)
	case was.said == said:
		s.Say("Version %s of launchTemplate %s is there already", was.Number, w.name)
		return *was, nil
	}
	out, err := s.machines.CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &was.ID, LaunchTemplateData: w.template.LaunchTemplateData, VersionDescription: &said,
		ClientToken: sdk.String(aws.Token(s.task, "launch template "+w.name)),
	})
	if err != nil {
		return version{}, s.Failed(ctx, "ec2:CreateLaunchTemplateVersion", err)
	}
	s.doubted(out.Warning)
	v := versionOf(*out.LaunchTemplateVersion)
	v.Image, v.said = sdk.ToString(w.template.LaunchTemplateData.ImageId), said
	s.Say("Created new version for launchTemplate %s: %s", w.name, v.Number)
	return v, nil
}

// newTemplate makes the launch template of a group.
func (s *session) newTemplate(ctx context.Context, w *wanted, said string) (version, error) {
	in := *w.template
	in.LaunchTemplateName, in.VersionDescription = &w.name, &said
	in.ClientToken = sdk.String(aws.Token(s.task, "launch template "+w.name))
	in.TagSpecifications = tagged(in.TagSpecifications, s.Accesses.Tags(s.work))
	out, err := s.machines.CreateLaunchTemplate(ctx, &in)
	if err != nil {
		return version{}, s.Failed(ctx, "ec2:CreateLaunchTemplate", err)
	}
	s.Say("Created launchTemplate %s", w.name)
	s.doubted(out.Warning)
	return version{
		ID: sdk.ToString(out.LaunchTemplate.LaunchTemplateId), Number: number(out.LaunchTemplate.LatestVersionNumber),
		Image: sdk.ToString(w.template.LaunchTemplateData.ImageId), said: said,
	}, nil
}

// doubted warns of what EC2 takes in a template although no machine will start by it.
func (s *session) doubted(w *ec2types.ValidationWarning) {
	if w == nil {
		return
	}
	for _, e := range w.Errors {
		s.Warn("EC2 says of the launch template: %s: %s", sdk.ToString(e.Code), sdk.ToString(e.Message))
	}
}

// tagged are the tags of what a call makes with more for the template itself, which
// give way to those that are there.
func tagged(specs []ec2types.TagSpecification, more map[string]string) []ec2types.TagSpecification {
	out := slices.Clone(specs)
	if len(more) == 0 {
		return out
	}
	i := slices.IndexFunc(out, func(t ec2types.TagSpecification) bool { return t.ResourceType == ec2types.ResourceTypeLaunchTemplate })
	if i < 0 {
		i, out = len(out), append(out, ec2types.TagSpecification{ResourceType: ec2types.ResourceTypeLaunchTemplate})
	}
	tags := slices.Clone(out[i].Tags)
	for _, key := range slices.Sorted(maps.Keys(more)) {
		if more[key] != "" && !slices.ContainsFunc(tags, func(t ec2types.Tag) bool { return sdk.ToString(t.Key) == key }) {
			tags = append(tags, ec2types.Tag{Key: sdk.String(key), Value: sdk.String(more[key])})
		}
	}
	out[i].Tags = tags
	return out
}

func number(n *int64) string { return strconv.FormatInt(sdk.ToInt64(n), 10) }

func versionOf(v ec2types.LaunchTemplateVersion) version {
	out := version{ID: sdk.ToString(v.LaunchTemplateId), Number: number(v.VersionNumber), said: sdk.ToString(v.VersionDescription)}
	if v.LaunchTemplateData != nil {
		out.Image = sdk.ToString(v.LaunchTemplateData.ImageId)
	}
	return out
}

// newest is the newest version of the template of a name; nil: there is none.
func (a account) newest(ctx context.Context, name string) (*version, error) {
	v, err := a.version(ctx, &types.LaunchTemplateSpecification{LaunchTemplateName: &name, Version: sdk.String(latest)})
	if err != nil || v == nil {
		return nil, err
	}
	found := versionOf(*v)
	return &found, nil
}

// version is the one that a group names; nil: there is none.
func (a account) version(ctx context.Context, named *types.LaunchTemplateSpecification) (*ec2types.LaunchTemplateVersion, error) {
	all, err := a.versions(ctx, named, []string{versionNamed(named)})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// versionNamed is the version that a group names. Where it names none, it is the
// default one.
func versionNamed(named *types.LaunchTemplateSpecification) string {
	if v := sdk.ToString(named.Version); v != "" {
		return v
	}
	return "$Default"
}

// versions are some of a template; none where one of them isn't there.
func (a account) versions(ctx context.Context, of *types.LaunchTemplateSpecification, numbers []string) ([]ec2types.LaunchTemplateVersion, error) {
	in := &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: of.LaunchTemplateId, Versions: numbers}
	if of.LaunchTemplateId == nil {
		in.LaunchTemplateName = of.LaunchTemplateName
	}
	out, err := a.machines.DescribeLaunchTemplateVersions(ctx, in)
	switch {
	case noTemplate(err):
		return nil, nil
	case err != nil:
		return nil, a.Failed(ctx, "ec2:DescribeLaunchTemplateVersions", err)
	}
	return out.LaunchTemplateVersions, nil
}

// noTemplate says whether EC2 knows no such template or version.
func noTemplate(err error) bool {
	return aws.Is(err, "InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound", "InvalidLaunchTemplateId.NotFoundException",
		"InvalidLaunchTemplateId.VersionNotFound")
}

// deleteTemplate deletes the launch template of a name. None isn't wrong.
func (s *session) deleteTemplate(ctx context.Context, name string) error {
	_, err := s.machines.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: &name})
	if err != nil && !noTemplate(err) {
		return s.Failed(ctx, "ec2:DeleteLaunchTemplate", err)
	}
	if err == nil {
		s.Say("Deleted launchTemplate %s", name)
	}
	return nil
}

// symbolic says whether a version is one that changes what it means.
func symbolic(v string) bool { return v == "" || strings.HasPrefix(v, byNumber) }
