// Package lint finds what is wrong with a pipeline that decodes well, but
// that no run could finish: expressions that name what will never be there.
//
// It says only what is certain. Names whose value depends on a service, an
// input, a template or an outcome pass; pkg/resolve decides about them when
// they are needed. Keys and the syntax of expressions are pkg/entity's.
//
// What a name can mean comes from the typed pipeline. Where names stand is
// looked for in the document itself: they may stand in any text of one.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Unresolvable is the code of a finding about a name that never has a value.
const Unresolvable = "UNRESOLVABLE_EXPRESSION"

// Names reports the expressions of a pipeline that name no variable, stage or
// step that the pipeline has. Where a run
// would fail it is an error. It is a warning in a condition, where such a name
// is null, and in a message or a description, where it fails nothing
// (semantics/pipeline §3.5).
func Names(pipeline *entity.Pipeline, r *yamldoc.Report) {
	if pipeline.Linked {
		return // the template says what there is
	}
	c := &checker{report: r, pipeline: outline(pipeline)}
	c.walk(yamldoc.Sub(pipeline.Doc, ""), nil, false)
	c.exports()
}

// checker walks a pipeline's document.
type checker struct {
	report   *yamldoc.Report
	pipeline parts
}

// walk checks the scalars below a value, which stand in a stage or in none;
// harmless says that a name without a value fails nothing there.
func (c *checker) walk(v yamldoc.Value, in *stage, harmless bool) {
	switch {
	case v.Is(yamldoc.Mapping):
		for _, e := range v.Node.Entries {
			path := e.Key
			if v.Path != "" {
				path = v.Path + "." + e.Key
			}
			inner := in
			if s, ok := c.pipeline.byNode[e.Value]; ok {
				inner = s
			}
			if e.Key == "outputs" && in != nil && in.chains && strings.HasSuffix(v.Path, ".stage.spec") {
				continue // the names are those of the other pipeline
			}
			c.walk(yamldoc.Sub(e.Value, path), inner, harmless || forgiving(e.Key))
		}
	case v.Is(yamldoc.Sequence):
		for i, item := range v.Node.Items {
			c.walk(yamldoc.Sub(item, fmt.Sprintf("%s[%d]", v.Path, i)), in, harmless)
		}
	case v.Is(yamldoc.Scalar) && strings.Contains(v.Node.Value, "<+") && !expr.IsRuntimeInput(v.Node.Value):
		c.scalar(v, in, harmless)
	}
}

// forgiving says of a key that names without a value are no error below it.
func forgiving(key string) bool {
	return slices.Contains([]string{"description", "when", "condition", "approvalMessage", "notificationRules"}, key)
}

func (c *checker) scalar(v yamldoc.Value, in *stage, harmless bool) {
	for _, path := range expr.References(v.Node.Value) {
		if why := c.reason(path, in); why != "" {
			c.found(v, harmless, strings.Join(path, "."), why)
		}
	}
	for _, why := range c.exported(v.Node.Value, in) {
		c.found(v, harmless, "exportedVariables.getValue(..)", why)
	}
}

func (c *checker) found(v yamldoc.Value, harmless bool, name, why string) {
	if harmless {
		c.report.Warnf(v, Unresolvable, "<+%s> never has a value: %s", name, why)
		return
	}
	c.report.Errorf(v, Unresolvable, "<+%s> can never be resolved: %s", name, why)
}

// reason says why a path can't be resolved; empty if it may be.
func (c *checker) reason(path []string, in *stage) string {
	root, rest := path[0], path[1:]
	switch root {
	case "pipeline":
		return c.inPipeline(rest)
	case "stages":
		return c.stages(rest)
	case "stage":
		if in == nil {
			return "it stands outside of a stage"
		}
		return c.inStage(in, rest)
	case "execution", "steps":
		if in == nil {
			return "it stands outside of a stage"
		}
		return c.steps(in, path)
	}
	switch {
	case root == "provisioner" && in != nil && !in.open && in.makes == no && !c.pipeline.hasNode(root):
		return fmt.Sprintf("the environment of the stage %s has no provisioner", in.id)
	case resolve.Deploys(root):
		if in != nil && in.deploys == no {
			return fmt.Sprintf("the stage %s deploys nothing", in.id)
		}
	case !slices.Contains(resolve.Roots(), root) && !c.pipeline.open && !c.pipeline.hasNode(root):
		return fmt.Sprintf("there is no %q%s", root, c.report.Hint(root, resolve.Roots()))
	}
	return ""
}

func (c *checker) inPipeline(rest []string) string {
	switch {
	case len(rest) < 2:
	case rest[0] == "variables":
		return c.variable("the pipeline", c.pipeline.variables, rest[1:])
	case rest[0] == "stages":
		return c.stages(rest[1:])
	}
	return ""
}

func (c *checker) stages(rest []string) string {
	if len(rest) == 0 || c.pipeline.open {
		return ""
	}
	s := c.pipeline.byID[rest[0]]
	if s == nil {
		if c.pipeline.loops.copied(rest[0]) {
			return ""
		}
		return fmt.Sprintf("the pipeline has no stage %q%s", rest[0], c.report.Hint(rest[0], c.pipeline.ids.list))
	}
	return c.inStage(s, rest[1:])
}

func (c *checker) inStage(s *stage, rest []string) string {
	switch {
	case s.open || len(rest) < 2:
	case rest[0] == "variables":
		return c.variable("the stage "+s.id, s.variables, rest[1:])
	case rest[0] == "spec" && rest[1] == "execution":
		return c.steps(s, rest[1:])
	}
	return ""
}

// steps checks each step that a path in a stage's execution names.
func (c *checker) steps(s *stage, path []string) string {
	for i, key := range path[:len(path)-1] {
		if id := path[i+1]; (key == "steps" || key == "rollbackSteps") && !s.open && !s.has(id) {
			return fmt.Sprintf("the stage %s has no step %q%s", s.id, id, c.report.Hint(id, s.steps.list))
		}
		if !slices.Contains([]string{"execution", "steps", "rollbackSteps"}, key) && !s.has(key) {
			break // below a step: its spec and its outputs are its own
		}
	}
	return ""
}

// variable checks a variable's name, which may have dots in it.
func (c *checker) variable(whose string, names nameset, rest []string) string {
	if names.begins(rest) {
		return ""
	}
	return fmt.Sprintf("%s has no variable %q%s", whose, rest[0], c.report.Hint(rest[0], names.list))
}
