package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// documentFlags say which documents a command takes.
type documentFlags struct {
	strict  bool // take those that aren't Slipway's, too
	verbose bool // list them
	argo    bool // take those of Argo CD
}

func (f *documentFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.strict, "strict", false, "make a key that nobody documents, and a document that isn't Slipway's, an error")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "list the documents that were skipped")
}

// reader reads the documents that commands are given.
type reader struct {
	in    io.Reader
	shows *output
}

// readDocuments reads files, folders (their .yaml and .yml files, at any
// depth), addresses that begin with https:// and, as "-", the standard input.
func (r *reader) readDocuments(ctx context.Context, paths []string, f documentFlags) (documents, error) {
	found := documents{argo: f.argo}
	for _, path := range paths {
		if err := r.readPath(ctx, path, f.strict, &found); err != nil {
			return documents{}, err
		}
	}
	if len(found.docs) == 0 && len(found.wrong) == 0 {
		r.shows.tellSkipped(found.skipped, f.verbose)
		return documents{}, fault.New(fault.Invalid, "found no documents in %s; want YAML files", strings.Join(paths, ", "))
	}
	return found, nil
}

// readPath reads what one argument names. A folder's documents are taken if
// they are Slipway's; what is named by itself is taken anyway.
func (r *reader) readPath(ctx context.Context, path string, strict bool, found *documents) error {
	switch {
	case path == "-":
		data, err := io.ReadAll(r.in)
		if err != nil {
			return fmt.Errorf("read the standard input: %w", err)
		}
		found.take("stdin", data, true)
		return nil
	case strings.Contains(path, "://"):
		data, err := fetchDocuments(ctx, path)
		if err == nil {
			found.take(path, data, true)
		}
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = yamlFiles(path); err != nil {
			return err
		}
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fault.New(fault.Invalid, "%w", err)
		}
		found.take(file, data, strict || !info.IsDir())
	}
	return nil
}

// yamlFiles are a folder's files, at any depth, but for those that a
// .slipwayignore names and those of tools that keep other people's files.
func yamlFiles(root string) ([]string, error) {
	var files []string
	var ignored ignores
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return fault.New(fault.Invalid, "%w", err)
		}
		if p != root && (e.IsDir() && slices.Contains([]string{".git", "node_modules"}, e.Name()) || ignored.match(p, e.IsDir())) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			rules, err := os.ReadFile(filepath.Join(p, ".slipwayignore"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fault.New(fault.Invalid, "%w", err)
			}
			return ignored.add(p, rules)
		}
		if ext := filepath.Ext(p); ext == ".yaml" || ext == ".yml" {
			files = append(files, p)
		}
		return nil
	})
	return files, err
}

// tellSkipped says how many documents of folders were somebody else's.
func (o *output) tellSkipped(places []string, verbose bool) {
	if len(places) == 0 {
		return
	}
	end, hint := "s that aren't Slipway's", "; --verbose lists them"
	if len(places) == 1 {
		end, hint = " that isn't Slipway's", "; --verbose names it"
	}
	if verbose {
		hint = ":"
	}
	fmt.Fprintf(o.err, "skipped %d document%s%s\n", len(places), end, hint)
	if verbose {
		for _, p := range places {
			fmt.Fprintln(o.err, "  "+p)
		}
	}
}
