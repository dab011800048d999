// Package render makes the objects of an application of its sources: of plain
// manifests and Jsonnet, charts, and Kustomize folders (semantics/gitops §4).
//
// What was read is remembered together with what came of it, so that a revision in
// which nothing of that has changed isn't rendered. Which revision is meant and how
// its files come here is delegate/gitops/source's.
package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

const (
	// version is a part of each key: it is another when the same files become other
	// objects.
	version = "1"
	// maxTime is how long rendering an application may take.
	maxTime = time.Minute
	// maxManifests is how many bytes the manifests of an application may have.
	maxManifests = 10 << 20
	// maxObjects is how many objects an application may have; from manyObjects on
	// people are told.
	maxObjects, manyObjects = 5000, 2500
)

// Renderer renders applications. It is for many goroutines.
type Renderer struct {
	sources *source.Sources
	sandbox *sandbox.Sandbox
	kept    kept
}

// New makes a Renderer that keeps what was rendered in a folder.
func New(sources *source.Sources, box *sandbox.Sandbox, dir string) *Renderer {
	return &Renderer{sources: sources, sandbox: box, kept: kept{dir: dir}}
}

// Request is what is to be rendered, for what.
type Request struct {
	App         string // its name
	Namespace   string // of the destination
	Project     string
	Sources     []gitops.Source
	Revisions   []string // beside Sources, as source.Sources found them
	Known       *access.Known
	KubeVersion string   // of the cluster; empty: unknown
	APIVersions []string // group/version and group/version/Kind
	Have        string   // key of the objects that the caller has; empty: none
	Hard        bool     // what is kept doesn't count
}

// Result is what an application is to be.
type Result struct {
	// Key is the same if the objects are.
	Key string
	// Objects are those of all sources in their order, lists expanded; nil if the
	// caller has them.
	Objects    []*unstructured.Unstructured
	Conditions []gitops.Condition
	// Unstable are the fields that are others each time, such as generated
	// passwords, as JSON pointers.
	Unstable map[object.Key][]string
	// Rendered says that it had to be rendered.
	Rendered bool
}

// Render gives the objects of an application.
func (r *Renderer) Render(ctx context.Context, q Request) (Result, error) {
	if len(q.Sources) == 0 || len(q.Revisions) != len(q.Sources) {
		return Result{}, fault.New(fault.Invalid, "application %s has %d sources and %d revisions; want one for each source, and at least one", q.App, len(q.Sources), len(q.Revisions))
	}
	ctx, stop := context.WithTimeoutCause(ctx, maxTime, fault.New(fault.TooLarge, "rendering application %s took more than %s", q.App, maxTime))
	defer stop()
	j, err := r.open(ctx, q)
	if err != nil {
		return Result{}, err
	}
	about, err := q.digest()
	if err != nil {
		return Result{}, err
	}
	if !q.Hard {
		if out, ok, err := r.known(ctx, j, about); err != nil || ok {
			return out, err
		}
	}
	var out Result
	for i := range q.Sources {
		objects, err := j.source(ctx, i)
		if err != nil {
			return Result{}, err
		}
		out.Objects = append(out.Objects, objects...)
	}
	if err := j.count(&out); err != nil {
		return Result{}, err
	}
	out.Objects, out.Conditions = last(out.Objects, append(out.Conditions, j.notices...))
	out.unstable(j.unstable)
	seen := j.seen()
	out.Key, out.Rendered = keyOf(about, seen), true
	r.kept.put(about, seen, out)
	if out.Key == q.Have {
		out.Objects = nil
	}
	return out, nil
}

// job is one application that is rendered.
type job struct {
	Request

	sources *source.Sources
	sandbox *sandbox.Sandbox
	files   []*source.Files   // beside the sources
	remotes []*source.Files   // other repositories that a kustomization names
	used    map[string]string // variables of the build that change with a revision
	notices []gitops.Condition
	// unstable are fields of objects of which two renders differ.
	unstable map[object.Key][]string
}

func (r *Renderer) open(ctx context.Context, q Request) (*job, error) {
	j := &job{Request: q, sources: r.sources, sandbox: r.sandbox, used: map[string]string{}, unstable: map[object.Key][]string{}}
	for i := range q.Sources {
		files, err := r.sources.Open(ctx, q.Project, &q.Sources[i], q.Known, q.Revisions[i])
		if err != nil {
			return nil, err
		}
		j.files = append(j.files, files)
	}
	return j, nil
}

// known gives what was rendered of the same files before, if it was.
func (r *Renderer) known(ctx context.Context, j *job, about string) (Result, bool, error) {
	before, ok := r.kept.seen(about)
	if !ok || len(before) != len(j.files)+1 {
		return Result{}, false, nil
	}
	for what, value := range before[len(j.files)] {
		now, err := j.now(ctx, what)
		if err != nil {
			return Result{}, false, err
		}
		if now != value {
			return Result{}, false, nil
		}
	}
	for i, files := range j.files {
		now, err := files.Now(ctx, before[i])
		if err != nil {
			return Result{}, false, err
		}
		if !maps.Equal(now, before[i]) {
			return Result{}, false, nil
		}
	}
	key := keyOf(about, before)
	if key == j.Have {
		return Result{Key: key}, true, nil
	}
	out, ok := r.kept.get(key)
	return out, ok, nil
}

// now is what something that was used before is at present.
func (j *job) now(ctx context.Context, what string) (string, error) {
	if what == clusterFacts {
		return j.facts(), nil
	}
	index, name, _ := strings.Cut(what, " ")
	if index == askRemote {
		repository, revision, _ := strings.Cut(name, " ")
		return j.remoteCommit(ctx, repository, revision)
	}
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(j.Sources) {
		return "", nil
	}
	value, _ := j.variable(&part{Source: j.Sources[i], revision: j.Revisions[i]}, name)
	return value, nil
}

// seen is what was read of each source, and then which variables were used.
func (j *job) seen() []map[string]string {
	var out []map[string]string
	for _, f := range j.files {
		out = append(out, f.Seen())
	}
	return append(out, maps.Clone(j.used))
}

// digest names all that objects depend on besides files.
func (q *Request) digest() (string, error) {
	about := struct {
		Version, App, Namespace, Project string
		Sources                          []gitops.Source
	}{version, q.App, q.Namespace, q.Project, slices.Clone(q.Sources)}
	for i := range about.Sources {
		about.Sources[i].TargetRevision = "" // only what it means counts
	}
	doc, err := json.Marshal(about)
	if err != nil {
		return "", fmt.Errorf("name what is rendered: %w", err)
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:]), nil
}

// keyOf names what comes of files and all else.
func keyOf(about string, seen []map[string]string) string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, about) // a hash takes all
	for i, one := range seen {
		for _, what := range slices.Sorted(maps.Keys(one)) {
			_, _ = fmt.Fprintf(h, "%d %q %s\n", i, what, one[what])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// count refuses too many objects, and warns of many.
func (j *job) count(out *Result) error {
	switch n := len(out.Objects); {
	case n > maxObjects:
		return fault.New(fault.TooLarge, "application %s has %d objects; want at most %d", j.App, n, maxObjects).Causing(fault.ResourceLimitsFailure)
	case n >= manyObjects:
		out.Conditions = append(out.Conditions, gitops.Condition{
			Type: gitops.ConditionManyObjects, Message: fmt.Sprintf("the application has %d objects; more than %d can't be synced", n, maxObjects),
		})
	}
	return nil
}

// last leaves of objects with one key the last, and says so.
func last(all []*unstructured.Unstructured, notices []gitops.Condition) ([]*unstructured.Unstructured, []gitops.Condition) {
	place := map[object.Key]int{}
	out := all[:0:0]
	for _, o := range all {
		key := KeyOf(o)
		i, twice := place[key]
		if !twice || key.Name == "" {
			place[key] = len(out)
			out = append(out, o)
			continue
		}
		out[i] = o
		notices = append(notices, gitops.Condition{Type: gitops.ConditionRepeatedResource, Message: fmt.Sprintf("%s is in the manifests more than once; the last counts", key)})
	}
	return out, notices
}

// KeyOf is the key of an object, with the namespace that it names.
func KeyOf(o *unstructured.Unstructured) object.Key {
	gvk := o.GroupVersionKind()
	return object.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}
