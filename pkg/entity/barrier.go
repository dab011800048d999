package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// stepBarrier is the type of the steps that wait for each other.
const stepBarrier = "Barrier"

// Barrier is one of a pipeline's flowControl.barriers (pipeline spec §7.1).
type Barrier struct {
	Identifier yamldoc.Field[string]
	Name       yamldoc.Field[string]
}

func (d *decoder) flowControl(p *Pipeline) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.fields(v, keys{"barriers": func(v yamldoc.Value) {
			ids := seen{}
			for item := range d.list(v) {
				var b Barrier
				d.fields(item, keys{
					"identifier": func(v yamldoc.Value) {
						b.Identifier = d.identifier(v, ref.CheckNodeID)
						d.unique(ids, v, b.Identifier.Value)
					},
					"name": d.name(&b.Name),
				})
				d.need(item, "identifier", "name")
				p.Barriers = append(p.Barriers, b)
			}
		}})
	}
}

// checkBarriers checks the Barrier steps of a pipeline against its barriers
// and each other.
func (d *decoder) checkBarriers(p *Pipeline) {
	var names []string
	declared := seen{}
	for _, b := range p.Barriers {
		declared[b.Identifier.Value] = b.Identifier.At
		names = append(names, b.Identifier.Value)
	}
	earlier := map[string][]yamldoc.Value{}
	for _, v := range d.barriers {
		name := v.Node.Value
		if _, ok := declared[name]; !ok {
			d.Errorf(v, badReference, "flowControl.barriers has no barrier %q%s", name, d.Hint(name, names))
			continue
		}
		for _, other := range earlier[name] {
			if why := neverMeet(v.Path, other.Path); why != "" {
				d.Errorf(v, barrierDeadlock, "Barrier Deadlock Detected: %q %s; the other step is in line %d", name, why, other.Node.Line)
				break
			}
		}
		earlier[name] = append(earlier[name], v)
	}
}

// neverMeet says why two steps, given by their paths, can't wait for each
// other (pipeline spec §7.1); empty if they can.
func neverMeet(a, b string) string {
	const back = ".rollbackSteps["
	switch {
	case strings.Contains(a, back) != strings.Contains(b, back):
		return "stands in steps and in rollbackSteps"
	case holderOf(a) == holderOf(b):
		return "stands twice in one stage or step group"
	}
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	list := a[:strings.LastIndex(a[:i], "[")] // where the ways part
	if strings.HasSuffix(list, ".parallel") {
		return ""
	}
	return "stands in steps that run one after the other"
}

// holderOf is the path of the stage or the step group that a step is in.
func holderOf(path string) string {
	return path[:max(strings.LastIndex(path, ".stage."), strings.LastIndex(path, ".stepGroup."), 0)]
}
