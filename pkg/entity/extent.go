package entity

import (
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// bounded reports a bound that is passed by what is written out.
func (d *decoder) bounded(v yamldoc.Value, err error) {
	if err != nil {
		d.Errorf(v, tooMany, "%s", err)
	}
}

// stageNodes are the nodes that a list of stages comes to, as far as its loops
// are written out; members are those that run at once if it is of a parallel
// block, where nested blocks are part of it (semantics/pipeline §1.3).
func stageNodes(list StageList) (nodes, members int) {
	for _, item := range list.Items {
		n, m := 0, 1
		switch {
		case item.Stage != nil:
			n = item.Stage.nodes()
		case item.Parallel.Items != nil:
			n, m = stageNodes(item.Parallel)
			n = extent.Add(n, 1)
		default:
			n, m = stageNodes(item.Insert)
		}
		nodes, members = extent.Add(nodes, n), members+m
	}
	return nodes, members
}

// stepNodes are those of a list of steps, likewise.
func stepNodes(list StepList) (nodes, members int) {
	for _, item := range list.Items {
		n, m := 0, 1
		switch {
		case item.Step != nil:
			n = item.Step.Loop.nodes(1)
		case item.Group != nil:
			n = item.Group.nodes()
		case item.Parallel.Items != nil:
			n, m = stepNodes(item.Parallel)
			n = extent.Add(n, 1)
		default:
			n, m = stepNodes(item.Insert)
		}
		nodes, members = extent.Add(nodes, n), members+m
	}
	return nodes, members
}

func (s *Stage) nodes() int {
	own := sections(s.Steps, s.RollbackSteps)
	if s.Deployment != nil {
		own = extent.Add(own, sections(s.Deployment.Provisioner.Steps, s.Deployment.Provisioner.RollbackSteps))
	}
	return s.Loop.nodes(extent.Add(1, own))
}

func (g *StepGroup) nodes() int {
	return g.Loop.nodes(extent.Add(1, sections(g.Steps, g.RollbackSteps)))
}

func sections(steps, back StepList) int {
	forth, _ := stepNodes(steps)
	undone, _ := stepNodes(back)
	return extent.Add(forth, undone)
}

// nodes are those of what is looped, of which one run has so many. How often
// it runs may be known when it runs only: then it counts for the loop alone.
func (l Looping) nodes(once int) int {
	switch {
	case l.written:
		return extent.Add(1, extent.Times(l.times, once))
	case l.set():
		return 1
	}
	return once
}
