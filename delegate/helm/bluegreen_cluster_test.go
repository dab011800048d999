package helm

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
)

// inColors is what HelmBGDeploy makes of webChart: the colours' own objects,
// and those that both share. serving is the primary service's colour.
func inColors(serving string, images map[string]string) []string {
	staged := otherOf(serving)
	out := []string{
		"Ingress rel-web rel.example.com rel-web", "ServiceAccount web",
		"Service rel-web harness.io/color=" + serving + ",instance=rel",
		"Service rel-web-stage harness.io/color=" + staged + ",instance=rel",
	}
	for color, image := range images {
		out = append(out,
			fmt.Sprintf("ConfigMap fixed-%s image=%s", color, image), fmt.Sprintf("ConfigMap rel-%s-web", color),
			fmt.Sprintf("Deployment rel-%[1]s-web %[2]s x 4 harness.io/color=%[1]s,instance=rel", color, image),
			fmt.Sprintf("PodDisruptionBudget rel-%[1]s-web harness.io/color=%[1]s,instance=rel", color),
		)
	}
	slices.Sort(out)
	return out
}

func otherOf(color string) string {
	if color == blue {
		return green
	}
	return blue
}

// Colours take turns; users see a new one only after the swap.
func TestBlueGreen(t *testing.T) {
	t.Parallel()
	s := newWebSite(t)
	p := s.step(nativehelm.OpBlueGreen, "")
	p.RunTests = true
	for range 2 { // each task may be delivered twice
		e := s.succeed(t, p)
		for name, want := range map[string]any{
			"primaryServiceName": "rel-web", "stageServiceName": "rel-web-stage", "primaryColor": green, "stageColor": blue,
			"stageRelease": "rel-blue", "releaseName": "rel", "hasInstallUpgradeStarted": true,
		} {
			if got := e.output(t, name); got != want {
				t.Errorf("%s is %v; want %v", name, got, want)
			}
		}
		if c := e.Changes[0]; c.Whole || len(c.Instances) != 4 || c.Instances[0].Color != blue {
			t.Errorf("the ledger has %+v; want four blue pods", c)
		}
		s.wantWorld(t, "after the first colour", inColors(green, map[string]string{blue: "nginx:1"})...)
	}
	test, err := s.BatchV1().Jobs(s.namespace).Get(t.Context(), "rel-blue-smoke", metav1.GetOptions{})
	check(t, err)
	if got := test.Spec.Template.Spec.Containers[0].Args; got[0] != "rel-web-stage:80" {
		t.Errorf("the test asks %v; want the colour that is deployed", got)
	}
	for range 2 {
		s.succeed(t, in(p, nativehelm.OpSwap))
		s.wantWorld(t, "after the first swap", inColors(blue, map[string]string{blue: "nginx:1"})...)
	}
	p = s.step(nativehelm.OpBlueGreen, "image: nginx:2")
	if e := s.succeed(t, p); e.output(t, "stageColor") != green {
		t.Errorf("outputs %s; want green to come next", e.Outputs)
	}
	s.wantWorld(t, "after the second colour", inColors(blue, map[string]string{blue: "nginx:1", green: "nginx:2"})...)
	s.succeed(t, in(p, nativehelm.OpSwap))
	p = s.step(nativehelm.OpBlueGreen, "image: nginx:3")
	s.succeed(t, p)
	s.wantWorld(t, "after the third colour", inColors(green, map[string]string{blue: "nginx:3", green: "nginx:2"})...)
	s.succeed(t, s.step(nativehelm.OpDelete, ""))
	s.wantWorld(t, "after the release is deleted")
	s.wantRevisions(t)
}

// A colour for whose pods Helm waits finds the account that they need, which
// both colours share.
func TestAColorIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newWebSite(t)
	s.succeed(t, flagged(s.step(nativehelm.OpBlueGreen, ""), "Install", "--wait"))
}

// What stands beside has an account of its own where the chart names it as it
// names the service.
func TestAnAccountNamedAsTheService(t *testing.T) {
	t.Parallel()
	s := newWebSite(t)
	for op, release := range map[nativehelm.Op]string{nativehelm.OpBlueGreen: "rel-blue", nativehelm.OpCanary: "rel-canary"} {
		s.succeed(t, counted(s.step(op, "account: own"), 1))
		d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), release+"-web", metav1.GetOptions{})
		check(t, err)
		if got := d.Spec.Template.Spec.ServiceAccountName; got != release+"-web" {
			t.Errorf("the pods of %s have the account %s; want the release's own", release, got)
		}
		if _, err := s.CoreV1().ServiceAccounts(s.namespace).Get(t.Context(), release+"-web", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// However far a stage came, its rollback leaves what was before.
func TestBlueGreenRollback(t *testing.T) {
	t.Parallel()
	back := func(op nativehelm.Op) func(*testing.T, *site, job) {
		return func(t *testing.T, s *site, p job) {
			t.Helper()
			for range 2 {
				again := in(p, op)
				again.Work.Rollback = true
				s.succeed(t, again)
			}
		}
	}
	tests := []struct {
		name, values string
		deployments  int // before
		swap         bool
		rollback     func(*testing.T, *site, job)
		want         []string
	}{
		{"nothing was there", "image: broken:1", 0, false, back(nativehelm.OpRollback), nil},
		{"nothing was there, swapped", "image: nginx:9\nport: 81", 0, true, back(nativehelm.OpRollback), nil},
		{"one colour was there", "image: broken:1", 1, false, back(nativehelm.OpRollback), inColors(blue, map[string]string{blue: "nginx:1"})},
		{"both were there", "image: broken:1", 2, false, back(nativehelm.OpRollback), inColors(green, map[string]string{blue: "nginx:1", green: "nginx:2"})},
		{"both were there, swapped", "image: nginx:9\nport: 81", 2, true, back(nativehelm.OpRollback), inColors(green, map[string]string{blue: "nginx:1", green: "nginx:2"})},
		{"other labels", "image: nginx:9\ntier: front", 2, true, back(nativehelm.OpRollback), inColors(green, map[string]string{blue: "nginx:1", green: "nginx:2"})},
		{"swapped back", "image: nginx:9", 2, true, back(nativehelm.OpSwap), inColors(green, map[string]string{blue: "nginx:9", green: "nginx:2"})},
		{"swapped back, never swapped", "image: broken:1", 1, false, back(nativehelm.OpSwap), inColors(blue, map[string]string{blue: "nginx:1", green: "broken:1"})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newWebSite(t)
			for i := range tt.deployments {
				p := s.step(nativehelm.OpBlueGreen, fmt.Sprintf("image: nginx:%d", i+1))
				s.succeed(t, p)
				s.succeed(t, in(p, nativehelm.OpSwap))
			}
			before := s.services(t)
			p := s.step(nativehelm.OpBlueGreen, tt.values)
			if tt.swap {
				s.succeed(t, p)
				s.succeed(t, in(p, nativehelm.OpSwap))
			} else {
				s.fail(t, p, "progress deadline")
			}
			tt.rollback(t, s, p)
			s.wantWorld(t, "after the rollback", tt.want...)
			if got := s.services(t); got != before {
				t.Errorf("the services are %s; they were %s", got, before)
			}
			next := s.step(nativehelm.OpBlueGreen, "image: nginx:5") // and it goes on from there
			s.succeed(t, next)
			s.succeed(t, in(next, nativehelm.OpSwap))
		})
	}
}

// services are the specs of all services.
func (s *site) services(t *testing.T) string {
	t.Helper()
	list, err := s.CoreV1().Services(s.namespace).List(t.Context(), metav1.ListOptions{})
	check(t, err)
	out := ""
	for _, o := range list.Items {
		out += fmt.Sprintf("%s %+v\n", o.Name, o.Spec.Ports)
	}
	return out
}

// What a colour can't be made of is refused before anything changes.
func TestBlueGreenRefusals(t *testing.T) {
	t.Parallel()
	s := newWebSite(t)
	s.succeed(t, noHooks(s.step(nativehelm.OpDeploy, "")))
	s.fail(t, s.step(nativehelm.OpBlueGreen, "image: nginx:2"), "service rel-web exists and its selector has no harness.io/color")
	s.wantWorld(t, "after a refusal", stable("nginx:1")...)
	s.fail(t, s.step(nativehelm.OpSwap, ""), "no blue-green deployment to swap")
	other := newSite(t) // no service
	other.fail(t, other.step(nativehelm.OpBlueGreen, ""), "no Service found")
	other.wantRevisions(t)
}
