// Package argo reads the documents of Argo CD, argoproj.io/v1alpha1 and the Secrets
// and ConfigMaps beside them, into the types of pkg/gitops, and says with their
// places what is wrong with them.
//
// Every field of Argo CD's types is read. What Argo CD's own controller could do
// nothing with is refused; what means something else here is told
// (semantics/gitops §1). What a server writes, such as status, is passed over. A text may hold <+:
// it is a text all the same, since these documents have no expressions.
package argo

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The kinds of documents. Those behind the first three are Secrets and ConfigMaps to
// Kubernetes.
const (
	KindApplication     = "Application"
	KindApplicationSet  = "ApplicationSet"
	KindAppProject      = "AppProject"
	KindRepository      = "Repository"
	KindRepoCredentials = "RepoCredentials"
	KindCluster         = "Cluster"
	KindSettings        = "Settings"
)

// labelSecret says what Argo CD takes a Secret for.
const labelSecret = "argocd.argoproj.io/secret-type" //nolint:gosec // the name of a label

// Kind is the kind of a document of Argo CD; empty: it is none. Secrets are told by
// their label, and ConfigMaps by their names.
func Kind(doc *yamldoc.Node) string {
	switch group, kind := doc.Text("apiVersion"), doc.Text("kind"); {
	case group == gitops.APIVersion:
		return kind
	case group == "v1" && kind == "Secret":
		label := doc.At("metadata", "labels", labelSecret)
		if label == nil {
			return ""
		}
		return map[string]string{"repository": KindRepository, "repo-creds": KindRepoCredentials, "cluster": KindCluster}[label.Value]
	case group == "v1" && kind == "ConfigMap":
		if name := doc.At("metadata", "name"); name != nil && slices.Contains(configMaps(), name.Value) {
			return KindSettings
		}
	}
	return ""
}

// Kinds are those that are saved.
func Kinds() []string {
	return []string{KindApplication, KindApplicationSet, KindAppProject, KindRepository, KindRepoCredentials, KindCluster, KindSettings}
}

// AnnotationAgent says in a document which agent it is for.
const AnnotationAgent = object.Prefix + "agent"

// Is says whether a document is one of Argo CD's that is saved as it is.
func Is(doc *yamldoc.Node) bool { return slices.Contains(Kinds(), Kind(doc)) }

// Object names an object of Kubernetes by its kind and its name, such as Secret
// argocd-secret; empty: the document is none.
func Object(doc *yamldoc.Node) string {
	kind, name := doc.Text("kind"), doc.At("metadata", "name")
	if doc.Text("apiVersion") == "" || kind == "" || name == nil {
		return ""
	}
	return kind + " " + name.Value
}

// Agent is the agent that a document says it is for.
func Agent(doc *yamldoc.Node) string {
	if n := doc.At("metadata", "annotations", AnnotationAgent); n != nil {
		return n.Value
	}
	return ""
}

// Codes of findings.
const (
	noSource   = "NO_SOURCE"
	otherwise  = "MEANS_SOMETHING_ELSE" // than to Argo CD
	badPointer = "BAD_POINTER"
	badPath    = "BAD_PATH"
	badRule    = "BAD_RULE"
)

// decoder reads values without places: what is wrong is said at once.
type decoder struct {
	*document.Decoder
	values *Values // of a document that has such
	// template says that texts may hold parameters, and that what is missing may yet
	// come.
	template bool
}

func (d decoder) text(to *string) document.Rule {
	return func(v yamldoc.Value) { *to = d.String(v).Value }
}

func (d decoder) flag(to *bool) document.Rule {
	return func(v yamldoc.Value) { *to = d.Bool(v).Value }
}

// maybe is flag where nothing means something of its own.
func (d decoder) maybe(to **bool) document.Rule {
	return func(v yamldoc.Value) {
		if f := d.Bool(v); f.Set {
			*to = &f.Value
		}
	}
}

func (d decoder) number(to *int64) document.Rule {
	return func(v yamldoc.Value) { *to = int64(d.Int(v).Value) }
}

func (d decoder) words(to *[]string) document.Rule {
	return func(v yamldoc.Value) { *to = d.Strings(v).Value }
}

func (d decoder) texts(to *map[string]string) document.Rule {
	return func(v yamldoc.Value) { *to = d.StringMap(v).Value }
}

// list reads the items of a list.
func list[T any](d decoder, to *[]T, read func(decoder, yamldoc.Value) T) document.Rule {
	return func(v yamldoc.Value) {
		*to = nil
		for item := range d.Items(v) {
			*to = append(*to, read(d, item))
		}
	}
}

// part reads a mapping that may be absent.
func part[T any](d decoder, to **T, read func(decoder, yamldoc.Value) T) document.Rule {
	return func(v yamldoc.Value) {
		got := read(d, v)
		if *to = nil; !v.Null() {
			*to = &got
		}
	}
}

// whole reads a mapping.
func whole[T any](d decoder, to *T, read func(decoder, yamldoc.Value) T) document.Rule {
	return func(v yamldoc.Value) { *to = read(d, v) }
}

// raw keeps a value of any form as JSON.
func (d decoder) raw(to *json.RawMessage) document.Rule {
	return func(v yamldoc.Value) {
		if v.Null() {
			return
		}
		doc, err := json.Marshal(v.Node.Any())
		if err != nil {
			d.Errorf(v, document.WrongType, "found what JSON can't say: %v", err)
			return
		}
		*to = doc
	}
}

// object is the part of a document that all kinds have.
func (d decoder) object(v yamldoc.Value, kind string, meta *gitops.Meta, keys document.Keys) {
	var said yamldoc.Field[string]
	d.Fields(v, document.Merge(document.Keys{
		"apiVersion": d.Literal(&said, gitops.APIVersion),
		"kind":       d.Literal(&said, kind),
		"metadata":   whole(d, meta, metadata),
		"status":     document.Nothing,
	}, keys))
	d.Need(v, "metadata", "spec")
}

func metadata(d decoder, v yamldoc.Value) gitops.Meta {
	var m gitops.Meta
	d.Named(v, "gitopsMetadata")
	keys := document.Keys{
		"name": d.text(&m.Name), "namespace": d.text(&m.Namespace), "labels": d.texts(&m.Labels),
		"annotations": d.texts(&m.Annotations), "finalizers": d.words(&m.Finalizers),
	}
	for _, servers := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp",
		"deletionGracePeriodSeconds", "ownerReferences", "generateName",
	} {
		keys[servers] = document.Nothing
	}
	d.Fields(v, keys)
	d.Need(v, "name")
	delete(m.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	for _, name := range sortedNames(m.Annotations) {
		for _, other := range []string{"notifications.argoproj.io/", "argocd-image-updater.argoproj.io/"} {
			if strings.HasPrefix(name, other) {
				d.Warnf(document.Child(document.Child(v, "annotations"), name), otherwise, "%s is for a tool beside Argo CD, and is left to it", name)
			}
		}
	}
	return m
}

// duration reports what is no duration as Argo CD reads one: Go's, or seconds.
func (d decoder) duration(to *string) document.Rule {
	return func(v yamldoc.Value) {
		*to = d.String(v).Value
		if *to != "" && !isDuration(*to) && !d.open(*to) {
			d.Errorf(v, document.WrongValue, "found %q; want a duration such as 30s or 3m", yamldoc.Shorten(*to))
		}
	}
}

func isDuration(text string) bool {
	if strings.Trim(text, "0123456789") == "" {
		return true
	}
	_, err := time.ParseDuration(text)
	return err == nil
}

func info(d decoder, v yamldoc.Value) gitops.Info {
	var i gitops.Info
	d.Named(v, "gitopsInfo")
	d.Fields(v, document.Keys{"name": d.text(&i.Name), "value": d.text(&i.Value)})
	d.Need(v, "name")
	return i
}
