package cloudformation

import (
	"context"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/awsdoc"
	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

const (
	// maxKept is how large a template may be that is kept of a stack, in bytes.
	maxKept = 512 << 10
	maxTags = 50
)

// made is what a stack is made of. It is kept of what is there, so that it can be
// made so again.
type made struct {
	Stack    string `json:"stack"`
	Region   string `json:"region"`
	Template string `json:"template,omitempty"`
	// URL is where the template is that isn't here, or that is too large to come with
	// a request.
	URL          string      `json:"url,omitempty"`
	Parameters   []parameter `json:"parameters,omitempty"`
	Tags         []tag       `json:"tags"` // nil: the stack keeps those that it has
	Capabilities []string    `json:"capabilities,omitempty"`
	RoleARN      string      `json:"roleArn,omitempty"`
	put          string      // the URL of the template for the time of the task
}

// parameter is a parameter of a template.
type parameter struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	// Kept: its value is the one that the stack has, which isn't known here, or is a
	// secret.
	Kept bool `json:"kept,omitempty"`
}

type tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// wanted is what the step's documents say.
func (s *session) wanted(ctx context.Context) (made, error) {
	c := s.spec.Create
	m := made{Stack: s.spec.Stack, Region: s.access.Region, URL: templateURL(c.URL), Capabilities: c.Capabilities, RoleARN: s.spec.RoleARN}
	from := awsdoc.Source{
		Git: s.cfg.Git, Stage: s.work.Execution + "/" + s.work.Stage, Env: s.Env, Log: s.Env.Log(s.Unit), Accesses: s.cfg.Accesses, Execution: s.work.Execution,
	}
	if c.Template != nil {
		files, err := from.Fetch(ctx, *c.Template)
		if err != nil {
			return m, err
		}
		if len(files) != 1 {
			return m, wrong("the template is one file; found %d", len(files))
		}
		m.Template = files[0].Text
		if err := s.place(ctx, &m); err != nil {
			return m, err
		}
		if s.Env.Hidden(m.Template) {
			s.Say("Warning: the template holds a secret. Who may read the stack's template sees it; a parameter with NoEcho hides it")
		}
	}
	if c.Tags != nil {
		files, err := from.Fetch(ctx, *c.Tags)
		if err != nil {
			return m, err
		}
		if m.Tags, err = tagsOf(files); err != nil {
			return m, err
		}
	}
	files, err := from.Fetch(ctx, c.Parameters...)
	if err != nil {
		return m, err
	}
	given, err := parametersOf(files)
	if err != nil {
		return m, err
	}
	for _, o := range c.Overrides {
		given = with(given, parameter{Name: o.Name, Value: o.Value})
	}
	m.Parameters, err = s.declared(ctx, m, given)
	return m, err
}

// place puts a template where CloudFormation can read it that is too large to come
// with a request, until the task ends.
func (s *session) place(ctx context.Context, m *made) error {
	if len(m.Template) <= awsstack.MaxBody || s.cfg.Bucket == "" && m.URL != "" {
		return nil
	}
	bucket := awsstack.Bucket{Accesses: s.cfg.Accesses, Name: s.cfg.Bucket}
	url, remove, err := bucket.Put(ctx, s.spec.AWS, s.task, m.Template)
	if err != nil {
		return err
	}
	m.put, s.unput = url, remove
	s.Say("The template has %d bytes, and is in the bucket %s until the step ends", len(m.Template), s.cfg.Bucket)
	return nil
}

// clear removes what the task has put into the bucket. What the task came to stays.
func (s *session) clear() {
	if s.unput == nil {
		return
	}
	if err := s.unput(); err != nil {
		s.Say("Warning: the template is still in the bucket %s: %s", s.cfg.Bucket, err)
	}
}

// template gives a call its template.
func (m made) template() (body, url *string) {
	switch {
	case m.put != "":
		return nil, &m.put
	case m.URL != "":
		return nil, &m.URL
	}
	return &m.Template, nil
}

var bucketURL = regexp.MustCompile(`^s3://([^/]+)/(.+)$`)

// templateURL is how CloudFormation takes the URL of an object.
func templateURL(url string) string {
	if at := bucketURL.FindStringSubmatch(url); at != nil {
		return "https://" + at[1] + ".s3.amazonaws.com/" + at[2]
	}
	return url
}

// with sets a parameter, whatever it was.
func with(all []parameter, p parameter) []parameter {
	all = slices.DeleteFunc(all, func(o parameter) bool { return o.Name == p.Name })
	return append(all, p)
}

// parametersOf reads files of parameters, the later of which win: lists of the
// form that AWS's own tools take, or mappings of names to values.
func parametersOf(files []awsdoc.File) ([]parameter, error) {
	var all []parameter
	for _, f := range files {
		docs, err := awsdoc.Documents(f)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			if isParameter(doc) {
				p, _, err := awsdoc.Decode[types.Parameter](f, doc, awsdoc.Rules{What: "parameter"})
				if err != nil {
					return nil, err
				}
				all = with(all, parameter{Name: sdk.ToString(p.ParameterKey), Value: sdk.ToString(p.ParameterValue), Kept: sdk.ToBool(p.UsePreviousValue)})
				continue
			}
			if doc.Kind != yamldoc.Mapping {
				return nil, wrong("%s:%d: found no mapping; want parameters by their names, or a list of {ParameterKey, ParameterValue}", f.Name, doc.Line)
			}
			for _, e := range doc.Entries {
				if e.Value == nil || e.Value.Kind != yamldoc.Scalar {
					return nil, wrong("%s:%d: %s: want a single value; a list of values is a text with commas", f.Name, e.Line, e.Key)
				}
				all = with(all, parameter{Name: e.Key, Value: e.Value.Value})
			}
		}
	}
	return all, nil
}

func isParameter(doc *yamldoc.Node) bool {
	return slices.ContainsFunc(doc.Entries, func(e yamldoc.Entry) bool { return strings.EqualFold(e.Key, "ParameterKey") })
}

func tagsOf(files []awsdoc.File) ([]tag, error) {
	all, _, err := awsdoc.All[types.Tag](files, awsdoc.Rules{What: "list of tags"})
	if err != nil {
		return nil, err
	}
	if len(all) > maxTags {
		return nil, wrong("found %d tags; a stack has at most %d", len(all), maxTags)
	}
	tags := []tag{}
	for _, t := range all {
		if sdk.ToString(t.Key) == "" {
			return nil, wrong("found a tag without a key; want a list of {key, value}")
		}
		tags = append(tags, tag{Key: sdk.ToString(t.Key), Value: sdk.ToString(t.Value)})
	}
	return tags, nil
}

// declared are the parameters that the template has: files may be for several.
func (s *session) declared(ctx context.Context, m made, given []parameter) ([]parameter, error) {
	body, url := m.template()
	out, err := s.stacks.GetTemplateSummary(ctx, &cloudformation.GetTemplateSummaryInput{TemplateBody: body, TemplateURL: url})
	if err != nil {
		return nil, s.stacks.Failed(ctx, "GetTemplateSummary", err)
	}
	var all []parameter
	var missing []string
	for _, d := range out.Parameters {
		name := sdk.ToString(d.ParameterKey)
		i := slices.IndexFunc(given, func(p parameter) bool { return p.Name == name })
		switch {
		case i >= 0:
			all = append(all, given[i])
			given = slices.Delete(given, i, i+1)
		case d.DefaultValue == nil:
			missing = append(missing, name)
		}
	}
	for _, p := range given {
		s.Say("Warning: the template has no parameter %s; it is left out", p.Name)
	}
	if len(missing) > 0 {
		return nil, wrong("the template's parameters %s have no value: no file and no override gives one, and they have no default", strings.Join(missing, ", "))
	}
	return all, nil
}

// parameters are those of a call.
func (m made) parameters() []types.Parameter {
	var out []types.Parameter
	for _, p := range m.Parameters {
		one := types.Parameter{ParameterKey: &p.Name, ParameterValue: &p.Value}
		if p.Kept {
			one = types.Parameter{ParameterKey: &p.Name, UsePreviousValue: sdk.Bool(true)}
		}
		out = append(out, one)
	}
	return out
}

func (m made) tags() []types.Tag {
	if m.Tags == nil {
		return nil
	}
	out := []types.Tag{}
	for _, t := range m.Tags {
		out = append(out, types.Tag{Key: &t.Key, Value: &t.Value})
	}
	return out
}

func (m made) capabilities() []types.Capability {
	var out []types.Capability
	for _, c := range m.Capabilities {
		out = append(out, types.Capability(c))
	}
	return out
}

func (m made) role() *string {
	if m.RoleARN == "" {
		return nil
	}
	return &m.RoleARN
}

// hiddenValue is what CloudFormation shows of a parameter with NoEcho.
const hiddenValue = "****"

// snapshot is what a stack is made of, without secrets. Of a template that is too
// large for a request its URL is kept, too, if it is known, and of one that is
// larger still its URL alone.
func (s *session) snapshot(ctx context.Context, now *types.Stack, url string) (made, error) {
	m := made{Stack: sdk.ToString(now.StackName), Region: s.access.Region, RoleARN: sdk.ToString(now.RoleARN), Tags: []tag{}}
	out, err := s.stacks.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: now.StackId, TemplateStage: types.TemplateStageOriginal})
	if err != nil {
		return m, s.stacks.Failed(ctx, "GetTemplate", err)
	}
	if m.Template = sdk.ToString(out.TemplateBody); len(m.Template) > awsstack.MaxBody {
		m.URL = url
	}
	if len(m.Template) > maxKept {
		m.Template = ""
	}
	for _, p := range now.Parameters {
		value := sdk.ToString(p.ParameterValue)
		kept := value == hiddenValue || s.Env.Hidden(value)
		if kept {
			value = ""
		}
		m.Parameters = append(m.Parameters, parameter{Name: sdk.ToString(p.ParameterKey), Value: value, Kept: kept})
	}
	for _, t := range now.Tags {
		m.Tags = append(m.Tags, tag{Key: sdk.ToString(t.Key), Value: sdk.ToString(t.Value)})
	}
	for _, c := range now.Capabilities {
		m.Capabilities = append(m.Capabilities, string(c))
	}
	return m, nil
}

// again says why a stack can't be made so again in place of what it is now; nil:
// it can.
func (m made) again(now *types.Stack) error {
	if m.Template == "" && m.URL == "" {
		return wrong("the template that stack %s had is too large to be kept, and where it came from isn't known: it can't be put back", m.Stack)
	}
	for _, p := range m.Parameters {
		has := func(o types.Parameter) bool { return sdk.ToString(o.ParameterKey) == p.Name }
		if p.Kept && (now == nil || empty(now.StackStatus) || !slices.ContainsFunc(now.Parameters, has)) {
			return wrong("the parameter %s of stack %s had a value that isn't kept, because it is hidden or a secret, and the stack doesn't have it any more: it can't be put back", p.Name, m.Stack)
		}
	}
	return nil
}
