package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Store is where the files of a manifest are (semantics/entities §2.4). Which
// fields it has depends on its type.
type Store struct {
	Type    yamldoc.Field[string]
	Git     GitStore
	Files   FileStore
	Charts  yamldoc.Field[string] // the connector of an Http, OciHelmChart, S3 or Gcs store
	Bucket  BucketStore
	Content yamldoc.Field[string] // of an Inline store
	Script  ScriptStore
	Paths   yamldoc.Field[[]string] // of InheritFromManifest: in the main manifest's store
}

// BucketStore is a folder of a bucket with charts in it.
type BucketStore struct {
	Region yamldoc.Field[string] // of S3; empty: the bucket's own is asked for
	Name   yamldoc.Field[string]
	Folder yamldoc.Field[string]
}

// ScriptStore is a CustomRemote store: a script that a delegate runs in a new
// folder, and what of that folder counts.
type ScriptStore struct {
	Script    yamldoc.Field[string]
	FilePath  yamldoc.Field[string]
	Selectors yamldoc.Field[[]string]
}

// GitStore is a place in a Git repository.
type GitStore struct {
	ConnectorRef yamldoc.Field[string]
	FetchType    yamldoc.Field[string] // Branch or Commit
	Branch       yamldoc.Field[string]
	Commit       yamldoc.Field[string] // a commit or a tag
	RepoName     yamldoc.Field[string] // where the connector is for an account
	Paths        yamldoc.Field[[]string]
	FolderPath   yamldoc.Field[string]
}

func gitStores() []string { return []string{"Git", "Github", "GitLab", "Bitbucket", "AzureRepo"} }

// The stores that aren't Git repositories.
const (
	storeInline    = "Inline"
	storeScript    = "CustomRemote"
	storeInherited = "InheritFromManifest"
	// Of charts only:
	storeHTTP = "Http"
	storeOCI  = "OciHelmChart"
	storeS3   = "S3"
	storeGCS  = "Gcs"
)

// chartStores are the repositories of charts.
func chartStores() []string { return []string{storeHTTP, storeOCI, storeS3, storeGCS} }

// stores are those that manifests of a type can be in.
func stores(manifest string) []string {
	switch manifest {
	case ManifestHelm:
		return append(append(gitStores(), chartStores()...), storeHarness, storeScript)
	case ManifestKustomize:
		return append(gitStores(), storeHarness)
	case ManifestPatches:
		return append(gitStores(), storeInline, storeHarness, storeInherited)
	case ManifestValues, ManifestParams:
		return append(gitStores(), storeInline, storeHarness, storeScript, storeInherited)
	}
	return append(gitStores(), storeInline, storeHarness, storeScript)
}

// otherStores are those of Harness that manifests of a type can't be in, or not yet.
func otherStores(manifest string) []string {
	all := []string{
		storeInline, storeScript, "HarnessCode", storeHTTP, storeS3, storeGCS, "Artifactory", "S3Url", storeInherited,
		storeHarness, storeOCI,
	}
	return slices.DeleteFunc(all, func(s string) bool { return slices.Contains(stores(manifest), s) })
}

// noStore says why a store of Harness isn't one here; empty for all others.
func noStore(typ string) string {
	switch typ {
	case "HarnessCode":
		return "Slipway hosts no repositories; use Git with a connector that has the repository's URL"
	case "Artifactory", "S3Url":
		return "it is a store of other kinds of deployments; CustomRemote can download from there"
	}
	return ""
}

// store decodes the store of a manifest of the given type.
func (d *decoder) store(v yamldoc.Value, manifest string, m *Manifest) {
	s := &m.Store
	typ := document.Peek(v, "type")
	known := document.Keys{
		"type": func(v yamldoc.Value) {
			if reason := noStore(v.Node.Value); reason != "" {
				d.Unsupported(v, "store type %s can't be used: %s", v.Node.Value, reason)
				return
			}
			d.Supported(&s.Type, "store type", stores(manifest), otherStores(manifest)...)(v)
		},
		"spec": func(v yamldoc.Value) {
			switch {
			case slices.Contains(gitStores(), typ):
				d.gitStore(v, manifest, &s.Git)
			case typ == storeHTTP && manifest == ManifestHelm:
				d.Fields(v, document.Keys{"connectorRef": d.reference(ref.Connector, &s.Charts)})
				d.Need(v, "connectorRef")
			case typ == storeOCI && manifest == ManifestHelm:
				d.ociStore(v, s)
			case !slices.Contains(stores(manifest), typ):
			case typ == storeHarness:
				d.fileStore(v, manifest, &s.Files)
			case typ == storeS3 || typ == storeGCS:
				d.bucketStore(v, typ, s)
			case typ == storeInline:
				d.Fields(v, document.Keys{"content": d.Text(&s.Content)})
				d.Need(v, "content")
			case typ == storeScript:
				d.scriptStore(v, &s.Script)
			case typ == storeInherited:
				d.Fields(v, document.Keys{"paths": d.Words(&s.Paths)})
				d.Need(v, "paths")
				d.somePaths(v)
			}
		},
	}
	// Samples of Harness have these one level too deep.
	for key, decode := range d.release(m) {
		known[key] = func(v yamldoc.Value) {
			d.Warnf(v, misplacedKey, "%q belongs beside the store, not in it; it is read all the same", key)
			decode(v)
		}
	}
	d.Fields(v, known)
	d.Need(v, "type", "spec")
}

// ociStore decodes a registry of charts.
func (d *decoder) ociStore(v yamldoc.Value, s *Store) {
	var base, kind, other yamldoc.Field[string]
	connector := d.reference(ref.Connector, &s.Charts)
	specs := map[string]document.Keys{
		"Generic": {"connectorRef": connector},
		"ECR":     {"connectorRef": connector, "region": d.Text(&other), "registryId": d.Text(&other)},
		"GAR":     {"connectorRef": connector, "region": d.Text(&other), "project": d.Text(&other), "repositoryName": d.Text(&other)},
	}
	needed := map[string][]string{"Generic": {"connectorRef"}, "ECR": {"connectorRef", "region"}, "GAR": {"connectorRef", "region", "project", "repositoryName"}}
	d.Fields(v, document.Keys{
		"basePath": d.Text(&base),
		"config": func(v yamldoc.Value) {
			typ := document.Peek(v, "type")
			d.Fields(v, document.Keys{
				"type": d.Literal(&kind, "Generic", "ECR", "GAR"),
				"spec": func(v yamldoc.Value) {
					if specs[typ] != nil {
						d.Fields(v, document.Merge(specs[typ], document.Keys{"metadata": func(yamldoc.Value) {}})) // the console's
						d.Need(v, needed[typ]...)
					}
				},
			})
			d.Need(v, "type", "spec")
		},
	})
	d.Need(v, "config")
}

func (d *decoder) gitStore(v yamldoc.Value, manifest string, g *GitStore) {
	d.Fields(v, document.Keys{
		"connectorRef": d.reference(ref.Connector, &g.ConnectorRef),
		"gitFetchType": d.Literal(&g.FetchType, "Branch", "Commit"),
		"branch":       d.Text(&g.Branch),
		"commitId":     d.Text(&g.Commit),
		"repoName":     d.Text(&g.RepoName),
		"paths":        d.Words(&g.Paths),
		"folderPath":   d.Text(&g.FolderPath),
	})
	d.Need(v, "connectorRef", "gitFetchType")
	switch g.FetchType.Value {
	case "Branch":
		d.Need(v, "branch")
	case "Commit":
		d.Need(v, "commitId")
	}
	switch manifest {
	case ManifestHelm, ManifestKustomize:
		d.Need(v, "folderPath")
	default:
		d.OneOf(v, "paths", "folderPath")
	}
	if paths := document.Child(v, "paths"); manifest == ManifestOpenshift && paths.Is(yamldoc.Sequence) && len(paths.Node.Items) > 1 {
		d.Errorf(paths, document.WrongValue, "found %d paths; an OpenshiftTemplate is one file", len(paths.Node.Items))
	}
	d.somePaths(v)
}

// somePaths warns of a list of paths that is empty, and of no folder beside it.
func (d *decoder) somePaths(v yamldoc.Value) {
	if document.Neutral(v.Node.Get("folderPath")) && v.Node.Get("paths") != nil {
		d.empty(document.Child(v, "paths"), "found no paths: a run finds no files")
	}
}

func (d *decoder) bucketStore(v yamldoc.Value, typ string, s *Store) {
	known := document.Keys{
		"connectorRef": d.reference(ref.Connector, &s.Charts),
		"bucketName":   d.Text(&s.Bucket.Name),
		"folderPath":   d.Text(&s.Bucket.Folder),
		"metadata":     document.Nothing, // the console's
	}
	if typ == storeS3 {
		known["region"] = d.Text(&s.Bucket.Region)
		known["paths"] = d.Refuse("charts are found by their names below folderPath; paths aren't supported")
	} else {
		known["manifestPath"] = d.Refuse("charts are found by their names below folderPath; a manifestPath isn't supported")
	}
	d.Fields(v, known)
	d.Need(v, "connectorRef", "bucketName")
}

func (d *decoder) scriptStore(v yamldoc.Value, s *ScriptStore) {
	d.Fields(v, document.Keys{
		"extractionScript":  d.Text(&s.Script),
		"filePath":          d.Text(&s.FilePath),
		"delegateSelectors": d.Words(&s.Selectors),
	})
	d.Need(v, "extractionScript", "filePath")
}
