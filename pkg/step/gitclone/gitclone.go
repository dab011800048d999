// Package gitclone is the step type GitClone: a repository is brought into the
// workspace of the step's group, or of its stage, with the last of its history.
//
// Outputs: output.commitId, output.folder and output.outputVariables, the texts of
// the files that the step names.
package gitclone

import (
	"path"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Name is the type's, as in YAML.
const Name = "GitClone"

// usual is how many commits a clone has that doesn't say.
const usual = 50

// Type describes the step type.
func Type() step.Type { return step.Type{Name: Name, Session: true, Brings: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	ConnectorRef yamldoc.Field[string]
	RepoName     yamldoc.Field[string]
	Build        yamldoc.Field[string] // what is checked out: a branch, a tag or a commit
	Branch       yamldoc.Field[string]
	Tag          yamldoc.Field[string]
	Commit       yamldoc.Field[string]
	Directory    yamldoc.Field[string]
	Depth        yamldoc.Field[int]
	Tags         yamldoc.Field[bool]
	Told         yamldoc.Field[[]string]
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(workspace.Pod(d), document.Keys{
		"connectorRef":           d.Reference(ref.Connector, &s.ConnectorRef),
		"repoName":               d.Text(&s.RepoName),
		"build":                  func(v yamldoc.Value) { s.build(d, v) },
		"cloneDirectory":         workspace.Inside(d, &s.Directory),
		"depth":                  d.Count(&s.Depth),
		"fetchTags":              d.Flag(&s.Tags),
		"outputFilePathsContent": workspace.InsideAll(d, &s.Told),
		"sslVerify": func(v yamldoc.Value) {
			f := d.Bool(v)
			d.Without(v, "false", f.Set && f.Expr == "" && !f.Value, "certificates of Git hosts are always verified; give the delegate the authority that has signed yours")
		},
		"submoduleStrategy":      d.Refuse("clones with submodules aren't supported"),
		"lfs":                    d.Refuse("clones with files of Git LFS aren't supported"),
		"sparseCheckout":         d.Refuse("clones of some folders alone aren't supported"),
		"preFetchCommand":        d.Refuse("a command before the clone isn't supported"),
		"projectName":            d.Refuse("the project is part of the connector's URL; naming another isn't supported"),
		"debug":                  d.Idle("what git says is in the log when it fails", d.Flag(nil)),
		"baseImageConnectorRefs": d.Idle("files are brought by the delegate itself", d.Words(nil)),
	}))
	d.Need(v, "connectorRef", "build")
	return s
}

// build decodes what is checked out.
func (s *Spec) build(d *document.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	specs := map[string]document.Keys{
		"branch":    {"branch": d.Text(&s.Branch)},
		"tag":       {"tag": d.Text(&s.Tag)},
		"commitSha": {"commitSha": d.Text(&s.Commit)},
	}
	d.Fields(v, document.Keys{
		"type": d.Supported(&s.Build, "build type", []string{"branch", "tag", "commitSha"}, "PR"),
		"spec": func(v yamldoc.Value) {
			if specs[typ] != nil {
				d.Fields(v, specs[typ])
				d.Need(v, typ)
			}
		},
	})
	d.Need(v, "type", "spec")
}

// Start has the delegate of the session bring the repository.
func (s *Spec) Start(in step.In) (step.Action, error) {
	session, err := workspace.Session(in)
	if err != nil {
		return step.Action{}, err
	}
	from := filesource.Repository{ConnectorRef: s.ConnectorRef, RepoName: s.RepoName, FetchType: text("Commit"), Commit: s.Commit}
	switch s.Build.Value {
	case "branch":
		from.FetchType, from.Branch = text("Branch"), s.Branch
	case "tag":
		from.Commit = s.Tag
	}
	if from.Branch.Value+from.Commit.Value == "" {
		return step.Action{}, fault.New(fault.Invalid, "the %s to check out is empty", s.Build.Value).Causing(fault.ConfigurationFailure)
	}
	store, err := in.Store(&filesource.Store{Type: text("Git"), Repository: from})
	if err != nil {
		return step.Action{}, err
	}
	clone := workspace.Clone{Git: *store.Git, Depth: usual, Tags: s.Tags.Value}
	if s.Depth.Set {
		clone.Depth = s.Depth.Value
	}
	name := s.Directory.Value
	if name == "" {
		name = strings.TrimSuffix(path.Base(strings.TrimRight(clone.Git.URL, "/")), ".git")
	}
	if clone.Into, err = workspace.Below(name); err != nil {
		return step.Action{}, err
	}
	told, err := workspace.AllBelow(s.Told.Value)
	if err != nil {
		return step.Action{}, err
	}
	return workspace.Bring(in, workspace.Download{Session: session.ID, Clone: &clone, Told: told})
}

func text(s string) yamldoc.Field[string] { return yamldoc.Field[string]{Value: s, Set: true} }
