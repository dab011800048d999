package gitops

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// updateReleaseRepoType is the step type GitOpsUpdateReleaseRepo: values are written
// into the files of the service's ReleaseRepo, on a branch with a pull request
// (semantics/gitops §17).
//
// Outputs: updateReleaseRepoOutcome.commitId, .pullRequest.number, .pullRequest.url,
// .branch and .files. The work is done by delegate/gitops/release.
func updateReleaseRepoType() step.Type {
	return step.Type{Name: string(errand.OpUpdate), Service: true, Looks: true, New: decodeUpdate, Finish: step.Finisher((*update).finish)}
}

// update is the step's spec.
type update struct {
	Variables        []variable
	Title            yamldoc.Field[string]
	AllowEmptyCommit yamldoc.Field[bool]
	AllowNoChange    yamldoc.Field[bool]
	IgnoreValues     yamldoc.Field[bool]
	IgnoreFiles      yamldoc.Field[bool]
	Skip             yamldoc.Field[bool] // skipPipelineVariables
	Wait             yamldoc.Field[bool]
}

// usualTitle is that of a pull request that says none.
const usualTitle = "Harness: Updating config overrides"

// unrestrained says why pull requests of one repository don't wait for each other.
const unrestrained = "each release has a branch of its own, so they don't wait for each other"

// valuePath is where a value stands in a file: names with dots between, and items of
// lists by their numbers.
var valuePath = regexp.MustCompile(`^[a-zA-Z_][0-9a-zA-Z_.\[\]$\\-]{0,127}$`)

func decodeUpdate(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &update{}
	d.Fields(v, document.Keys{
		"stringMap":             d.Refuse("values are written as variables; a map of them (stringMap) isn't supported"),
		"variables":             func(v yamldoc.Value) { s.variables(d, v) },
		"prTitle":               d.Text(&s.Title),
		"allowEmptyCommit":      d.Flag(&s.AllowEmptyCommit),
		"allowNoFilesChanged":   d.Flag(&s.AllowNoChange),
		"disableGitRestraint":   d.Idle(unrestrained, d.Flag(nil)),
		"ignoreMissingValues":   d.Flag(&s.IgnoreValues),
		"ignoreMissingFiles":    d.Flag(&s.IgnoreFiles),
		"skipPipelineVariables": d.Flag(&s.Skip),
		"waitForMerge":          d.Flag(&s.Wait),
		"delegateSelectors":     d.Words(nil), // the plan's
	})
	return s
}

// variable is a value that the step itself says.
type variable struct {
	name, typ, value yamldoc.Field[string]
}

func (s *update) variables(d *document.Decoder, v yamldoc.Value) {
	seen := document.Seen{}
	for item := range d.Items(v) {
		var one variable
		d.Fields(item, document.Keys{
			"name":        d.Text(&one.name),
			"type":        d.Word(&one.typ, step.TypeString, step.TypeNumber, step.TypeSecret),
			"value":       d.Text(&one.value),
			"default":     document.Nothing, // the console's, as are those below
			"description": document.Nothing,
			"required":    document.Nothing,
			"identifier":  document.Nothing,
			"metadata":    document.Nothing,
		})
		d.Need(item, "name")
		name := document.Child(item, "name")
		d.Without(document.Child(item, "type"), step.TypeSecret, one.typ.Value == step.TypeSecret, "a secret isn't committed to a repository; keep it where the application reads it")
		if text := one.name.Value; text != "" && !valuePath.MatchString(text) {
			d.Errorf(name, document.BadName, "found %q; want where the value stands in a file, such as image.tag or containers[0].image", text)
		}
		d.Unique(seen, name, one.name.Value)
		s.Variables = append(s.Variables, one)
	}
}

// Start has a delegate change the files.
func (s *update) Start(in step.In) (step.Action, error) {
	t, _, err := stage(in)
	if err != nil {
		return step.Action{}, err
	}
	u := &errand.Update{
		AllowEmptyCommit: s.AllowEmptyCommit.Value, AllowNoChange: s.AllowNoChange.Value, IgnoreMissing: s.IgnoreValues.Value,
		IgnoreFiles: s.IgnoreFiles.Value, Wait: s.Wait.Value,
	}
	if t.Repo != nil {
		u.Files = t.Repo.Files
	}
	if u.Values, u.Hidden, err = s.values(in); err != nil {
		return step.Action{}, err
	}
	title := step.Text(s.Title)
	if title == "" {
		title = usualTitle
	}
	return release(in, errand.Release{Op: errand.OpUpdate, Title: title, Branch: branch(in), Node: string(in.Node), Update: u})
}

// values are what is written: the variables of the service as its layers have them,
// and those of the step above them. An empty one leaves what there is, and so takes
// away one below it.
func (s *update) values(in step.In) (values []errand.Value, hidden []string, err error) {
	all := map[string]errand.Value{}
	if !s.Skip.Value {
		if hidden, err = inherited(in, all); err != nil {
			return nil, nil, err
		}
	}
	for _, one := range s.Variables {
		name := step.Text(one.name)
		if !valuePath.MatchString(name) {
			return nil, nil, fault.New(fault.Invalid, "a variable is called %q; want where its value stands in a file", name)
		}
		all[name] = errand.Value{Path: name, Value: step.Text(one.value), Number: one.typ.Value == step.TypeNumber}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Value != "" {
			values = append(values, all[name])
		}
	}
	return values, hidden, nil
}

// inherited are the variables of the stage's service. Those that are secret are
// left out.
func inherited(in step.In, all map[string]errand.Value) (hidden []string, err error) {
	found, err := in.Evaluate("serviceVariables", nil)
	if err != nil {
		return nil, fault.Wrap(err, "the variables of service %s", in.Deployment.ServiceID)
	}
	for _, name := range found.Keys() {
		v, _ := found.Field(name)
		if v.Secret() {
			hidden = append(hidden, name)
			continue
		}
		if v.IsNull() {
			continue
		}
		_, whole := v.Int()
		_, real := v.Float()
		all[name] = errand.Value{Path: name, Value: v.Text(), Number: whole || real}
	}
	slices.Sort(hidden)
	return hidden, nil
}

// finish says in the step's message which pull request there is.
func (s *update) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	return told(r, func(out errand.Released) string {
		switch {
		case out.Update == nil:
			return ""
		case out.Update.PullRequest == nil:
			return "no file changes, so there is no pull request"
		}
		return fmt.Sprintf("pull request %d of %d files: %s", out.Update.PullRequest.Number, len(out.Update.Files), out.Update.PullRequest.URL)
	})
}

// told is the outcome of a task in a release repository, with words about it.
func told(r task.Result, words func(errand.Released) string) (plan.Outcome, error) {
	o := step.Outcome(r)
	if o.Status != plan.Success {
		return o, nil
	}
	var out errand.Released
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		return plan.Outcome{}, fmt.Errorf("decode what a task did in a release repository: %w", err)
	}
	o.Message = words(out)
	return o, nil
}

// branch is the name of the branch that a step makes: the same each time that it is
// begun.
func branch(in step.In) string {
	sum := sha256.Sum256([]byte(in.Execution + "\x00" + string(in.Node)))
	return "slipway/" + in.Pipeline + "-" + hex.EncodeToString(sum[:5])
}
