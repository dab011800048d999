package execution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A step that is seen by itself and works in a session is seen in one of its own, into
// which the steps before it in the same session bring what they bring; others don't run.
// One of those that asks for inputs leaves it out.
func TestAPreviewsOwnSessions(t *testing.T) {
	t.Parallel()
	types := step.Types{
		{Name: "Clone", Session: true, Brings: true}, {Name: "Script"}, {Name: "Look", Session: true},
		{Name: "Deploy", Session: true, Preview: &step.Preview{By: "Look", Own: true}},
	}
	at := func(in, id, typ string, asks plan.Asks) *plan.Node {
		return &plan.Node{ID: plan.NodeID(in + "." + id), Kind: plan.KindStep, Identifier: id, Type: typ, Asks: asks, Doc: &yamldoc.Node{Kind: yamldoc.Mapping}}
	}
	group := func(id string, asks plan.Asks, deploys ...string) *plan.Node {
		in := "s." + id
		n := &plan.Node{ID: plan.NodeID(in), Kind: plan.KindGroup, Identifier: id, Children: []*plan.Node{
			at(in, "-initialize", plan.TypeSession, ""), at(in, "clone", "Clone", asks), at(in, "build", "Script", ""),
		}}
		for _, d := range deploys {
			n.Children = append(n.Children, at(in, d, "Deploy", ""))
		}
		n.Children = append(n.Children, at(in, "again", "Clone", ""))
		return n
	}
	for name, tt := range map[string]struct {
		stage []*plan.Node
		want  string
		left  string
	}{
		"one": {[]*plan.Node{group("g", "", "d")}, "s.g.d_diff(s.g.d_diff.-initialize Initialize, s.g.d_diff.clone Clone, s.g.d_diff.compare Look), s.g.d Deploy", ""},
		"two of a session": {
			[]*plan.Node{group("g", "", "d", "e")},
			"s.g.d_diff(s.g.d_diff.-initialize Initialize, s.g.d_diff.clone Clone, s.g.d_diff.compare Look), " +
				"s.g.e_diff(s.g.e_diff.-initialize Initialize, s.g.e_diff.clone Clone, s.g.e_diff.compare Look), s.g.d Deploy, s.g.e Deploy", "",
		},
		"of two sessions": {
			[]*plan.Node{group("g", "", "d"), group("h", "", "d")},
			"s.g.d_diff(s.g.d_diff.-initialize Initialize, s.g.d_diff.clone Clone, s.g.d_diff.compare Look), " +
				"s.h.d_diff(s.h.d_diff.-initialize Initialize, s.h.d_diff.clone Clone, s.h.d_diff.compare Look), s.g.d Deploy, s.h.d Deploy", "",
		},
		"without a session": {[]*plan.Node{at("s", "d", "Deploy", "")}, "s.d_diff Look, s.d Deploy", ""},
		"that asks":         {[]*plan.Node{group("g", plan.AsksNeeded, "d")}, "", "its step clone asks for inputs when it starts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := &plan.Plan{Root: &plan.Node{ID: "p", Kind: plan.KindPipeline, Children: []*plan.Node{
				{ID: "s", Kind: plan.KindStage, Type: "Custom", Identifier: "s", Children: tt.stage},
			}}}
			doc, err := made.Encode()
			must(t, err)
			p, err := plan.Decode(doc)
			must(t, err)
			c := comparison{previews: types.Previews(), types: types}
			c.stage(p.Root.Children[0], true)
			if diff := cmp.Diff(tt.want, outlined(p.Root.Children[0].Children)); diff != "" {
				t.Errorf("the stage (-want +got):\n%s", diff)
			}
			if got := fmt.Sprint(c.left); !strings.Contains(got, tt.left) || tt.left == "" && len(c.left) > 0 {
				t.Errorf("left out is %s; want %q", got, tt.left)
			}
		})
	}
}

// outlined are nodes, for people.
func outlined(list []*plan.Node) string {
	var all []string
	for _, n := range list {
		text := string(n.ID)
		if n.Kind == plan.KindGroup {
			text += "(" + outlined(n.Children) + ")"
		} else {
			text += " " + n.Type
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
