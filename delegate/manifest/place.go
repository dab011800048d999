package manifest

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// wholeRepository is the path of all files of a repository.
const wholeRepository = ""

// Places are the files in Git repositories that a manifest and the layers above
// it need, so that what is in one repository is fetched at once.
func Places(m *origin.Manifest, layers ...[]origin.ValuesFile) []task.Git {
	var out []task.Git
	all := slices.Concat(layers...)
	if m != nil && m.Store.Git != nil {
		own := place(m)
		for _, v := range all {
			own.Paths = append(own.Paths, v.Store.Inherited...)
		}
		out = append(out, own)
	}
	for _, v := range all {
		if v.Store.Git != nil {
			out = append(out, *v.Store.Git)
		}
	}
	return out
}

// place is where a manifest's files are: its paths, and its own layers beside
// them.
func place(m *origin.Manifest) task.Git {
	g := *m.Store.Git
	g.Paths = slices.Concat(g.Paths, m.ValuesPaths, m.ParamsPaths)
	switch {
	case m.Type == origin.Kustomization && (m.Kustomize == nil || m.Kustomize.Overlay == ""):
		g.Paths = append(g.Paths, wholeRepository) // bases may be anywhere
	case m.Type == origin.Kustomization:
		g.Paths = append(g.Paths, m.Kustomize.PatchesPaths...)
	case m.Chart != nil && m.Chart.FlagsNameFiles():
		g.Paths = append(g.Paths, wholeRepository)
	}
	return g
}

// Needs adds files of a manifest's repository to those that are fetched; none
// mean all of it.
func (s Source) Needs(m *origin.Manifest, paths ...string) Source {
	if m == nil || m.Store.Git == nil {
		return s
	}
	if len(paths) == 0 {
		paths = []string{wholeRepository}
	}
	g := *m.Store.Git
	g.Paths = paths
	s.Places = append(slices.Clip(s.Places), g)
	return s
}

// together is a place with all paths of its repository that are needed.
func (s Source) together(g task.Git) task.Git {
	g.Paths = slices.Clone(g.Paths)
	for _, p := range s.Places {
		if p.URL == g.URL && p.Branch == g.Branch && p.Commit == g.Commit {
			g.Paths = append(g.Paths, p.Paths...)
		}
	}
	return g
}
