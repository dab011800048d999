package kubernetes

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The stores that are no Git repositories.
const (
	inlineStore  = "Inline"
	harnessStore = "Harness"
	scriptStore  = "CustomRemote"
	// Inherited is the main manifest's own store, for layers above it.
	Inherited = "InheritFromManifest"
)

// stores are those that a step's own files can be in.
func stores() []string {
	return []string{inlineStore, "Git", "Github", "GitLab", "Bitbucket", "AzureRepo", harnessStore, scriptStore}
}

// otherStores are those that Harness has besides.
func otherStores() []string {
	return []string{"HarnessCode", "Http", "S3", "Gcs", "Artifactory", "S3Url", Inherited, "OciHelmChart"}
}

// Store is where a step's own files are (entities spec §2.4).
type Store struct {
	node *yamldoc.Node
}

// DecodeStore checks {type, spec}; more are types that the files can be in
// besides, such as Inherited. Its connector is resolved when the step starts.
func DecodeStore(r *yamldoc.Report, v yamldoc.Value, more ...string) Store {
	typ, can := word(v, "type"), append(stores(), more...)
	for e := range r.Mapping(v) {
		switch e.Key {
		case "type":
			storeType(r, e, can)
		case "spec":
			switch {
			case !slices.Contains(can, typ):
			case typ == inlineStore:
				some(r, e, "content")
			case typ == harnessStore:
				fileStore(r, e)
			case typ == scriptStore:
				script(r, e)
			case typ == Inherited:
				inherited(r, e)
			default:
				repository(r, e)
			}
		case "metadata": // the console's
		default:
			r.Unknown(e, "type", "spec", "metadata")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "type", "spec")
	}
	return Store{node: v.Node}
}

// word is the text of a mapping's key, wherever it stands.
func word(v yamldoc.Value, key string) string {
	if n := v.Node.Get(key); n != nil && n.Kind == yamldoc.Scalar {
		return n.Value
	}
	return ""
}

func storeType(r *yamldoc.Report, v yamldoc.Value, can []string) {
	f := r.String(v)
	others := slices.DeleteFunc(otherStores(), func(s string) bool { return slices.Contains(can, s) })
	r.Takes(v, yamldoc.UseEnum, can...)
	r.Takes(v, yamldoc.UseRefused, others...)
	want := "one of " + strings.Join(can, ", ")
	switch {
	case !f.Set || slices.Contains(can, f.Value):
	case f.Expr != "":
		r.Errorf(v, "WRONG_VALUE", "found an expression; want %s", want)
	case slices.Contains(others, f.Value):
		r.Unsupported(v, "store type %s isn't supported yet; want %s", f.Value, want)
	default:
		r.Errorf(v, "WRONG_VALUE", "found %q; want %s%s", f.Value, want, r.Hint(f.Value, can))
	}
}

// some checks a mapping of texts.
func some(r *yamldoc.Report, v yamldoc.Value, names ...string) {
	for e := range r.Mapping(v) {
		if !slices.Contains(names, e.Key) {
			r.Unknown(e, names...)
			continue
		}
		r.String(e)
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, names...)
	}
}

func script(r *yamldoc.Report, v yamldoc.Value) {
	for e := range r.Mapping(v) {
		switch e.Key {
		case "extractionScript", "filePath":
			r.String(e)
		case "delegateSelectors":
			r.Strings(e)
		default:
			r.Unknown(e, "extractionScript", "filePath", "delegateSelectors")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "extractionScript", "filePath")
	}
}

func inherited(r *yamldoc.Report, v yamldoc.Value) {
	for e := range r.Mapping(v) {
		if e.Key != "paths" {
			r.Unknown(e, "paths")
			continue
		}
		r.Strings(e)
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "paths")
	}
}

// fileStore decodes files of the file store (entities spec §2.4).
func fileStore(r *yamldoc.Report, v yamldoc.Value) {
	for e := range r.Mapping(v) {
		switch e.Key {
		case "files":
			for _, path := range r.Strings(e).Value {
				step.CheckFile(r, e, path)
			}
		case "file": // as Harness's schema has it
			step.CheckFile(r, e, r.String(e).Value)
		case "secretFiles":
			r.Strings(e)
		default:
			r.Unknown(e, "files", "file", "secretFiles")
		}
	}
	if !v.Is(yamldoc.Mapping) {
		return
	}
	var found []string
	there := false
	for _, key := range []string{"files", "file", "secretFiles"} {
		n := v.Node.Get(key)
		there = there || n != nil
		if n != nil && (n.Kind != yamldoc.Sequence || len(n.Items) > 0) { // an empty list is left over from an editor
			found = append(found, key)
		}
	}
	switch len(found) {
	case 0:
		if !there {
			r.Missing(v, "files")
			return
		}
		r.Warnf(v, "EMPTY_LIST", "found no files: a run finds none")
	case 1:
	default:
		r.Errorf(v, "AMBIGUOUS", "found %s; want only one of them", strings.Join(found, " and "))
	}
}

func repository(r *yamldoc.Report, v yamldoc.Value) {
	fetch := ""
	for e := range r.Mapping(v) {
		switch e.Key {
		case "gitFetchType":
			fetch = r.Enum(e, "Branch", "Commit").Value
		case "connectorRef", "branch", "commitId", "repoName", "folderPath":
			r.String(e)
		case "paths":
			r.Strings(e)
		default:
			r.Unknown(e, "connectorRef", "gitFetchType", "branch", "commitId", "repoName", "paths", "folderPath")
		}
	}
	if !v.Is(yamldoc.Mapping) {
		return
	}
	r.Missing(v, "connectorRef", "gitFetchType")
	switch fetch {
	case "Branch":
		r.Missing(v, "branch")
	case "Commit":
		r.Missing(v, "commitId")
	}
	if v.Node.Get("paths") == nil && v.Node.Get("folderPath") == nil {
		r.Missing(v, "paths")
	}
}

// Selectors are what a delegate must carry to bring the files. The step has
// started.
func (s Store) Selectors() []string {
	var out []string
	if list := s.node.At("spec", "delegateSelectors"); list != nil && word(yamldoc.Sub(s.node, ""), "type") == scriptStore {
		for _, item := range list.Items {
			out = append(out, item.Value)
		}
	}
	return out
}

// Resolve finds out how the store is reached. The step has started.
func (s Store) Resolve(in step.In) (task.Store, error) {
	if in.Store == nil {
		return task.Store{}, fault.New(fault.Unsupported, "stores can't be resolved here")
	}
	return in.Store(s.node)
}
