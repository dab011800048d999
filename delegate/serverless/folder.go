package serverless

import (
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/delegate/artifact"
	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// setUp readies the service's folder, once: its files, its configuration with its
// expressions resolved, its artifact, and what npm installs.
func (j *job) setUp(ctx context.Context) error {
	if j.ready {
		return nil
	}
	j.ready = true
	defer j.In(j.Unit)
	j.In(unitFiles)
	file, err := j.folder(ctx, j.spec.Op == lane.OpDeploy || j.spec.Op == lane.OpDiff)
	if err != nil {
		return err
	}
	if err := j.find(ctx); err != nil {
		return err
	}
	text, err := workspace.Read(ctx, j.Sessions, j.Spec.Session, path.Join(j.dir, file), maxConfig)
	if err != nil {
		return err
	}
	config, err := j.configure(ctx, file, string(text))
	if err != nil {
		return err
	}
	if err := j.packages(ctx); err != nil {
		return err
	}
	return j.plugins(ctx, config)
}

// maxConfig bounds a configuration, in bytes.
const maxConfig = 4 << 20

// folder finds the service's folder and the configuration in it. What isn't in the
// workspace is brought.
func (j *job) folder(ctx context.Context, anew bool) (string, error) {
	app := j.spec.Target.Application
	files := []string{app.Config}
	if app.Config == "" {
		files = []string{"serverless.yml", "serverless.yaml", "serverless.json", "serverless.js", "serverless.ts"}
	} else {
		j.config = app.Config
	}
	folders := workspace.Folders(app.Manifest)
	for range 2 {
		if anew {
			from := workspace.Config{Sessions: j.cfg.Sessions, Git: j.cfg.Git, Accesses: j.cfg.Accesses}
			if err := workspace.Bring(ctx, from, j.work, j.Env, j.Spec.Session, app.Manifest); err != nil {
				return "", err
			}
		}
		for _, dir := range folders {
			for _, name := range files {
				if found, err := j.Has(ctx, path.Join(dir, name)); err != nil || found {
					j.dir = dir
					return name, err
				}
			}
		}
		if anew {
			break
		}
		anew = true
	}
	return "", fault.New(fault.NotFound, "the manifest has no %s in %s", strings.Join(files, ", "), folders[0]).Causing(fault.ConfigurationFailure)
}

// resolved begins the name of a configuration whose expressions were resolved. The
// tool wants it in the folder.
const resolved = ".slipway-"

// configure resolves the expressions of the configuration into a copy of it. It
// may hold secrets.
func (j *job) configure(ctx context.Context, file, text string) (string, error) {
	if !strings.Contains(text, "<+") {
		return text, nil
	}
	text = known(text, "serverlessV2.serverlessDirectoryPath", filepath.Join(j.Sessions.Workspace(j.Spec.Session), j.dir))
	text, err := j.artifacts(ctx, text)
	if err != nil {
		return "", err
	}
	texts, err := j.Env.Resolve(ctx, map[string]string{file: text})
	if err != nil {
		return "", fault.Wrap(err, "%s", file)
	}
	j.config = path.Join(path.Dir(file), resolved+path.Base(file))
	j.Say("The expressions of %s are resolved in %s.", file, j.config)
	return texts[file], workspace.Put(ctx, j.Sessions, j.Spec.Session, path.Join(j.dir, j.config), []byte(texts[file]))
}

// known puts the value of a name that only the task knows in its places.
func known(text, name, value string) string {
	return regexp.MustCompile(`<\+\s*`+regexp.QuoteMeta(name)+`\s*>`).ReplaceAllLiteralString(text, value)
}

// artifacts brings the artifacts that the configuration has by their paths, and puts
// these in. One that is an image has its name instead, which expressions know.
func (j *job) artifacts(ctx context.Context, text string) (string, error) {
	type named struct {
		names []string // of the artifact in expressions
		lookup.Artifact
		into string // a folder of the workspace
	}
	var all []named
	if a := j.spec.Target.Artifact; a != nil {
		all = append(all, named{[]string{"artifact", "artifacts.primary"}, *a, "artifact"})
	} else {
		for _, name := range []string{"artifact.path", "artifact", "artifacts.primary.path", "artifacts.primary"} {
			if known(text, name, "") != text {
				return "", fault.New(fault.Invalid, "the configuration has <+%s>, and the service has no artifact", name).Causing(fault.ConfigurationFailure)
			}
		}
	}
	for _, s := range j.spec.Target.Sidecars {
		all = append(all, named{[]string{"artifacts.sidecars." + s.ID}, s.Artifact, "sidecars/" + s.ID})
	}
	for _, a := range all {
		at := ""
		for _, name := range a.names {
			if !isFile(a.Artifact) {
				text = known(text, name, "<+"+name+".image>")
				if known(text, name+".path", "") != text {
					return "", fault.New(fault.Invalid, "the configuration has <+%s.path>, and an artifact of the type %s is no file; use <+%[1]s.image>", name, a.Type).Causing(fault.ConfigurationFailure)
				}
				continue
			}
			if known(known(text, name+".path", ""), name, "") == text {
				continue
			}
			if at == "" {
				var err error
				if at, err = j.bring(ctx, a.Artifact, a.into); err != nil {
					return "", err
				}
			}
			text = known(known(text, name+".path", at), name, at)
		}
	}
	return text, nil
}

// isFile says whether an artifact is a file, and no image.
func isFile(a lookup.Artifact) bool {
	return a.S3 != nil || a.Artifactory != nil && a.Artifactory.Image == ""
}

// maxArtifact bounds a file of Artifactory, in bytes.
const maxArtifact = 100 << 20

// bring brings an artifact that is a file into a folder of the workspace and gives
// its path on the machine.
func (j *job) bring(ctx context.Context, a lookup.Artifact, into string) (string, error) {
	var doc []byte
	var err error
	from := ""
	if a.S3 != nil {
		from = "s3://" + a.S3.Bucket + "/" + a.Choice.Version
		var bucket aws.Bucket
		if bucket, err = j.cfg.Accesses.OpenBucket(ctx, *a.S3, j.work.Execution); err == nil {
			doc, err = bucket.Get(ctx, a.Choice.Version)
		}
	} else {
		from = path.Join(a.Artifactory.Repository, a.Artifactory.Path, a.Choice.Version) + " of Artifactory"
		doc, err = artifact.File(ctx, a, j.cfg.Transport, maxArtifact)
	}
	if err != nil {
		return "", err
	}
	name := path.Join(into, path.Base(a.Choice.Version))
	j.Say("The artifact %s is in %s.", from, name)
	return filepath.Join(j.Sessions.Workspace(j.Spec.Session), name), workspace.Put(ctx, j.Sessions, j.Spec.Session, name, doc)
}

// packages installs what the folder's package.json wants, once in a session.
func (j *job) packages(ctx context.Context) error {
	has := func(name string) (bool, error) { return j.Has(ctx, path.Join(j.dir, name)) }
	if wanted, err := has("package.json"); err != nil || !wanted {
		return err
	}
	if there, err := has("node_modules/.package-lock.json"); err != nil || there {
		return err
	}
	command := "install"
	for _, name := range []string{"package-lock.json", "npm-shrinkwrap.json"} {
		locked, err := has(name)
		if err != nil {
			return err
		}
		if locked {
			command = "ci"
		}
	}
	if j.Sessions.LookPath("npm") == "" {
		return fault.New(fault.NotFound, "the folder has a package.json, and this delegate's machine has no npm on its PATH").Causing(fault.DelegateProvisioning)
	}
	return j.Do(ctx, workspace.Call{Part: "npm", Dir: j.dir, Args: []string{"npm", command, "--no-audit", "--no-fund"}})
}

// plugins installs the plugins that the configuration names and npm hasn't
// installed.
func (j *job) plugins(ctx context.Context, config string) error {
	j.In(unitPlugins)
	for _, name := range pluginsOf(config) {
		there, err := j.Has(ctx, path.Join(j.dir, "node_modules", name, "package.json"))
		if err != nil {
			return err
		}
		if there {
			continue
		}
		args := j.arguments([]string{"--name", name}, "plugin", "install")
		if err := j.Do(ctx, workspace.Call{Part: "plugin " + name, Dir: j.dir, Args: args}); err != nil {
			return err
		}
	}
	return nil
}

// pluginsOf are the plugins that a configuration names, but for those in folders
// of its own. One that isn't YAML or JSON is asked for none.
func pluginsOf(config string) []string {
	var doc struct {
		Plugins yaml.Node `yaml:"plugins"`
	}
	if yaml.Unmarshal([]byte(config), &doc) != nil {
		return nil
	}
	var all []string
	var long struct {
		Modules []string `yaml:"modules"`
	}
	if doc.Plugins.Decode(&all) != nil {
		_ = doc.Plugins.Decode(&long) // neither form: the tool says what is wrong
		all = long.Modules
	}
	return slices.DeleteFunc(all, func(name string) bool {
		return name == "" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") || strings.Contains(name, "${")
	})
}
