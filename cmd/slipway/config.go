package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// configPath is where the config file is or will be.
func (c *caller) configPath() string {
	if path := c.env("SLIPWAY_CONFIG"); path != "" {
		return path
	}
	return filepath.Join(cmp.Or(c.env("XDG_CONFIG_HOME"), filepath.Join(c.env("HOME"), ".config")), "slipway", "config.yaml")
}

// cachePath is where what can be made anew is kept.
func (c *caller) cachePath() string {
	return filepath.Join(cmp.Or(c.env("XDG_CACHE_HOME"), filepath.Join(c.env("HOME"), ".cache")), "slipway")
}

// dataPath is where "slipway serve" keeps its state.
func (c *caller) dataPath() string {
	return filepath.Join(cmp.Or(c.env("XDG_DATA_HOME"), filepath.Join(c.env("HOME"), ".local", "share")), "slipway")
}

// homed is an error where there is no folder to keep something in: neither the
// variable that names one nor HOME is set to a whole path. Nothing is put into
// whatever folder the command happens to run in.
func (c *caller) homed(what, instead string, variables ...string) error {
	for _, v := range append(variables, "HOME") {
		if filepath.IsAbs(c.env(v)) {
			return nil
		}
	}
	return fault.New(fault.Invalid, "there is no folder for %s: HOME isn't set to one; set it, or %s", what, instead)
}

// configHomed says whether there is a place for the config file.
func (c *caller) configHomed() error {
	if c.env("SLIPWAY_CONFIG") != "" {
		return nil // where one wants it
	}
	return c.homed("the config file", "SLIPWAY_CONFIG to the file", "XDG_CONFIG_HOME")
}

// readConfig reads the config file; none is as good as an empty one.
func (c *caller) readConfig() (settings, error) {
	var s settings
	if c.configHomed() != nil {
		return s, nil
	}
	doc, err := os.ReadFile(c.configPath())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read the config file: %w", err)
	}
	var keys map[string]any
	if err = yaml.Unmarshal(doc, &keys); err == nil {
		err = yaml.Unmarshal(doc, &s)
	}
	if err != nil {
		return s, fault.New(fault.Invalid, "the config file %s: %w", c.configPath(), err)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains([]string{"server", "token", "org", "project", "insecure", "caFile"}, key) {
			return s, fault.New(fault.Invalid, "the config file %s has the key %q; want server, token, org, project, insecure and caFile", c.configPath(), key)
		}
	}
	return s, nil
}

// writeConfig writes the config file, for its owner alone.
func (c *caller) writeConfig(s settings) error {
	if err := c.configHomed(); err != nil {
		return err
	}
	doc, err := yaml.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the config file: %w", err)
	}
	path := c.configPath()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the config file's folder: %w", err)
	}
	// A file of its own first: a half-written one would lock people out.
	next := path + ".new"
	if err := os.WriteFile(next, doc, 0o600); err != nil {
		return fmt.Errorf("write the config file: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("write the config file: %w", err)
	}
	return nil
}
