package awssam

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// maxSettings is how large a file of settings may be, in bytes.
const maxSettings = 1 << 20

// settings are what a file beside an application's template says of a command of sam,
// which takes them as options that aren't given.
type settings struct {
	file   string // its name; empty: there is none
	values map[string]any
}

// settings reads those of a command: what is said of all commands, and of this one.
func (j *job) settings(ctx context.Context, t *workspace.Tool, app application, command string) (settings, error) {
	names := []string{"samconfig.toml", "samconfig.yaml", "samconfig.yml"}
	if own := value(app.options, "--config-file"); own != "" {
		names = []string{own}
	}
	for _, name := range names {
		file := path.Join(app.dir, name)
		if path.IsAbs(name) || strings.HasPrefix(file, "../") {
			continue // it isn't the workspace's
		}
		found, err := t.Has(ctx, file)
		if err != nil {
			return settings{}, err
		}
		if !found {
			continue
		}
		text, err := workspace.Read(ctx, j.cfg.Sessions, j.spec.Run.Session, file, maxSettings)
		if err != nil {
			return settings{}, err
		}
		return parsed(name, text, cmp.Or(value(app.options, "--config-env"), "default"), command)
	}
	return settings{}, nil
}

// parsed reads a file's settings of a command in an environment.
func parsed(name string, text []byte, env, command string) (settings, error) {
	var doc map[string]any
	decode := func(text []byte, into any) error { return toml.Unmarshal(text, into) }
	if !strings.HasSuffix(name, ".toml") {
		decode = yaml.Unmarshal
	}
	if err := decode(text, &doc); err != nil {
		return settings{}, fault.New(fault.Invalid, "the file %s can't be read: %w", name, err).Causing(fault.ConfigurationFailure)
	}
	out := settings{file: name, values: map[string]any{}}
	for _, of := range []string{"global", command} {
		maps.Copy(out.values, below(doc, env, of, "parameters"))
	}
	return out, nil
}

// below is a mapping in another one, along a path; nil: there is none.
func below(doc map[string]any, names ...string) map[string]any {
	for _, name := range names {
		doc, _ = doc[name].(map[string]any) // sam says what is wrong
	}
	return doc
}

// has says whether one of the settings is made.
func (s settings) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, ok := s.values[name]; return ok })
}

// on says whether a switch is on, as sam takes it.
func (s settings) on(name string) bool {
	switch v := s.values[name].(type) {
	case bool:
		return v
	case string:
		return slices.Contains([]string{"1", "true", "t", "yes", "y", "on"}, strings.ToLower(strings.TrimSpace(v)))
	}
	return false
}
