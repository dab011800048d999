// Package filesource reads where files come from that a document names: the
// store, {type, spec}, of a manifest, of values, of a config file or of a
// step's own files (semantics/entities §2.4).
//
// It fetches nothing and resolves no connector: pkg/resolve says how a store is
// reached, and a delegate fetches. Which stores which files can be in is said
// by who decodes one.
package filesource

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of a store that isn't a Git repository.
const (
	Inline    = "Inline"
	Harness   = "Harness" // the file store
	Script    = "CustomRemote"
	Inherited = "InheritFromManifest" // the main manifest's own
	// S3 is a bucket: one with charts in it, or with files.
	S3 = "S3"
	// Of charts only:
	HTTP = "Http"
	OCI  = "OciHelmChart"
	GCS  = "Gcs"
)

// Git are the types of a store that is a Git repository.
func Git() []string { return []string{"Git", "Github", "GitLab", "Bitbucket", "AzureRepo"} }

// Charts are the types of a store that is a repository of charts.
func Charts() []string { return []string{HTTP, OCI, S3, GCS} }

// Usual are the stores of most files.
func Usual() []string { return append(Git(), Inline, Harness, Script) }

// others are the stores of Harness that some files can't be in, or not yet.
func others(can []string) []string {
	all := []string{Inline, Script, "HarnessCode", HTTP, S3, GCS, "Artifactory", "S3Url", Inherited, Harness, OCI}
	return slices.DeleteFunc(all, func(s string) bool { return slices.Contains(can, s) })
}

// none says why a store of Harness isn't one here; empty for all others.
func none(typ string) string {
	switch typ {
	case "HarnessCode":
		return "Slipway hosts no repositories; use Git with a connector that has the repository's URL"
	case "Artifactory", "S3Url":
		return "it is a store of other kinds of deployments; CustomRemote can download from there"
	}
	return ""
}

// Form is what is wanted of a store.
type Form struct {
	Of     string   // whose files they are, for messages, e.g. HelmChart
	Word   string   // what a store is called in messages; empty: store type
	Stores []string // the types that it can have
	Shape  Shape
}

// Shape is how many files are wanted of a store.
type Shape int

// The shapes.
const (
	Files  Shape = iota // any files and folders
	Folder              // one folder
	File                // one file
)

// Store is where files are. Which fields it has depends on its type.
type Store struct {
	Type       yamldoc.Field[string]
	Repository Repository
	Stored     Stored
	Charts     ChartRepository
	Objects    Objects
	Content    yamldoc.Field[string] // of an Inline store
	Extraction Extraction
	Paths      yamldoc.Field[[]string] // of InheritFromManifest: in the main manifest's store
}

// Repository is a place in a Git repository.
type Repository struct {
	ConnectorRef yamldoc.Field[string]
	FetchType    yamldoc.Field[string] // Branch or Commit
	Branch       yamldoc.Field[string]
	Commit       yamldoc.Field[string] // a commit or a tag
	RepoName     yamldoc.Field[string] // where the connector is for an account
	Paths        yamldoc.Field[[]string]
	FolderPath   yamldoc.Field[string]
}

// Stored are files of the file store, or files that are kept as secrets.
type Stored struct {
	Files   yamldoc.Field[[]string] // or folders
	Secrets yamldoc.Field[[]string]
}

// Objects are files in a bucket of S3, or all below the paths that end in a
// slash.
type Objects struct {
	ConnectorRef yamldoc.Field[string]
	Region       yamldoc.Field[string]
	Bucket       yamldoc.Field[string]
	Paths        yamldoc.Field[[]string]
}

// ChartRepository is a repository of charts.
type ChartRepository struct {
	ConnectorRef yamldoc.Field[string]
	// Of a bucket:
	Region yamldoc.Field[string] // of S3; empty: the bucket's own is asked for
	Bucket yamldoc.Field[string]
	Folder yamldoc.Field[string]
	// Of a registry:
	BasePath   yamldoc.Field[string]
	Registry   yamldoc.Field[string] // Generic, ECR or GAR
	Account    yamldoc.Field[string] // of ECR: registryId
	Project    yamldoc.Field[string] // of GAR
	Repository yamldoc.Field[string] // of GAR
}

// Extraction is a script that a delegate runs in a new folder, and what of
// that folder counts.
type Extraction struct {
	Script    yamldoc.Field[string]
	FilePath  yamldoc.Field[string]
	Selectors yamldoc.Field[[]string]
}

// Decode decodes a store. more are keys that may stand beside its type.
func Decode(d *document.Decoder, v yamldoc.Value, f Form, more ...document.Keys) *Store {
	s := &Store{}
	typ := document.Peek(v, "type")
	word := f.Word
	if word == "" {
		word = "store type"
	}
	d.Fields(v, document.Merge(append(more, document.Keys{
		"type": func(v yamldoc.Value) {
			if reason := none(v.Node.Value); reason != "" && f.Word == "" {
				d.Unsupported(v, "store type %s can't be used: %s", v.Node.Value, reason)
				return
			}
			d.Supported(&s.Type, word, f.Stores, others(f.Stores)...)(v)
		},
		"spec": func(v yamldoc.Value) {
			if slices.Contains(f.Stores, typ) {
				s.spec(d, v, typ, f)
			}
		},
	})...))
	d.Need(v, "type", "spec")
	return s
}

func (s *Store) spec(d *document.Decoder, v yamldoc.Value, typ string, f Form) {
	switch typ {
	case Inline:
		d.Fields(v, document.Keys{"content": d.Text(&s.Content)})
		d.Need(v, "content")
	case Harness:
		s.Stored.decode(d, v, f)
	case Script:
		e := &s.Extraction
		d.Fields(v, document.Keys{"extractionScript": d.Text(&e.Script), "filePath": d.Text(&e.FilePath), "delegateSelectors": d.Words(&e.Selectors)})
		d.Need(v, "extractionScript", "filePath")
	case Inherited:
		d.Fields(v, document.Keys{"paths": d.Words(&s.Paths)})
		d.Need(v, "paths")
		somePaths(d, v)
	case HTTP:
		d.Fields(v, document.Keys{"connectorRef": d.Reference(ref.Connector, &s.Charts.ConnectorRef)})
		d.Need(v, "connectorRef")
	case OCI:
		s.Charts.registry(d, v)
	case S3, GCS:
		if f.Shape == Folder {
			s.Charts.bucket(d, v, typ)
		} else {
			s.Objects.decode(d, v)
		}
	default:
		s.Repository.decode(d, v, f)
	}
}

func (r *Repository) decode(d *document.Decoder, v yamldoc.Value, f Form) {
	d.Fields(v, document.Keys{
		"connectorRef": d.Reference(ref.Connector, &r.ConnectorRef),
		"gitFetchType": d.Word(&r.FetchType, "Branch", "Commit"),
		"branch":       d.Text(&r.Branch),
		"commitId":     d.Text(&r.Commit),
		"repoName":     d.Text(&r.RepoName),
		"paths":        d.Words(&r.Paths),
		"folderPath":   d.Text(&r.FolderPath),
	})
	d.Need(v, "connectorRef", "gitFetchType")
	switch r.FetchType.Value {
	case "Branch":
		d.Need(v, "branch")
	case "Commit":
		d.Need(v, "commitId")
	}
	if f.Shape == Folder {
		d.Need(v, "folderPath")
	} else {
		d.OneOf(v, "paths", "folderPath")
	}
	if paths := document.Child(v, "paths"); f.Shape == File && paths.Is(yamldoc.Sequence) && len(paths.Node.Items) > 1 {
		d.Errorf(paths, document.WrongValue, "found %d paths; an %s is one file", len(paths.Node.Items), f.Of)
	}
	somePaths(d, v)
}

// somePaths warns of a list of paths that is empty, and of no folder beside it.
func somePaths(d *document.Decoder, v yamldoc.Value) {
	if document.Neutral(v.Node.Get("folderPath")) && v.Node.Get("paths") != nil {
		d.Empty(document.Child(v, "paths"), "found no paths: a run finds no files")
	}
}

func (s *Stored) decode(d *document.Decoder, v yamldoc.Value, f Form) {
	known := document.Keys{
		"files": d.Files(&s.Files),
		"file": func(v yamldoc.Value) { // as Harness's schema has it
			var one yamldoc.Field[string]
			d.File(&one)(v)
			s.Files = yamldoc.Field[[]string]{Value: []string{one.Value}, At: one.At, Set: one.Set}
		},
	}
	if f.Shape != Folder {
		known["secretFiles"] = func(v yamldoc.Value) {
			s.Secrets = d.Strings(v)
			for item := range document.Literals(v) {
				var one yamldoc.Field[string]
				d.Reference(ref.Secret, &one)(item)
			}
		}
	}
	d.Fields(v, known)
	if f.Shape == Folder {
		d.OneOf(v, "files", "file")
	} else {
		d.OneOf(v, "files", "file", "secretFiles")
	}
	for _, key := range []string{"files", "secretFiles"} {
		list := document.Child(v, key)
		if f.Shape == Folder && list.Is(yamldoc.Sequence) && len(list.Node.Items) > 1 {
			d.Errorf(list, document.Ambiguous, "found %d files; a %s is one folder", len(list.Node.Items), f.Of)
		}
		if document.Neutral(v.Node.Get("files")) && document.Neutral(v.Node.Get("file")) && document.Neutral(v.Node.Get("secretFiles")) {
			d.Empty(list, "found no %s: a run finds no files", key)
		}
	}
}

// ScriptSource decodes where the text of a script is, {type, spec}: it stands
// there, which script reads, or it is a file of the file store, which file does.
func ScriptSource(d *document.Decoder, script, file document.Rule) document.Rule {
	return func(v yamldoc.Value) {
		typ := document.Peek(v, "type")
		d.Fields(v, document.Keys{
			"type": d.Literal(new(yamldoc.Field[string]), Inline, Harness),
			"spec": func(v yamldoc.Value) {
				switch typ {
				case Inline:
					d.Fields(v, document.Keys{"script": script})
					d.Need(v, "script")
				case Harness:
					d.Fields(v, document.Keys{"file": file})
					d.Need(v, "file")
				}
			},
		})
		d.Need(v, "type", "spec")
	}
}

// registry decodes a registry of charts.
func (c *ChartRepository) registry(d *document.Decoder, v yamldoc.Value) {
	connector := d.Reference(ref.Connector, &c.ConnectorRef)
	specs := map[string]document.Keys{
		"Generic": {"connectorRef": connector},
		"ECR":     {"connectorRef": connector, "region": d.Text(&c.Region), "registryId": d.Text(&c.Account)},
		"GAR":     {"connectorRef": connector, "region": d.Text(&c.Region), "project": d.Text(&c.Project), "repositoryName": d.Text(&c.Repository)},
	}
	needed := map[string][]string{"Generic": {"connectorRef"}, "ECR": {"connectorRef", "region"}, "GAR": {"connectorRef", "region", "project", "repositoryName"}}
	d.Fields(v, document.Keys{
		"basePath": d.Text(&c.BasePath),
		"config": func(v yamldoc.Value) {
			typ := document.Peek(v, "type")
			d.Fields(v, document.Keys{
				"type": d.Literal(&c.Registry, "Generic", "ECR", "GAR"),
				"spec": func(v yamldoc.Value) {
					if specs[typ] != nil {
						d.Fields(v, document.Merge(specs[typ], document.Keys{"metadata": document.Nothing})) // the console's
						d.Need(v, needed[typ]...)
					}
				},
			})
			d.Need(v, "type", "spec")
		},
	})
	d.Need(v, "config")
}

func (o *Objects) decode(d *document.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"connectorRef": d.Reference(ref.Connector, &o.ConnectorRef),
		"region":       d.Text(&o.Region),
		"bucketName":   d.Text(&o.Bucket),
		"paths":        d.Words(&o.Paths),
		"folderPath":   d.Refuse("files in a bucket are named by paths; folderPath isn't supported"),
		"metadata":     document.Nothing, // the console's
	})
	d.Need(v, "connectorRef", "region", "bucketName", "paths")
	somePaths(d, v)
}

func (c *ChartRepository) bucket(d *document.Decoder, v yamldoc.Value, typ string) {
	known := document.Keys{
		"connectorRef": d.Reference(ref.Connector, &c.ConnectorRef),
		"bucketName":   d.Text(&c.Bucket),
		"folderPath":   d.Text(&c.Folder),
		"metadata":     document.Nothing, // the console's
	}
	if typ == S3 {
		known["region"] = d.Text(&c.Region)
		known["paths"] = d.Refuse("charts are found by their names below folderPath; paths aren't supported")
	} else {
		known["manifestPath"] = d.Refuse("charts are found by their names below folderPath; a manifestPath isn't supported")
	}
	d.Fields(v, known)
	d.Need(v, "connectorRef", "bucketName")
}
