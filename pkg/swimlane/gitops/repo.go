package gitops

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// Target is what the steps of a stage with these clusters need.
func (c clusters) Target(r swimlane.Reach) (swimlane.Target, error) {
	t := &Target{Clusters: c}
	found, err := r.Manifests(func(k swimlane.ManifestKind) bool { return k.Type == kubernetes.ReleaseRepo })
	if err != nil {
		return swimlane.Target{}, err
	}
	if len(found) > 0 {
		if t.Repo, err = c.repo(r, found[len(found)-1]); err != nil {
			return swimlane.Target{}, fault.Wrap(err, "manifest %s", found[len(found)-1].ID)
		}
	}
	image, version, err := r.Artifact()
	if err != nil || image == "" {
		image = version // it is told with the stage alone
	}
	return swimlane.Target{Spec: t, Image: image}, nil
}

// repo is the repository of a manifest, with the files of all clusters.
func (c clusters) repo(r swimlane.Reach, m swimlane.Manifest) (*Repo, error) {
	spec, ok := m.Spec.(*kubernetes.Repo)
	if !ok || spec.Store == nil {
		return nil, fault.New(fault.Unsupported, "it has the type %s; want %s", m.Kind.Type, kubernetes.ReleaseRepo)
	}
	store, err := r.Store(spec.Store, "")
	if err != nil {
		return nil, err
	}
	at := spec.Store.Repository
	if at.FetchType.Value == "Commit" || store.Git == nil || store.Git.Branch == "" {
		return nil, fault.New(fault.Invalid, "releases are written to a branch; want a store of Git with the gitFetchType Branch")
	}
	host, err := r.Connector(at.ConnectorRef.Value)
	if err != nil {
		return nil, err
	}
	out := &Repo{Git: *store.Git, Selectors: host.Selectors}
	if out.Host, err = host.Host(at.RepoName.Value); err != nil {
		return nil, err
	}
	out.Git.Paths = nil
	paths := at.Paths.Value
	if at.FolderPath.Value != "" {
		paths = append(slices.Clone(paths), at.FolderPath.Value)
	}
	for _, one := range c {
		for _, path := range paths {
			if file := named(one, path); !slices.Contains(out.Files, file) {
				out.Files = append(out.Files, file)
			}
		}
	}
	return out, nil
}

// named is a path with the names of a cluster in place. One that has no name of its
// own is called by its identifier.
func named(c errand.Cluster, path string) string {
	name := c.Name
	if name == "" || name == c.Server {
		name = c.Identifier
	}
	return strings.NewReplacer("<+cluster.name>", name, "<+cluster.identifier>", c.Identifier, "<+cluster.agent>", c.Agent).Replace(path)
}
