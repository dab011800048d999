package awsstack

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/awsdiff"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// Wanted is what a tool would deploy a stack from.
type Wanted struct {
	Stack    string
	Template string
	File     string // where the template is
	// Parameters are those that the tool is given.
	Parameters map[string]string
	// Beside says that others are compared, too: what would change is named by the stack.
	Beside bool
}

// Compare tells how a stack would change that a tool deploys, by the templates alone,
// and asks only for what there is. Code isn't compared where the tool has yet to put
// it somewhere.
func (s Stacks) Compare(ctx context.Context, w Wanted, to executor.Section) (awsdiff.Outputs, error) {
	var diff awsdiff.Diff
	if err := s.Tell(ctx, &diff, w, to); err != nil {
		return awsdiff.Outputs{}, err
	}
	if diff.Empty() {
		to.Say("Nothing would change, as far as the template says")
	}
	return diff.Outputs(to.Say), nil
}

// Tell is Compare for one of several stacks, and notes how it would change.
func (s Stacks) Tell(ctx context.Context, diff *awsdiff.Diff, w Wanted, to executor.Section) error {
	wanted, err := parse(w.Template)
	if err != nil {
		return fault.Wrap(err, "%s", w.File)
	}
	now, err := s.Look(ctx, w.Stack)
	if err != nil {
		return err
	}
	there := map[string]any{}
	switch {
	case now == nil || slices.Contains([]types.StackStatus{types.StackStatusReviewInProgress, types.StackStatusRollbackComplete}, now.StackStatus):
		to.Say("Stack %s isn't there, or holds nothing: it would be made", w.Stack)
		now = nil
	case Changing(now.StackStatus):
		return fault.New(fault.Conflict, "stack %s is %s: how it would change isn't known before that has ended", w.Stack, now.StackStatus).Causing(fault.Unknown)
	default:
		out, err := s.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: now.StackId, TemplateStage: types.TemplateStageOriginal})
		if err != nil {
			return s.Failed(ctx, "GetTemplate", err)
		}
		if there, err = parse(sdk.ToString(out.TemplateBody)); err != nil {
			return fmt.Errorf("stack %s: %w", w.Stack, err)
		}
	}
	c := comparison{diff: diff, hides: to.Env.Hidden, say: to.Say}
	if w.Beside {
		c.within = w.Stack + "/"
	}
	if err := c.sections(there, wanted); err != nil {
		return err
	}
	return c.parameters(now, w.Parameters)
}

// comparison notes how parts of templates differ.
type comparison struct {
	diff   *awsdiff.Diff
	within string                 // before the name of each part
	hides  func(text string) bool // it holds a secret
	say    func(format string, values ...any)
}

func (c *comparison) add(name string, was, is any) error {
	name = c.within + name
	hunks, err := c.diff.Tell(name, c.beside(was, is, false), settled(is))
	if hunks != "" {
		c.say("%s\n%s", name, hunks)
	}
	return err
}

// sections compares two templates, part by part.
func (c *comparison) sections(was, is map[string]any) error {
	for _, section := range keys(was, is) {
		before, old := was[section].(map[string]any)
		after, anew := is[section].(map[string]any)
		if !old && !anew {
			if err := c.add(section, was[section], is[section]); err != nil {
				return err
			}
			continue
		}
		for _, name := range keys(before, after) {
			if err := c.add(named(section, name, before[name], after[name]), before[name], after[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// named is how a part of a template is called: a resource by its type.
func named(section, name string, was, is any) string {
	for _, v := range []any{is, was} {
		if of, ok := v.(map[string]any); ok && section == "Resources" {
			if typ, ok := of["Type"].(string); ok {
				return typ + "/" + name
			}
		}
	}
	return section + "/" + name
}

// parameters compares those that are given; the others stay as they are.
func (c *comparison) parameters(now *types.Stack, wanted map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		var was any
		if now != nil {
			for _, p := range now.Parameters {
				if sdk.ToString(p.ParameterKey) == key {
					was = sdk.ToString(p.ParameterValue)
				}
			}
		}
		if was == hidden {
			c.say("The value of the parameter %s is hidden by CloudFormation, and isn't compared", key)
			continue
		}
		if err := c.add("Parameter value/"+key, was, wanted[key]); err != nil {
			return err
		}
	}
	return nil
}

// hidden is what CloudFormation says in place of a value that isn't to be read.
const hidden = "****"

// keys are those of two mappings.
func keys(a, b map[string]any) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// beside is what there is, as it is compared with what is wanted: without what tools
// add, with the places of code as they are wanted, and without the earlier values of
// environment variables and of what is a secret now.
func (c *comparison) beside(was, is any, environment bool) any {
	switch was := was.(type) {
	case map[string]any:
		other, _ := is.(map[string]any)
		out := map[string]any{}
		for key, v := range was {
			after, wanted := other[key]
			switch {
			case !wanted && (uploaded(v) || key == "SamResourceId"):
			case uploaded(v) && local(after):
				out[key] = settled(after)
			default:
				out[key] = c.beside(v, after, environment || strings.HasPrefix(key, "Environment"))
			}
		}
		if metadata, ok := out["Metadata"].(map[string]any); ok && len(metadata) == 0 && other["Metadata"] == nil {
			delete(out, "Metadata")
		}
		return out
	case []any:
		other, _ := is.([]any)
		out := make([]any, len(was))
		for i, v := range was {
			var after any
			if i < len(other) {
				after = other[i]
			}
			out[i] = c.beside(v, after, environment)
		}
		return out
	}
	before, after := settled(was), settled(is)
	if text, ok := after.(string); before != nil && !reflect.DeepEqual(before, after) && (environment || ok && c.hides(text)) {
		return awsdiff.Unshown
	}
	return before
}

// uploaded says whether a value is where a tool has put something.
func uploaded(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(v, "s3://") || strings.HasPrefix(v, "https://s3.") || strings.Contains(v, ".dkr.ecr.")
	case map[string]any:
		for _, place := range [][2]string{{"S3Bucket", "S3Key"}, {"Bucket", "Key"}} {
			_, bucket := v[place[0]].(string)
			_, key := v[place[1]].(string)
			if bucket && key {
				return true
			}
		}
		image, _ := v["ImageUri"].(string)
		return uploaded(image) && len(v) == 1
	}
	return false
}

// local says whether a value is a path from which a tool takes what it puts somewhere.
func local(v any) bool {
	text, ok := v.(string)
	return ok && !strings.Contains(text, "://") && !strings.Contains(text, ".dkr.ecr.")
}

// deployment is the folder that serverless makes of each deployment.
var deployment = regexp.MustCompile(`/\d{12,14}-\d{4}-\d\d-\d\dT[\d:.]+Z/`)

// settled is a value without what differs with each deployment.
func settled(v any) any {
	switch v := v.(type) {
	case string:
		return deployment.ReplaceAllString(v, "/(the deployment)/")
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = settled(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[key] = settled(v[key])
		}
		return out
	}
	return v
}
