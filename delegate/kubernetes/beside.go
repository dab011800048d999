package kubernetes

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// Beside names a Helm release that stands beside the one of a service: its
// canary, or one of its colours.
type Beside struct {
	Release string // what templates are rendered for, such as web-blue
	Of      string // what the service has, such as web
	Suffix  string // for names that don't have the release's, such as -blue
}

// Aside is what a Helm release beside the one that serves is made of.
type Aside struct {
	Manifest  string // the release's own objects, and its hooks
	Workload  string // namespace/Kind/name
	Instances int64  // of a canary
	Colors    *Colors
}

const (
	annotationHook = "helm.sh/hook"
	annotationHelm = "meta.helm.sh/release-name" // whose an object is
	annotationFile = "postrenderer.helm.sh/postrender-filename"
	kindService    = "Service"
	kindIngress    = "Ingress"
)

// layout is a chart's objects by what becomes of them.
type layout struct {
	Beside
	hooks, objects []*unstructured.Unstructured
	workload       *unstructured.Unstructured
	services       map[string]string // rendered names and the common ones
}

// layOut reads rendered objects. Names and labels that pods are found by lose
// the release's suffix: services and selectors are those of the service.
func (f *Foreign) layOut(rendered, strategy string, b Beside) (*layout, error) {
	all, err := parse("the chart", rendered)
	if err != nil {
		return nil, err
	}
	l := &layout{Beside: b, services: map[string]string{}}
	for _, o := range all {
		if _, hook := o.GetAnnotations()[annotationHook]; hook {
			l.hooks = append(l.hooks, o)
		} else {
			l.objects = append(l.objects, o)
		}
	}
	if l.workload, err = single(l.objects, strategy, "Deployment", "StatefulSet", kindConfig); err != nil {
		return nil, err
	}
	for _, o := range l.objects {
		if o.GetKind() == kindService {
			l.services[o.GetName()] = l.common(o.GetName())
		}
		walkSelectors(o.Object, l.common)
		// A kind that the chart brings itself isn't known yet.
		if err := f.s.renderer.place([]*unstructured.Unstructured{o}); err != nil && !errors.Is(err, applying.ErrNoKind) {
			return nil, err
		}
	}
	labels := []string{"spec", "template", "metadata", "labels"}
	if m, ok, _ := unstructured.NestedMap(l.workload.Object, labels...); ok {
		set(l.workload, rewritten(m, l.common), labels...)
	}
	if name := text(l.workload, "spec", "serviceName"); name != "" {
		set(l.workload, l.common(name), "spec", "serviceName")
	}
	return l, nil
}

// common is a text without the suffix of the release: "web" for "web-blue",
// wherever that stands between what isn't a letter or digit.
func (l *layout) common(s string) string { return replaceWord(s, l.Release, l.Of, "") }

// named says whether a text has the release's name in it.
func (l *layout) named(s string) bool { return l.common(s) != s }

// rename gives an object a name of the release's own, unless it has one.
func (l *layout) rename(o *unstructured.Unstructured) {
	if !l.named(o.GetName()) {
		o.SetName(withSuffix(o.GetName(), l.Suffix))
	}
}

// own gives the release's own names to the workload, to what scales and
// protects it, and to its ConfigMaps and Secrets.
func (l *layout) own() {
	original := l.workload.GetName()
	l.rename(l.workload)
	for _, o := range l.objects {
		switch {
		case scales(o, l.workload.GetKind(), original):
			set(o, l.workload.GetName(), "spec", "scaleTargetRef", "name")
		case protects(o, l.workload):
			selector, _, _ := unstructured.NestedMap(l.workload.Object, selectorOf(l.workload)...)
			set(o, selector, "spec", "selector", "matchLabels")
		default:
			continue
		}
		l.rename(o)
	}
	renameSome(l.objects, l.Suffix, func(o *unstructured.Unstructured) bool { return !l.named(o.GetName()) })
}

// mark puts a label on the workload's pods and into its selector, so that no
// other workload's are taken for its own.
func (l *layout) mark(name, value string) {
	putLabel(l.workload, name, value, selectorOf(l.workload)...)
	putLabel(l.workload, name, value, "spec", "template", "metadata", "labels")
}

// aside is the result, of the objects that the release is to have.
func (l *layout) aside(objects []*unstructured.Unstructured) (Aside, error) {
	var b strings.Builder
	for _, o := range slices.Concat(objects, l.hooks) {
		doc, err := yaml.Marshal(o.Object)
		if err != nil {
			return Aside{}, fault.New(fault.Invalid, "%s: %w", display(o), err)
		}
		b.WriteString("---\n")
		b.Write(doc)
	}
	return Aside{Manifest: b.String(), Workload: l.workload.GetNamespace() + "/" + display(l.workload)}, nil
}

// Canary makes a canary of what a chart renders (semantics/kubernetes §19.4):
// its one workload with a few instances, and what that needs of its own.
func (f *Foreign) Canary(ctx context.Context, rendered string, b Beside, pick *lane.InstanceSelection) (Aside, error) {
	l, err := f.layOut(rendered, "canary", b)
	if err != nil {
		return Aside{}, err
	}
	serving := l.workload.DeepCopy()
	serving.SetName(l.common(serving.GetName()))
	base, err := f.s.client.baseReplicas(ctx, l.objects, l.workload, serving)
	if err != nil {
		return Aside{}, err
	}
	var kept []*unstructured.Unstructured
	for _, o := range l.objects {
		keep, err := f.canaryNeeds(ctx, l, o)
		if err != nil {
			return Aside{}, err
		}
		if keep {
			kept = append(kept, o)
		}
	}
	l.objects = kept
	l.mark(labelTrack, "canary")
	l.own()
	count := selected(pick, base)
	set(l.workload, count, "spec", "replicas")
	call(append(l.hooks, l.workload), l.services)
	out, err := l.aside(kept)
	out.Instances = count
	return out, err
}

// canaryNeeds says whether an object is for a canary to have: not what sends
// users to it or scales it, and not what is there already for those that serve.
func (f *Foreign) canaryNeeds(ctx context.Context, l *layout, o *unstructured.Unstructured) (bool, error) {
	switch o.GetKind() {
	case l.workload.GetKind():
		return o == l.workload, nil
	case "ConfigMap", "Secret":
		if !annotated(o, annotationSkipVersioning) {
			return true, nil
		}
	case "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "PersistentVolumeClaim":
	default:
		return false, nil
	}
	if l.named(o.GetName()) {
		return true, nil
	}
	live, err := f.s.applier.present(ctx, o)
	return live == nil || live.GetAnnotations()[annotationHelm] == l.Release, err
}

// walkSelectors rewrites the texts of all selectors below a value.
func walkSelectors(v any, to func(string) string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			walkSelectors(item, to)
		}
	case map[string]any:
		for key, value := range v {
			switch key {
			case "selector", "podSelector", "labelSelector":
				v[key] = rewritten(value, to)
			default:
				walkSelectors(value, to)
			}
		}
	}
}

// rewritten is a value with all its texts rewritten, keys aside.
func rewritten(v any, to func(string) string) any {
	switch v := v.(type) {
	case string:
		return to(v)
	case []any:
		for i := range v {
			v[i] = rewritten(v[i], to)
		}
	case map[string]any:
		for key := range v {
			v[key] = rewritten(v[key], to)
		}
	}
	return v
}

// replaceWord replaces a word wherever it stands between what belongs to no
// word: letters, digits and the characters of joins do.
func replaceWord(s, word, with, joins string) string {
	if word == with || word == "" {
		return s
	}
	part := func(c byte) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte(joins, c) >= 0
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i + len(word)
		if strings.HasPrefix(s[i:], word) && (i == 0 || !part(s[i-1])) && (end == len(s) || !part(s[end])) {
			b.WriteString(with)
			i = end
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}
