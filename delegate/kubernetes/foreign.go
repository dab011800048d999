package kubernetes

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Clusters keeps the clients of clusters for what deploys by other means than
// this package's steps: delegate/helm.
type Clusters struct{ known applying.Clusters }

// Foreign is a release that something else makes: what it needs to reach the
// cluster, and how its workloads fare.
type Foreign struct{ s *session }

// Foreign gives access to a step's target. Progress goes to the log of env.
func (c *Clusters) Foreign(w task.Work, target lane.Target, env executor.Env) (*Foreign, error) {
	cluster, err := c.known.Get(target.Cluster)
	if err != nil {
		return nil, err
	}
	return &Foreign{s: newSession(w, lane.Spec{Target: target}, env, &client{cluster})}, nil
}

// ToRESTConfig is how the cluster is reached.
func (f *Foreign) ToRESTConfig() (*rest.Config, error) {
	return rest.CopyConfig(f.s.client.Config), nil
}

// ToDiscoveryClient asks which kinds the cluster has.
func (f *Foreign) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return f.s.client.Kinds, nil
}

// ToRESTMapper finds the endpoints of kinds.
func (f *Foreign) ToRESTMapper() (meta.RESTMapper, error) { return f.s.client.Mapper, nil }

// ToRawKubeConfigLoader says only which namespace is the default one.
func (f *Foreign) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	cfg := api.NewConfig()
	cfg.Contexts["target"] = &api.Context{Namespace: f.s.p.Target.Namespace}
	cfg.CurrentContext = "target"
	return clientcmd.NewDefaultClientConfig(*cfg, &clientcmd.ConfigOverrides{})
}

// MakeWay deletes the workloads that stand where a manifest's are to come and
// can't become them, because they select their pods otherwise. It is for what
// serves nobody.
func (f *Foreign) MakeWay(ctx context.Context, manifest, unit string) error {
	all, err := f.objects(manifest)
	if err != nil {
		return err
	}
	var deleted []*unstructured.Unstructured
	for _, w := range managed(all) {
		live, err := f.s.client.Get(ctx, w)
		if err != nil {
			return err
		}
		if live == nil || podsSelectedBy(live) == podsSelectedBy(w) {
			continue
		}
		say(f.s.env.Log(unit), "%s selects its pods otherwise and is made anew", display(w))
		if _, err := f.s.applier.delete(ctx, live); err != nil {
			return err
		}
		deleted = append(deleted, live)
	}
	return f.s.applier.allGone(ctx, deleted)
}

// podsSelectedBy is a workload's selector in one form.
func podsSelectedBy(w *unstructured.Unstructured) string {
	if w.GetKind() == kindConfig {
		return "" // it can be changed
	}
	raw, _, _ := unstructured.NestedMap(w.Object, "spec", "selector")
	var own metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &own) != nil {
		return ""
	}
	return metav1.FormatLabelSelector(&own)
}

// Checks says whether the cluster checks the fields of a kind by itself. A yes
// is asked for once and kept.
func (f *Foreign) Checks(kind schema.GroupVersionKind, ask func() bool) bool {
	if _, known := f.s.client.Checked.Load(kind); known {
		return true
	}
	if !ask() {
		return false
	}
	f.s.client.Checked.Store(kind, true)
	return true
}

// objects reads a rendered manifest and gives its objects their namespaces.
func (f *Foreign) objects(manifest string) ([]*unstructured.Unstructured, error) {
	all, err := parse("the release", manifest)
	if err != nil {
		return nil, err
	}
	return all, f.s.renderer.place(all)
}

// Names lists the objects of a manifest as people see them: Kind/name.
func (f *Foreign) Names(manifest string) []string {
	all, err := parse("the chart", manifest)
	if err != nil {
		return nil
	}
	var out []string
	for _, o := range all {
		out = append(out, display(o))
	}
	return out
}

// Remember notes which workloads of a manifest have failed already, so that
// Steady doesn't take that for a failure of the change that follows.
func (f *Foreign) Remember(ctx context.Context, manifest string) error {
	all, err := f.objects(manifest)
	if err != nil {
		return err
	}
	for _, w := range awaited(all) {
		live, err := f.s.client.Get(ctx, w)
		if err != nil {
			return err
		}
		if live != nil {
			f.s.lookout.past.remember(live)
		}
	}
	return nil
}

// Steady waits until the workloads of a manifest have rolled out, and its Jobs
// have succeeded if they are asked for (semantics/kubernetes §10, §19.1).
func (f *Foreign) Steady(ctx context.Context, manifest string, jobs bool) error {
	all, err := f.objects(manifest)
	if err != nil {
		return err
	}
	waited := awaited(all)
	for _, o := range all {
		if jobs && o.GetKind() == "Job" {
			waited = append(waited, o)
		}
	}
	return f.s.lookout.steady(ctx, waited)
}

// Explain puts before an error why the objects of a manifest that run pods
// aren't what they should be, as far as that can be seen. The log of a unit
// has more.
func (f *Foreign) Explain(ctx context.Context, manifest, unit string, err error) error {
	all, objectsErr := f.objects(manifest)
	if objectsErr != nil { // the error that is to be explained says more
		return err
	}
	all = slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return podSpecPath(o.GetKind()) == nil })
	return because(f.s.lookout.explain(ctx, all, unit), err)
}

// Changed is the ledger's entry of a change by which a manifest's objects were
// put into the target, with the pods of its workloads. before are those from
// before it; nil for none.
func (f *Foreign) Changed(ctx context.Context, action, manifest string, before []task.Instance) task.Change {
	all, err := f.objects(manifest)
	if err != nil { // it was applied, so it can be read
		return task.Change{}
	}
	c := f.s.changed(action, all, nil)
	c.Whole = true
	c.Instances = f.Instances(ctx, manifest)
	was := names(before)
	for i := range c.Instances {
		c.Instances[i].New = !was[c.Instances[i].Namespace+"/"+c.Instances[i].Name]
	}
	return c
}

// Instances lists the live pods of a manifest's workloads, which needn't carry
// any label of ours. It is best effort, as for our own releases.
func (f *Foreign) Instances(ctx context.Context, manifest string) []task.Instance {
	all, err := f.objects(manifest)
	if err != nil {
		return nil
	}
	var out []task.Instance
	seen := map[string]bool{}
	for _, w := range managed(all) {
		selector, _, _ := unstructured.NestedStringMap(w.Object, "spec", "selector", "matchLabels")
		if len(selector) == 0 {
			continue
		}
		known := len(out)
		_, err := applying.List(ctx, f.s.client.Dynamic.Resource(pods()).Namespace(w.GetNamespace()), metav1.ListOptions{
			LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selector}),
		}, func(p *unstructured.Unstructured) {
			one, alive := f.s.lookout.instance(p)
			if name := one.Namespace + "/" + one.Name; alive && !seen[name] {
				seen[name] = true
				out = append(out, one)
			}
		})
		if err != nil {
			out = out[:known]
		}
	}
	return out
}
