package kubernetes

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/internal/testcluster"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// besideStage is a stage that puts a workload beside the one that serves.
type besideStage struct {
	steps, rollback []lane.Op
}

func canaryStage() besideStage {
	return besideStage{
		steps:    []lane.Op{lane.OpCanary, lane.OpCanaryDelete},
		rollback: []lane.Op{lane.OpCanaryDelete, lane.OpRollingRollback},
	}
}

func colorStage() besideStage {
	return besideStage{steps: []lane.Op{lane.OpBlueGreen, lane.OpSwap}, rollback: []lane.Op{lane.OpSwap}}
}

// begin deploys what serves and gives the stage that comes next.
func (b besideStage) begin(t *testing.T, s *site, manifest func(image, config string) string) job {
	t.Helper()
	first := s.step(lane.OpRolling, manifest("nginx:1", "1"))
	next := from(s.step("", ""), repository(t, map[string]string{"deploy/shop.yaml": manifest("nginx:2", "2")}))
	next.Instances = count(1)
	if b.steps[0] == lane.OpCanary {
		s.succeed(t, first)
		return next
	}
	first.Target.Manifest.Declarative, next.Target.Manifest.Declarative = true, true // a ConfigMap for each colour
	for _, op := range b.steps {
		s.succeed(t, in(first, op))
	}
	return next
}

// twoOf is the shop with two pods.
func twoOf(image, config string) string { return shop(image, config, "", 2) }

// until does the steps of the stage before one, and gives that one.
func (b besideStage) until(t *testing.T, s *site, p job, op lane.Op) job {
	t.Helper()
	for _, step := range b.steps {
		if step == op {
			break
		}
		s.succeed(t, in(p, step))
	}
	return in(p, op)
}

// undo is a step of the stage's rollback.
func undo(p job, op lane.Op) job {
	p = in(p, op)
	p.Work.Rollback, p.Work.Step = true, "undo"+p.Work.Step
	return p
}

// sight is what a namespace has of the shop, word for word.
type sight struct {
	Objects   []string // in short: images, ConfigMaps, colours
	Templates map[string]corev1.PodTemplateSpec
	Selectors map[string]map[string]string // of the services
	Releases  string                       // what became of them, the first one first
}

// sum is all of it in short.
func (o sight) sum() string {
	return strings.TrimSpace(strings.Join(o.Objects, " ") + " " + o.Releases)
}

func (s *site) sight(t *testing.T) sight {
	t.Helper()
	out := sight{Templates: map[string]corev1.PodTemplateSpec{}, Selectors: map[string]map[string]string{}}
	for _, o := range s.names(t) {
		kind, name, _ := strings.Cut(o, "/")
		switch kind {
		case "Deployment":
			d := s.deployment(t, name)
			out.Templates[name] = d.Spec.Template
			out.Objects = append(out.Objects, name+":"+d.Spec.Template.Spec.Containers[0].Image)
		case "ConfigMap":
			c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
			check(t, err)
			out.Objects = append(out.Objects, name+"="+c.Data["x"])
		case "Service":
			o, err := s.CoreV1().Services(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
			check(t, err)
			out.Selectors[name] = o.Spec.Selector
			if c := o.Spec.Selector[labelColor]; c != "" {
				out.Objects = append(out.Objects, name+">"+c)
			}
		}
	}
	statuses := s.standing(t).Statuses
	for n := range len(statuses) {
		out.Releases += " " + statuses[strconv.Itoa(n+1)]
	}
	out.Releases = strings.TrimSpace(out.Releases)
	return out
}

// before is a sight without the colour that was staged, which a rollback
// leaves behind the stage service, and without the releases.
func (o sight) before() sight {
	o.Releases = ""
	o.Objects = slices.DeleteFunc(slices.Clone(o.Objects), func(word string) bool {
		return strings.HasPrefix(word, "web-green:") || strings.HasPrefix(word, "cfg-green=")
	})
	o.Templates = maps.Clone(o.Templates)
	delete(o.Templates, "web-green")
	return o
}

// wantServing says which images the pods have that a service reaches.
func (s *site) wantServing(t *testing.T, service, want string) {
	t.Helper()
	testcluster.WantServing(t, s, s.namespace, service, want)
}

// In whichever section of a canary or blue-green stage a delegate is killed,
// what serves goes on serving. The task, delivered again to a delegate that
// knows nothing, comes to what it would have come to, word for word. The
// stage's rollback, be the task tried again or not, leaves what served.
func TestScenariosOfADelegateKilledBeside(t *testing.T) {
	t.Parallel()
	canary, colors := canaryStage(), colorStage()
	const (
		alone  = "cfg-1=1 web:nginx:1 Succeeded"
		config = "cfg-1=1 cfg-canary=2 web:nginx:1 Succeeded InProgress"
		beside = "cfg-1=1 cfg-canary=2 web:nginx:1 web-canary:nginx:2 Succeeded "
		gone   = alone + " Succeeded"
		two    = "nginx:1 nginx:1"
		three  = two + " nginx:2"

		blueOnly = "cfg=1 web-blue:nginx:1 web>blue web-stage>green Succeeded"
		newGreen = "cfg=1 cfg-green=2 web-blue:nginx:1 web>blue web-stage>green Succeeded InProgress"
		both     = "cfg=1 cfg-green=2 web-blue:nginx:1 web-green:nginx:2 "
		staged   = both + "web>blue web-stage>green Succeeded "
		half     = both + "web>green web-stage>green Succeeded Succeeded"
		swapped  = both + "web>green web-stage>blue Succeeded Succeeded"
		new2     = "nginx:2 nginx:2"
	)
	again, bothWays := []bool{true}, []bool{true, false}
	tests := []struct {
		stage   besideStage
		op      lane.Op
		unit    string // none: all is done but the answer
		line    int
		dead    string // what is there right after the kill
		then    string // and after the task was done again
		serving string // what the service reaches then
		tries   []bool // whether it is done again, before the rollback
	}{
		{canary, lane.OpCanary, unitFetch, 1, alone, beside + "Succeeded", three, again},
		{canary, lane.OpCanary, unitInitialize, 1, alone, beside + "Succeeded", three, again},
		{canary, lane.OpCanary, unitPrepare, 1, alone, beside + "Succeeded", three, again},
		{canary, lane.OpCanary, unitApply, 1, config, beside + "Succeeded", three, bothWays},
		{canary, lane.OpCanary, unitApply, 3, beside + "InProgress", beside + "Succeeded", three, bothWays},
		{canary, lane.OpCanary, unitSteady, 1, beside + "InProgress", beside + "Succeeded", three, bothWays},
		{canary, lane.OpCanary, "", 0, beside + "Succeeded", beside + "Succeeded Succeeded", three, bothWays},
		{canary, lane.OpCanaryDelete, unitDelete, 1, config[:len(config)-len("InProgress")] + "Succeeded", gone, two, again},
		{canary, lane.OpCanaryDelete, unitDelete, 2, gone, gone, two, again},
		{canary, lane.OpCanaryDelete, "", 0, gone, gone, two, again},

		{colors, lane.OpBlueGreen, unitFetch, 1, blueOnly, staged + "Succeeded", two, again},
		{colors, lane.OpBlueGreen, unitInitialize, 1, blueOnly, staged + "Succeeded", two, again},
		{colors, lane.OpBlueGreen, unitPrepare, 1, blueOnly, staged + "Succeeded", two, again},
		{colors, lane.OpBlueGreen, unitApply, 1, newGreen, staged + "Succeeded", two, bothWays},
		{colors, lane.OpBlueGreen, unitApply, 4, staged + "InProgress", staged + "Succeeded", two, bothWays},
		{colors, lane.OpBlueGreen, unitSteady, 1, staged + "InProgress", staged + "Succeeded", two, bothWays},
		{colors, lane.OpBlueGreen, "", 0, staged + "Succeeded", staged + "Succeeded Succeeded", two, bothWays},
		{colors, lane.OpSwap, unitSwap, 1, half, swapped, new2, bothWays},
		{colors, lane.OpSwap, unitSwap, 2, swapped, swapped, new2, bothWays},
		{colors, lane.OpSwap, "", 0, swapped, swapped, new2, bothWays},
	}
	done := map[lane.Op]sight{} // what is there after a step that nothing disturbs
	for _, stage := range []besideStage{canary, colors} {
		s := newSite(t)
		p := stage.begin(t, s, twoOf)
		for _, op := range stage.steps {
			s.succeed(t, in(p, op))
			done[op] = s.sight(t)
		}
	}
	for _, tt := range tests {
		for _, again := range tt.tries {
			t.Run(fmt.Sprintf("%s %s %d, again %t", tt.op, tt.unit, tt.line, again), func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				p := tt.stage.begin(t, s, twoOf)
				was := s.sight(t)
				p = tt.stage.until(t, s, p, tt.op)
				if tt.unit == "" {
					s.succeed(t, p)
				} else {
					killed(t, p, tt.unit, tt.line)
				}
				if diff := cmp.Diff(tt.dead, s.sight(t).sum()); diff != "" {
					t.Errorf("after the kill (-want +got):\n%s", diff)
				}
				s.run = New(Config{Cache: t.TempDir(), Script: shell.New(os.Environ(), t.TempDir())})
				if again {
					s.succeed(t, p)
					now := s.sight(t)
					if diff := cmp.Diff(tt.then, now.sum()); diff != "" {
						t.Errorf("after the task was done again (-want +got):\n%s", diff)
					}
					now.Releases = done[tt.op].Releases // in the row
					if diff := cmp.Diff(done[tt.op], now); diff != "" {
						t.Errorf("a task that nothing disturbs comes to (-), and this one to (+):\n%s", diff)
					}
					s.wantServing(t, "web", tt.serving)
				}
				for _, op := range tt.stage.rollback {
					s.succeed(t, undo(p, op))
				}
				if diff := cmp.Diff(was.before(), s.sight(t).before()); diff != "" {
					t.Errorf("after the rollback (-want +got):\n%s", diff)
				}
				s.wantServing(t, "web", two)
			})
		}
	}
}

// A swap back that is killed comes to an end, too, when it is tried again.
func TestScenariosOfAKilledSwapBack(t *testing.T) {
	t.Parallel()
	const both = "cfg=1 cfg-green=2 web-blue:nginx:1 web-green:nginx:2 "
	for line, dead := range map[int]string{
		1: both + "web>blue web-stage>blue Succeeded Succeeded",
		2: both + "web>blue web-stage>green Succeeded Succeeded",
	} {
		t.Run(fmt.Sprint(line), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			stage := colorStage()
			p := stage.begin(t, s, twoOf)
			was := s.sight(t)
			s.succeed(t, stage.until(t, s, p, lane.OpSwap))
			back := undo(p, lane.OpSwap)
			killed(t, back, unitSwap, line)
			if diff := cmp.Diff(dead, s.sight(t).sum()); diff != "" {
				t.Errorf("after the kill (-want +got):\n%s", diff)
			}
			s.succeed(t, back)
			if diff := cmp.Diff(was.before(), s.sight(t).before()); diff != "" {
				t.Errorf("after the swap back was done again (-want +got):\n%s", diff)
			}
			s.wantServing(t, "web", "nginx:1 nginx:1")
			next := in(p, lane.OpBlueGreen)
			next.Work.Execution, next.SkipSameManifest = "next", true // they don't serve, so they aren't skipped
			if e := s.succeed(t, next); e.output(t, "skipped") != false {
				t.Error("the next deployment of the same was skipped")
			}
		})
	}
}

// A deployment of a colour that is killed while it prunes goes on with that.
func TestScenarioOfAKilledPruning(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	manifest := func(i int) string {
		return twoOf("nginx:1", "1") + fixedYAML(fmt.Sprint("a-", i), "1") + fixedYAML(fmt.Sprint("b-", i), "1")
	}
	for i := range 2 {
		p := s.step(lane.OpBlueGreen, manifest(i))
		p.Pruning = true
		s.succeed(t, p)
		s.succeed(t, in(p, lane.OpSwap))
	}
	p := s.step(lane.OpBlueGreen, manifest(2))
	p.Pruning = true
	killed(t, p, unitPrune, 1)
	s.wantServing(t, "web", "nginx:1 nginx:1")
	s.succeed(t, p)
	want := "a-1=1 a-2=1 b-1=1 b-2=1 cfg=1 web-blue:nginx:1 web-green:nginx:1 web>green web-stage>blue Succeeded Succeeded Succeeded"
	if diff := cmp.Diff(want, s.sight(t).sum()); diff != "" {
		t.Errorf("after the task was done again (-want +got):\n%s", diff)
	}
}
