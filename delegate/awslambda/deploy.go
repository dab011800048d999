package awslambda

import (
	"context"
	"maps"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/task"
)

// published is a version of a function.
type published struct {
	version, arn, function, sha string
}

func publishedAs(version, arn, sha *string) published {
	v := published{version: sdk.ToString(version), arn: sdk.ToString(arn), sha: sdk.ToString(sha)}
	v.function = strings.TrimSuffix(v.arn, ":"+v.version)
	return v
}

// deploy makes or updates the function and publishes a version of it. Its aliases
// point to that, unless it is a canary.
func (s *session) deploy(ctx context.Context) (task.Result, error) {
	d, err := s.read(ctx)
	if err != nil {
		return task.Result{}, err
	}
	canary := s.spec.Op == lane.OpCanary
	if canary && len(d.aliases) == 0 {
		d.aliases = []*lambda.CreateAliasInput{{Name: sdk.String(defaultAlias)}}
		s.Say("There is no manifest of an alias: the canary's is %s", defaultAlias)
	}
	c, err := s.artifact(ctx)
	if err != nil {
		return task.Result{}, err
	}
	s.Unit = unitPrepare
	now, err := s.look(ctx, d.name)
	if err != nil {
		return task.Result{}, err
	}
	if err := suits(d.name, now, c); err != nil {
		return task.Result{}, err
	}
	was, err := s.prepare(ctx, d, now)
	if err != nil {
		return task.Result{}, err
	}
	s.Unit = unitDeploy
	s.note(d.ignored(c.image != "", !now.first))
	v, err := s.publish(ctx, d, c, now)
	if err != nil {
		return task.Result{}, err
	}
	s.Say("Published new version: [%s]", v.version)
	if err := s.keep(ctx, release{Function: d.name, Version: v.version, Aliases: d.named(), Canary: canary}); err != nil {
		return task.Result{}, err
	}
	if canary {
		err = s.canaryAliases(ctx, d, was, v.version)
	} else {
		err = s.pointAliases(ctx, d, v.version)
	}
	if err != nil {
		return task.Result{}, err
	}
	return s.result(ctx, d.name, d.named(), v.version, "applied", map[string]any{
		"functionName": short(d.name), "version": v.version, "functionArn": v.function, "versionArn": v.arn, "codeSha256": v.sha,
		"previousVersion": was.Version, "aliases": d.named(),
	})
}

// maxDescription is how long Lambda lets a version's description be.
const maxDescription = 256

// description marks a version that this step publishes, so that it is known again
// when the step is done twice.
func (s *session) description(artifact string) string {
	text := []rune("slipway " + s.work.Execution + " " + s.work.Step + ": " + artifact)
	return string(text[:min(len(text), maxDescription)])
}

// artifactOf is the artifact of a version by its description; empty if another
// has published it.
func artifactOf(description *string) string {
	text := sdk.ToString(description)
	if !strings.HasPrefix(text, "slipway ") {
		return ""
	}
	_, artifact, _ := strings.Cut(text, ": ")
	return artifact
}

// publish gives the function its code and its configuration, and publishes a
// version. One that this step has published already is taken as it is.
func (s *session) publish(ctx context.Context, d definition, c code, now found) (published, error) {
	if last := now.newest; last != nil && sdk.ToString(last.Description) == s.description(c.name) {
		s.Say("Version %s was published by this step already", sdk.ToString(last.Version))
		return publishedAs(last.Version, last.FunctionArn, last.CodeSha256), nil
	}
	made := now.first
	if made {
		there, err := s.create(ctx, d, c)
		if err != nil {
			return published{}, err
		}
		made = !there
	}
	if !made {
		if err := s.update(ctx, d, c, now.tags); err != nil {
			return published{}, err
		}
	}
	return s.publishVersion(ctx, d.name, s.description(c.name))
}

// create makes the function; there says that it has come meanwhile.
func (s *session) create(ctx context.Context, d definition, c code) (there bool, err error) {
	s.Say("Creating function %s", d.name)
	_, err = s.client.CreateFunction(ctx, d.create(c, s.tags(d)))
	if unread(err) {
		s.Say("Lambda can't read the object itself: the delegate sends it")
		if c, err = c.sent(ctx); err != nil {
			return false, err
		}
		_, err = s.client.CreateFunction(ctx, d.create(c, s.tags(d)))
	}
	if aws.Is(err, "ResourceConflictException") { // the answer of an earlier try was lost
		return true, nil
	}
	if err != nil {
		return false, s.full(ctx, d.name, advised(s.failed(ctx, "CreateFunction", err)))
	}
	_, err = s.settled(ctx, d.name, "", true)
	return false, err
}

// update changes the function that is there: its code, its configuration, then its
// tags, of which it has some.
func (s *session) update(ctx context.Context, d definition, c code, tagged map[string]string) error {
	s.Say("Updating the code of function %s", d.name)
	if err := s.updateCode(ctx, d.name, d.Architectures, c); err != nil {
		return err
	}
	s.Say("Updating the configuration of function %s", d.name)
	in := d.update(c)
	now, err := s.change(ctx, "UpdateFunctionConfiguration", d.name, func(revision *string) error {
		in.RevisionId = revision
		_, err := s.client.UpdateFunctionConfiguration(ctx, in)
		return err
	})
	if err != nil {
		return err
	}
	tags := s.tags(d)
	return s.retag(ctx, now.FunctionArn, tagged, tags, aws.Dropped(tagged, tags))
}

// retag gives a function tags, as far as it hasn't them, and takes others away.
func (s *session) retag(ctx context.Context, function *string, now, tags map[string]string, less []string) error {
	// Those that go, go first: a function has fifty at most.
	if len(less) > 0 {
		if _, err := s.client.UntagResource(ctx, &lambda.UntagResourceInput{Resource: function, TagKeys: less}); err != nil {
			return s.failed(ctx, "UntagResource", err)
		}
	}
	more := maps.Clone(tags)
	maps.DeleteFunc(more, func(key, value string) bool { had, there := now[key]; return there && had == value })
	if len(more) > 0 {
		if _, err := s.client.TagResource(ctx, &lambda.TagResourceInput{Resource: function, Tags: more}); err != nil {
			return s.failed(ctx, "TagResource", err)
		}
	}
	return nil
}

// updateCode changes the code of $LATEST.
func (s *session) updateCode(ctx context.Context, name string, architectures []types.Architecture, c code) error {
	_, err := s.change(ctx, "UpdateFunctionCode", name, func(revision *string) error {
		in := c.update(name, architectures)
		in.RevisionId = revision
		_, err := s.client.UpdateFunctionCode(ctx, in)
		if unread(err) && c.read != nil {
			s.Say("Lambda can't read the object itself: the delegate sends it")
			if c, err = c.sent(ctx); err != nil {
				return err
			}
			in = c.update(name, architectures)
			in.RevisionId = revision
			_, err = s.client.UpdateFunctionCode(ctx, in)
		}
		return err
	})
	if err != nil {
		return advised(err)
	}
	return nil
}

// publishVersion publishes $LATEST as it is.
func (s *session) publishVersion(ctx context.Context, name, description string) (published, error) {
	var out *lambda.PublishVersionOutput
	_, err := s.change(ctx, "PublishVersion", name, func(revision *string) error {
		var err error
		out, err = s.client.PublishVersion(ctx, &lambda.PublishVersionInput{FunctionName: &name, Description: &description, RevisionId: revision})
		return err
	})
	if err != nil {
		return published{}, err
	}
	v := publishedAs(out.Version, out.FunctionArn, out.CodeSha256)
	_, err = s.settled(ctx, name, v.version, true)
	return v, err
}
