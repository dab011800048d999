package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

func filesCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "files", Aliases: []string{"file"}, Short: "List, read and write the files of the file store", GroupID: groupWrite,
		Long: "Paths are those that documents have: /manifests/web.yaml is in the project, org:/manifests/web.yaml in its organization,\n" +
			"account:/manifests/web.yaml in the account.",
	}
	c.AddCommand(filesListCommand(a), filesGetCommand(a), filesPutCommand(a), filesRemoveCommand(a))
	return c
}

func filesListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "ls [FOLDER]", Short: "List the files of a folder and of those in it", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.fileStore.listFiles(c.Context(), append(args, "/")[0])
		},
	}
}

// file connects, and reads a path as documents have it.
func (s *files) file(path string) (*apiclient.Client, ref.File, error) {
	client, scope, err := s.caller.connect()
	if err != nil {
		return nil, ref.File{}, err
	}
	f, err := ref.ParseFile(path, scope)
	if err != nil {
		return nil, ref.File{}, fault.New(fault.Invalid, "%w", err)
	}
	return client, f, nil
}

// filesIn lists all files of a folder.
func filesIn(ctx context.Context, client *apiclient.Client, folder ref.File) ([]api.File, error) {
	return apiclient.All(0, func(p apiclient.Page) ([]api.File, string, error) { return client.Files(ctx, folder, p) })
}

// files are the commands on the file store.
type files struct {
	out, err io.Writer
	caller   *caller
	shows    *output
	reader   *reader
}

func (s *files) listFiles(ctx context.Context, path string) error {
	client, folder, err := s.file(path)
	if err != nil {
		return err
	}
	all, err := filesIn(ctx, client, folder)
	if err != nil {
		return err
	}
	return s.shows.print(all, func() error {
		if len(all) == 0 {
			fmt.Fprintf(s.err, "there are no files in %s\n", path)
			return nil
		}
		var rows [][]string
		for _, f := range all {
			rows = append(rows, []string{f.Path, fmt.Sprint(f.Size), fmt.Sprint(f.Version), age(f.UpdatedAt, time.Now()), f.UpdatedBy})
		}
		return s.shows.table("PATH SIZE VERSION UPDATED BY", rows)
	})
}

func filesGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get PATH [TO]", Short: "Read a file, or a folder into a directory", Args: cobra.RangeArgs(1, 2),
		Long:    "Get writes a file to the standard output, or to the file TO. Of a folder it writes all files below the directory TO.",
		Example: "  slipway files get /manifests/web.yaml\n  slipway files get account:/charts ./charts",
		RunE: func(c *cobra.Command, args []string) error {
			return a.fileStore.getFiles(c.Context(), args[0], append(args, "")[1])
		},
	}
}

func (s *files) getFiles(ctx context.Context, path, to string) error {
	client, f, err := s.file(path)
	if err != nil {
		return err
	}
	all, err := filesIn(ctx, client, f)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		one, err := client.File(ctx, f)
		if err != nil {
			return err
		}
		if to == "" {
			_, err = s.out.Write(one.Content)
			return err
		}
		return writeFile(to, one.Content)
	}
	if to == "" {
		return fault.New(fault.Invalid, "%s is a folder with %s; give a directory to write it to", path, plural(len(all), "file"))
	}
	for _, known := range all {
		name := filepath.FromSlash(f.Of(known.Path))
		if !filepath.IsLocal(name) {
			return fault.New(fault.Invalid, "the server gave the file %q, which doesn't belong below %s", known.Path, to)
		}
		one, err := client.File(ctx, ref.File{Scope: f.Scope, Path: known.Path})
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(to, name), one.Content); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.err, "%s written to %s\n", plural(len(all), "file"), to)
	return nil
}

// writeFile writes a file and the folders that it is in.
func writeFile(to string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return fault.New(fault.Invalid, "make the folder of %s: %w", to, err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		return fault.New(fault.Invalid, "write %s: %w", to, err)
	}
	return nil
}

func filesRemoveCommand(a *app) *cobra.Command {
	var folders, forced bool
	c := &cobra.Command{
		Use: "rm PATH...", Short: "Delete files", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			for _, path := range args {
				if err := a.fileStore.removeFiles(c.Context(), path, folders, forced); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&folders, "recursive", "r", false, "delete all files of a folder")
	forceFlag(c, &forced)
	return c
}

func forceFlag(c *cobra.Command, forced *bool) {
	c.Flags().BoolVar(forced, "force", false, "delete files although documents name them or a folder that they are in")
}

func (s *files) removeFiles(ctx context.Context, path string, folders, forced bool) error {
	client, f, err := s.file(path)
	if err != nil {
		return err
	}
	all, err := filesIn(ctx, client, f)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return s.removeFile(ctx, client, f, forced)
	case !folders:
		return fault.New(fault.Invalid, "%s is a folder with %s; -r deletes them", path, plural(len(all), "file"))
	}
	for _, known := range all {
		if err := s.removeFile(ctx, client, ref.File{Scope: f.Scope, Path: known.Path}, forced); err != nil {
			return err
		}
	}
	return nil
}

func (s *files) removeFile(ctx context.Context, client *apiclient.Client, f ref.File, forced bool) error {
	if err := client.DeleteFile(ctx, f, forced); err != nil {
		return err
	}
	fmt.Fprintf(s.shows.people(), "%s deleted\n", f.Path)
	return nil
}

// readAll reads a file, or the standard input.
func (r *reader) readAll(from string) ([]byte, error) {
	if from == "-" {
		return io.ReadAll(r.in)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return nil, fault.New(fault.Invalid, "read %s: %w", from, err)
	}
	return content, nil
}

// below is where a file of a directory goes in a folder.
func below(folder ref.File, dir, name string) (ref.File, error) {
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		return ref.File{}, err
	}
	to := ref.File{Scope: folder.Scope, Path: folder.Folder() + filepath.ToSlash(rel)}
	if err := ref.CheckFile(to.Path); err != nil {
		return ref.File{}, fault.New(fault.Invalid, "%s: %w", name, err)
	}
	return to, nil
}

// target is where one file goes: to the path, or into the folder if the path
// ends with a slash.
func target(f ref.File, path, from string) ref.File {
	if strings.HasSuffix(path, "/") && from != "-" {
		f.Path = f.Folder() + filepath.Base(from)
	}
	return f
}
