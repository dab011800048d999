package kubernetes

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Colors are how services and colours stand.
type Colors struct {
	Primary, Stage string // services
	Serving, Next  string // colours

	namespace string                       // of the services
	shared    []*unstructured.Unstructured // by both colours: services, ingresses, what has a fixed name
}

// Color makes the release of a colour of what a chart renders
// (semantics/kubernetes §19.5). Which colour comes next is the services' to
// say: if it isn't b's, the result is of no use but for that.
func (f *Foreign) Color(ctx context.Context, rendered string, b Beside) (Aside, error) {
	l, err := f.layOut(rendered, "blue-green", b)
	if err != nil {
		return Aside{}, err
	}
	own, shared := l.split()
	c := &Colors{}
	primary, stage, shared, err := stagedServices(shared)
	if err != nil {
		return Aside{}, err
	}
	if c.Serving, err = f.s.client.primaryColor(ctx, primary); err != nil {
		return Aside{}, err
	}
	c.Next = otherColor(c.Serving)
	c.Primary, c.Stage, c.namespace, c.shared = primary.GetName(), stage.GetName(), primary.GetNamespace(), sorted(shared)
	putLabel(primary, labelColor, c.Serving, "spec", "selector")
	putLabel(stage, labelColor, c.Next, "spec", "selector")
	l.objects = own
	l.mark(labelColor, c.Next)
	l.own()
	call([]*unstructured.Unstructured{l.workload}, l.services)
	tested := maps.Clone(l.services)
	for rendered, name := range tested {
		if name == c.Primary { // tests are for the colour that comes
			tested[rendered] = c.Stage
		}
	}
	call(l.hooks, tested)
	out, err := l.aside(own)
	out.Colors = c
	return out, err
}

// split tells a colour's own objects from those that both share.
func (l *layout) split() (own, shared []*unstructured.Unstructured) {
	for _, o := range l.objects {
		if l.shares(o) {
			shared = append(shared, o)
		} else {
			own = append(own, o)
		}
	}
	kept := map[string]bool{}
	for _, o := range own {
		kept[o.GetName()] = kept[o.GetName()] || o.GetKind() == "Secret"
	}
	for _, o := range shared {
		notes := o.GetAnnotations()
		delete(notes, annotationFile)
		o.SetAnnotations(notes)
		o.Object, _ = rewritten(o.Object, func(s string) string {
			if kept[s] { // such as a certificate of the colour
				return s
			}
			return l.common(s)
		}).(map[string]any)
	}
	return own, shared
}

// shares says whether both colours have an object: a service, an ingress, or
// what isn't named after the colour and doesn't speak of it.
func (l *layout) shares(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case kindService, kindIngress:
		return true
	case "ConfigMap", "Secret":
		return !l.named(o.GetName()) && annotated(o, annotationSkipVersioning)
	}
	if o == l.workload || l.named(o.GetName()) || protects(o, l.workload) || scales(o, l.workload.GetKind(), l.workload.GetName()) {
		return false
	}
	speaks := false
	body := maps.Clone(o.Object)
	delete(body, "metadata")
	rewritten((&unstructured.Unstructured{Object: body}).DeepCopy().Object, func(s string) string {
		speaks = speaks || l.named(s)
		return s
	})
	return !speaks
}
