package kubernetes

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
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

// Store is where a step's own files are (semantics/entities §2.4).
type Store struct {
	node *yamldoc.Node
}

// DecodeStore checks {type, spec}; more are types that the files can be in
// besides, such as Inherited. Its connector is resolved when the step starts.
func DecodeStore(d *document.Decoder, v yamldoc.Value, more ...string) Store {
	var kind yamldoc.Field[string]
	typ, can := document.Peek(v, "type"), append(stores(), more...)
	others := slices.DeleteFunc(otherStores(), func(s string) bool { return slices.Contains(can, s) })
	d.Fields(v, document.Keys{
		"type": d.Supported(&kind, "store type", can, others...),
		"spec": func(e yamldoc.Value) {
			switch {
			case !slices.Contains(can, typ):
			case typ == inlineStore:
				inline(d, e)
			case typ == harnessStore:
				fileStore(d, e)
			case typ == scriptStore:
				script(d, e)
			case typ == Inherited:
				inherited(d, e)
			default:
				repository(d, e)
			}
		},
		"metadata": document.Nothing, // the console's
	})
	d.Need(v, "type", "spec")
	return Store{node: v.Node}
}

func inline(d *document.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{"content": d.Text(nil)})
	d.Need(v, "content")
}

func script(d *document.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"extractionScript":  d.Text(nil),
		"filePath":          d.Text(nil),
		"delegateSelectors": d.Words(nil),
	})
	d.Need(v, "extractionScript", "filePath")
}

func inherited(d *document.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{"paths": d.Words(nil)})
	d.Need(v, "paths")
}

// fileStore decodes files of the file store (semantics/entities §2.4).
func fileStore(d *document.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"files": func(e yamldoc.Value) {
			for _, path := range d.Strings(e).Value {
				step.CheckFile(d, e, path)
			}
		},
		"file":        func(e yamldoc.Value) { step.CheckFile(d, e, d.String(e).Value) }, // as Harness's schema has it
		"secretFiles": d.Words(nil),
	})
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
			d.Missing(v, "files")
			return
		}
		d.Warnf(v, "EMPTY_LIST", "found no files: a run finds none")
	case 1:
	default:
		d.Errorf(v, "AMBIGUOUS", "found %s; want only one of them", strings.Join(found, " and "))
	}
}

func repository(d *document.Decoder, v yamldoc.Value) {
	fetch := ""
	d.Fields(v, document.Keys{
		"gitFetchType": func(e yamldoc.Value) { fetch = d.Enum(e, "Branch", "Commit").Value },
		"connectorRef": d.Text(nil),
		"branch":       d.Text(nil),
		"commitId":     d.Text(nil),
		"repoName":     d.Text(nil),
		"folderPath":   d.Text(nil),
		"paths":        d.Words(nil),
	})
	if !v.Is(yamldoc.Mapping) {
		return
	}
	d.Missing(v, "connectorRef", "gitFetchType")
	switch fetch {
	case "Branch":
		d.Missing(v, "branch")
	case "Commit":
		d.Missing(v, "commitId")
	}
	if v.Node.Get("paths") == nil && v.Node.Get("folderPath") == nil {
		d.Missing(v, "paths")
	}
}

// Selectors are what a delegate must carry to bring the files. The step has
// started.
func (s Store) Selectors() []string {
	var out []string
	if list := s.node.At("spec", "delegateSelectors"); list != nil && document.Peek(yamldoc.Sub(s.node, ""), "type") == scriptStore {
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
