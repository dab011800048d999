package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/ref"
)

func filesPutCommand(a *app) *cobra.Command {
	var tidy, forced bool
	c := &cobra.Command{
		Use: "put FROM PATH", Short: "Write a file, or all files of a directory", Args: cobra.ExactArgs(2),
		Long: "Put writes the file FROM, or - for the standard input, to the path, or into the folder if the path ends with a slash. Of a\n" +
			"directory it writes all files but those of a .git folder. It checks all of them first. What is there already is left as it is.",
		Example: "  slipway files put web.yaml /manifests/\n  slipway files put ./chart account:/charts/web --delete",
		RunE: func(c *cobra.Command, args []string) error {
			return a.fileStore.putFiles(c.Context(), args[0], args[1], tidy, forced)
		},
	}
	c.Flags().BoolVar(&tidy, "delete", false, "of a directory: delete files of the folder that it hasn't")
	forceFlag(c, &forced)
	return c
}

// upload is a file on its way to the store.
type upload struct {
	from string
	to   ref.File
}

func (s *files) putFiles(ctx context.Context, from, path string, tidy, forced bool) error {
	client, to, err := s.file(path)
	if err != nil {
		return err
	}
	uploads := []upload{{from, target(to, path, from)}}
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		if uploads, err = directory(from, to); err != nil {
			return err
		}
	} else if tidy {
		return fault.New(fault.Invalid, "%s is no directory; --delete is for those", from)
	}
	saved := []api.SavedFile{}
	kept := map[string]bool{}
	for _, u := range uploads {
		content, err := s.reader.readAll(u.from)
		if err != nil {
			return err
		}
		one, err := client.PutFile(ctx, u.to, content)
		if err != nil {
			return fault.Wrap(err, "%s", u.from)
		}
		saved, kept[one.Path] = append(saved, one), true
		if s.shows.output == "table" {
			fmt.Fprintf(s.shows.people(), "%s %s\n", one.Path, one.Change)
		}
	}
	if tidy {
		if err := s.removeOthers(ctx, client, to, kept, forced); err != nil {
			return err
		}
	}
	return s.shows.print(saved, func() error { return nil })
}

// removeOthers deletes the files of a folder that aren't among those kept.
func (s *files) removeOthers(ctx context.Context, client *apiclient.Client, folder ref.File, kept map[string]bool, forced bool) error {
	all, err := filesIn(ctx, client, folder)
	if err != nil {
		return err
	}
	for _, f := range all {
		if kept[f.Path] {
			continue
		}
		if err := s.removeFile(ctx, client, ref.File{Scope: folder.Scope, Path: f.Path}, forced); err != nil {
			return err
		}
	}
	return nil
}

// directory lists the files of a directory, and where they go. What can't be
// in the file store is an error before anything is written.
func directory(dir string, folder ref.File) ([]upload, error) {
	var out []upload
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fault.New(fault.Invalid, "read %s: %w", name, err)
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fault.New(fault.Invalid, "%s is no plain file; links and the like can't be in the file store", name)
		}
		info, err := d.Info()
		if err != nil {
			return fault.New(fault.Invalid, "read %s: %w", name, err)
		}
		if info.Size() > filestore.MaxFile {
			return fault.New(fault.TooLarge, "%s has %d bytes; the limit is %d", name, info.Size(), filestore.MaxFile)
		}
		to, err := below(folder, dir, name)
		out = append(out, upload{name, to})
		return err
	})
	if err == nil && len(out) == 0 {
		return nil, fault.New(fault.Invalid, "directory %s has no files", dir)
	}
	return out, err
}
