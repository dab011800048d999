package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Store is where the files of a manifest are (entities spec §2.4): a Git
// repository, or the document itself.
type Store struct {
	Type    yamldoc.Field[string]
	Git     GitStore
	Charts  yamldoc.Field[string] // the connector of an Http or OciHelmChart store
	Content yamldoc.Field[string] // of an Inline store
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

func gitStores() []string { return []string{"Git", "Github", "GitLab", "Bitbucket"} }

// The stores of charts only.
const (
	storeHTTP = "Http"
	storeOCI  = "OciHelmChart"
)

// stores are those that manifests of a type can be in.
func stores(manifest string) []string {
	if manifest == ManifestHelm {
		return append(gitStores(), storeHTTP, storeOCI)
	}
	return append(gitStores(), "Inline")
}

// otherStores are those of Harness that manifests of a type can't be in, or not yet.
func otherStores(manifest string) []string {
	all := []string{
		"Inline", "CustomRemote", "AzureRepo", "HarnessCode", storeHTTP, "S3", "Gcs", "Artifactory", "S3Url", "InheritFromManifest",
		"Harness", storeOCI,
	}
	return slices.DeleteFunc(all, func(s string) bool { return slices.Contains(stores(manifest), s) })
}

// store decodes the store of a manifest of the given type.
func (d *decoder) store(v yamldoc.Value, manifest string, m *Manifest) {
	s := &m.Store
	typ := peek(v, "type")
	known := keys{
		"type": d.supported(&s.Type, "store type", stores(manifest), otherStores(manifest)...),
		"spec": func(v yamldoc.Value) {
			switch {
			case slices.Contains(gitStores(), typ):
				d.gitStore(v, manifest, &s.Git)
			case typ == storeHTTP && manifest == ManifestHelm:
				d.fields(v, keys{"connectorRef": d.reference(ref.Connector, &s.Charts)})
				d.need(v, "connectorRef")
			case typ == storeOCI && manifest == ManifestHelm:
				d.ociStore(v, s)
			case typ == "Inline" && manifest != ManifestHelm:
				d.fields(v, keys{"content": d.text(&s.Content)})
				d.need(v, "content")
			}
		},
	}
	// Samples of Harness have these one level too deep (entities spec, parser rules).
	for key, decode := range d.release(m) {
		known[key] = func(v yamldoc.Value) {
			d.Warnf(v, misplacedKey, "%q belongs beside the store, not in it; it is read all the same", key)
			decode(v)
		}
	}
	d.fields(v, known)
	d.need(v, "type", "spec")
}

// ociStore decodes a registry of charts.
func (d *decoder) ociStore(v yamldoc.Value, s *Store) {
	var base, kind yamldoc.Field[string]
	d.fields(v, keys{
		"basePath": d.text(&base),
		"config": func(v yamldoc.Value) {
			d.fields(v, keys{
				"type": d.supported(&kind, "registry of charts", []string{"Generic"}, "ECR", "GAR"),
				"spec": func(v yamldoc.Value) {
					if kind.Value == "Generic" || kind.Value == "" {
						d.fields(v, keys{"connectorRef": d.reference(ref.Connector, &s.Charts)})
						d.need(v, "connectorRef")
					}
				},
			})
			d.need(v, "type", "spec")
		},
	})
	d.need(v, "config")
}

func (d *decoder) gitStore(v yamldoc.Value, manifest string, g *GitStore) {
	d.fields(v, keys{
		"connectorRef": d.reference(ref.Connector, &g.ConnectorRef),
		"gitFetchType": d.literal(&g.FetchType, "Branch", "Commit"),
		"branch":       d.text(&g.Branch),
		"commitId":     d.text(&g.Commit),
		"repoName":     d.text(&g.RepoName),
		"paths":        d.words(&g.Paths),
		"folderPath":   d.text(&g.FolderPath),
	})
	d.need(v, "connectorRef", "gitFetchType")
	switch g.FetchType.Value {
	case "Branch":
		d.need(v, "branch")
	case "Commit":
		d.need(v, "commitId")
	}
	switch manifest {
	case ManifestHelm, ManifestKustomize:
		d.need(v, "folderPath")
	default:
		d.oneOf(v, "paths", "folderPath")
	}
	if paths := child(v, "paths"); paths.Is(yamldoc.Sequence) && len(paths.Node.Items) == 0 {
		d.Errorf(paths, emptyList, "found no paths; want one at least")
	}
}
