package gitops

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Target is what the steps of a stage with these clusters need.
func (c clusters) Target(r swimlane.Reach) (swimlane.Target, error) {
	t := &Target{Clusters: c}
	for _, typ := range []string{kubernetes.ReleaseRepo, kubernetes.DeploymentRepo} {
		found, err := r.Manifests(func(k swimlane.ManifestKind) bool { return k.Type == typ })
		if err != nil {
			return swimlane.Target{}, err
		}
		if len(found) == 0 {
			continue
		}
		last := found[len(found)-1]
		if typ == kubernetes.ReleaseRepo {
			t.Repo, err = c.repo(r, last)
		} else {
			err = c.sets(r, last, t)
		}
		if err != nil {
			return swimlane.Target{}, fault.Wrap(err, "manifest %s", last.ID)
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
	spec, store, err := stored(r, m)
	if err != nil {
		return nil, err
	}
	at := spec.Store.Repository
	if at.FetchType.Value == "Commit" || store.Git.Branch == "" {
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
	out.Git.Paths, out.Files = nil, c.files(spec)
	return out, nil
}

// sets are the files of a manifest with application sets.
func (c clusters) sets(r swimlane.Reach, m swimlane.Manifest, t *Target) error {
	spec, store, err := stored(r, m)
	if err != nil {
		return err
	}
	reach, err := r.Connector(spec.Store.Repository.ConnectorRef.Value)
	if err != nil {
		return err
	}
	t.Near, t.Sets = reach.Selectors, &errand.Files{Git: *store.Git}
	t.Sets.Git.Paths = c.files(spec)
	return nil
}

// stored is where the files of a manifest are.
func stored(r swimlane.Reach, m swimlane.Manifest) (*kubernetes.Repo, task.Store, error) {
	spec, ok := m.Spec.(*kubernetes.Repo)
	if !ok || spec.Store == nil {
		return nil, task.Store{}, fault.New(fault.Unsupported, "it has the type %s; want %s or %s", m.Kind.Type, kubernetes.ReleaseRepo, kubernetes.DeploymentRepo)
	}
	store, err := r.Store(spec.Store, "")
	if err == nil && store.Git == nil {
		err = fault.New(fault.Invalid, "want a store of Git")
	}
	return spec, store, err
}

// files are those of a manifest, for all clusters.
func (c clusters) files(m *kubernetes.Repo) []string {
	at := m.Store.Repository
	paths := at.Paths.Value
	if at.FolderPath.Value != "" {
		paths = append(slices.Clone(paths), at.FolderPath.Value)
	}
	var out []string
	for _, one := range c {
		for _, path := range paths {
			if file := named(one, path); !slices.Contains(out, file) {
				out = append(out, file)
			}
		}
	}
	return out
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
