package elastigroup

import (
	"context"
	"slices"

	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// before is how a group was before its stage changed it.
type before struct {
	ID       string   `json:"id,omitempty"` // empty: there was none
	Name     string   `json:"name,omitempty"`
	Capacity capacity `json:"capacity,omitzero"`
}

// size is how large the new group is to be in the end.
func (b before) size(want awslane.Size) capacity {
	switch {
	case !want.Running:
		return capacity{Minimum: want.Min, Maximum: want.Max, Target: want.Desired}
	case b.ID != "":
		return b.Capacity
	}
	return capacity{Maximum: 10, Target: 6} // as of the first deployment to an Auto Scaling group
}

// found are the groups of the account.
type found []group

func (s *session) find(ctx context.Context) (found, error) {
	all, err := s.list(ctx)
	slices.SortFunc(all, func(a, b group) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
	return all, err
}

// by finds a group by its id; nil: it isn't there.
func (f found) by(id string) *group {
	for i, one := range f {
		if one.ID == id {
			return &f[i]
		}
	}
	return nil
}

// named are the groups of some names, but for some that there were before.
func (f found) named(but []string, names ...string) []group {
	var out []group
	for _, one := range f {
		if slices.Contains(names, one.Name) && !slices.Contains(but, one.ID) {
			out = append(out, one)
		}
	}
	return out
}

// touch notes a group that the task may have changed.
func (s *session) touch(id string) {
	if id != "" && !slices.Contains(s.touched, id) {
		s.touched = append(s.touched, id)
	}
}

// resize sees to it that a group has a size.
func (s *session) resize(ctx context.Context, g group, to capacity) error {
	s.touch(g.ID)
	if g.Capacity == to {
		return nil
	}
	s.Say("Scaling Elastigroup %s (%s) to %d instances", g.Name, g.ID, to.Target)
	return s.update(ctx, g.ID, document{
		"name": g.Name, "capacity": document{"minimum": to.Minimum, "maximum": to.Maximum, "target": to.Target},
	})
}

// drop deletes a group.
func (s *session) drop(ctx context.Context, g group) error {
	s.touch(g.ID)
	s.Say("Deleting Elastigroup %s (%s)", g.Name, g.ID)
	return s.remove(ctx, g.ID)
}
