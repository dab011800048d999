package statemachines_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// generator makes scripts of trees: nested, parallel, failing and retrying.
type generator struct {
	*rand.Rand
	script strings.Builder
	nodes  []string
	steps  int
}

func (g *generator) say(format string, args ...any) { fmt.Fprintf(&g.script, format+"\n", args...) }

// node makes a node's lines, and those of the nodes below it.
func (g *generator) node(name string, depth int) {
	g.nodes = append(g.nodes, name)
	var below []string
	for range g.IntN(4) {
		if g.IntN(6) == 0 {
			g.say("advance %s: error Slipway.Transient: busy", name)
		}
		if depth > 0 && g.IntN(3) == 0 {
			var list []string
			for i := range g.IntN(3) {
				list = append(list, fmt.Sprintf("%s%d%d", name, len(below), i))
			}
			below = append(below, list...)
			g.say("advance %s: children %s", name, strings.Join(list, " "))
			continue
		}
		if g.waits(name) {
			g.below(below, depth)
			return
		}
	}
	if g.IntN(8) == 0 {
		g.say("advance %s: error Slipway.Refused: broken", name)
		g.say("break %s: ok", name)
	} else {
		g.say("advance %s: done", name)
	}
	g.below(below, depth)
}

func (g *generator) below(nodes []string, depth int) {
	for _, n := range nodes {
		g.node(n, depth-1)
	}
}

// waits makes the lines of waits that follow each other, until the engine is
// asked again, or the node has ended.
func (g *generator) waits(name string) (done bool) {
	g.steps++
	g.say("advance %s: await s%d 60 30", name, g.steps)
	for {
		step := fmt.Sprintf("s%d", g.steps)
		for g.IntN(6) == 0 {
			g.say("await %s: error Slipway.Transient: busy", step)
		}
		switch g.IntN(8) {
		case 0:
			g.say("await %s: fail Slipway.Interrupted: ask", step)
			return false
		case 1:
			g.say("await %s: error Slipway.Refused: wrong", step)
			return false
		case 2:
			g.say("await %s: done", step)
			return true
		default:
			g.steps++
			g.say("await %s: await s%d 60 30", step, g.steps)
		}
	}
}

var (
	trees = flag.Int("trees", 200, "how many generated trees are run on both hosts")
	seed  = flag.Uint64("seed", 0, "the first tree's seed; 0 takes a random one")
)

// Whatever the tree, each run passes the same states on the embedded engine
// and on moto's Step Functions.
func TestGeneratedTreesTakeTheSamePaths(t *testing.T) {
	t.Parallel()
	moto := &motoHost{host: testaws.NewHost(t)}
	moto.endpoint = testaws.Moto(t, moto.host)
	first := cmp.Or(*seed, rand.Uint64())
	t.Run("trees", func(t *testing.T) { // moto outlives them
		for i := range *trees {
			own := first + uint64(i)
			t.Run(fmt.Sprint("seed-", own), func(t *testing.T) {
				t.Parallel()
				g := generator{Rand: rand.New(rand.NewPCG(own, 0))}
				g.node("p", 2)
				ours := paths(t, &g, newEmbedded)
				theirs := paths(t, &g, func(t *testing.T, e *engine) host { t.Helper(); return newEmulated(t, moto, e) })
				if diff := gocmp.Diff(theirs, ours); diff != "" {
					t.Errorf("paths (-moto +embedded):\n%s\nscript:\n%s", diff, g.script.String())
				}
			})
		}
	})
}

func paths(t *testing.T, g *generator, open func(*testing.T, *engine) host) map[string]string {
	t.Helper()
	e := newEngine(g.script.String())
	e.host = open(t, e)
	if err := e.host.start(t.Context(), "run-p", "p"); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"p": ended(t, e.host, "run-p")} // it ends last
	for _, n := range g.nodes {
		out[n] = ended(t, e.host, "run-"+n)
	}
	if left := e.left(); e.err != nil || len(left) > 0 {
		t.Errorf("the script: %v; not asked for: %v", e.err, left)
	}
	return out
}
