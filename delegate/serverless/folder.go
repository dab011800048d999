package serverless

import (
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
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
	file, err := j.folder(ctx, j.spec.Op == lane.OpDeploy)
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
	for _, name := range []string{"artifact.path", "artifacts.primary.path", "artifact", "artifacts.primary"} {
		if known(text, name, "") == text {
			continue
		}
		at, err := j.artifact(ctx)
		if err != nil {
			return "", err
		}
		text = known(text, name, at)
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

// artifact brings the artifact and gives its path.
func (j *job) artifact(ctx context.Context) (string, error) {
	a := j.spec.Target.Artifact
	switch {
	case a == nil:
		return "", fault.New(fault.Invalid, "the configuration has <+artifact.path>, and the service has no artifact").Causing(fault.ConfigurationFailure)
	case a.S3 == nil:
		return "", fault.New(fault.Invalid, "the configuration has <+artifact.path>, and an artifact of the type %s is no file; use <+artifact.image>", a.Type).Causing(fault.ConfigurationFailure)
	}
	bucket, err := j.cfg.Accesses.OpenBucket(ctx, *a.S3, j.work.Execution)
	if err != nil {
		return "", err
	}
	doc, err := bucket.Get(ctx, a.Choice.Version)
	if err != nil {
		return "", err
	}
	name := path.Join("artifact", path.Base(a.Choice.Version))
	j.Say("The artifact s3://%s/%s is in %s.", a.S3.Bucket, a.Choice.Version, name)
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
