package launch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// choose gives a pipeline's document with the named stages only, in the
// pipeline's order (semantics/pipeline §8.5). No names: all of it.
func choose(doc *yamldoc.Node, stages []string, pipeline string) (*yamldoc.Node, error) {
	if len(stages) == 0 {
		return doc, nil
	}
	if allowed := doc.Get("allowStageExecutions"); allowed == nil || !strings.EqualFold(allowed.Value, "true") {
		return nil, fault.New(fault.Invalid, "stage executions are not allowed for pipeline [%s]; its allowStageExecutions must be true", pipeline)
	}
	missing := slices.Clone(stages)
	out := *doc
	out.Entries = slices.Clone(doc.Entries)
	for i, e := range out.Entries {
		if e.Key == "stages" && e.Value != nil {
			out.Entries[i].Value = chosen(e.Value, stages, &missing)
		}
	}
	if len(missing) > 0 {
		return nil, fault.New(fault.NotFound, "pipeline %s has no stage %s", pipeline, strings.Join(missing, ", "))
	}
	return &out, whole(out.Get("stages"), stages)
}

// whole checks that the stages have what they take from others
// (semantics/entities §5.1).
func whole(list *yamldoc.Node, stages []string) error {
	for _, item := range list.Items {
		if inner := cmp.Or(item.Get("parallel"), item.At("insert", "stages")); inner != nil {
			if err := whole(inner, stages); err != nil {
				return err
			}
			continue
		}
		stage := item.Get("stage")
		for _, what := range []string{"service", "services", "environment"} {
			from := stage.At("spec", what, "useFromStage").Text("stage")
			if from != "" && !slices.Contains(stages, from) {
				return fault.New(fault.Invalid, "stage %s takes its %s from stage %s; run both", stage.Text("identifier"), what, from)
			}
		}
	}
	return nil
}

// chosen is a list of stages with the named ones only. It takes what it finds
// off the missing ones.
func chosen(list *yamldoc.Node, stages []string, missing *[]string) *yamldoc.Node {
	out := *list
	out.Items = nil
	for _, item := range list.Items {
		if p := item.Get("parallel"); p != nil {
			if members := chosen(p, stages, missing); len(members.Items) > 0 {
				out.Items = append(out.Items, item.With("parallel", members))
			}
			continue
		}
		if insert := item.Get("insert"); insert.Get("stages") != nil {
			if members := chosen(insert.Get("stages"), stages, missing); len(members.Items) > 0 {
				out.Items = append(out.Items, item.With("insert", insert.With("stages", members)))
			}
			continue
		}
		id := item.Get("stage").Text("identifier")
		if slices.Contains(stages, id) {
			out.Items = append(out.Items, item)
			*missing = slices.DeleteFunc(*missing, func(s string) bool { return s == id })
		}
	}
	return &out
}

// valuesOf reads the values of expressions that name stages which don't run,
// by their paths.
func valuesOf(given map[string]string, stages []string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	if len(stages) == 0 {
		return nil, fault.New(fault.Invalid, "expressionValues are for runs of some of the stages")
	}
	out := map[string]string{}
	for name, value := range given {
		path := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(name), "<+"), ">"))
		parts := strings.Split(path, ".")
		if len(parts) < 4 || parts[0] != string(ref.Pipeline) || parts[1] != "stages" || strings.ContainsAny(path, "<>() ") {
			return nil, fault.New(fault.Invalid, "%q can't be given a value; want an expression such as <+pipeline.stages.build.variables.tag>", name)
		}
		if slices.Contains(stages, parts[2]) {
			return nil, fault.New(fault.Invalid, "stage %s runs; %s gets its value from it", parts[2], name)
		}
		if strings.Contains(value, "<+") {
			return nil, fault.New(fault.Invalid, "the value of %s is an expression; want a fixed value", name)
		}
		out[path] = value
	}
	return out, nil
}
