package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func editCommand(a *app) *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "edit KIND ID", Short: "Change a saved document in an editor", GroupID: groupWrite, Args: cobra.ExactArgs(2),
		Long: "Edit opens a saved document in an editor, and saves it if it was changed and nobody else has changed it meanwhile. What is\n" +
			"wrong with it is shown above it in the editor, until it is right or left as it is. The editor is that of SLIPWAY_EDITOR, VISUAL\n" +
			"or EDITOR, else vi. A document that isn't saved is kept in a file, whose name is told.",
		Example:           "  slipway edit pipeline guestbook\n  EDITOR='code --wait' slipway edit infra dev/cluster",
		ValidArgsFunction: a.naming.completeKinds,
		RunE:              func(c *cobra.Command, args []string) error { return a.edit(c.Context(), args, env) },
	}
	c.Flags().StringVar(&env, "env", "", "environment of an infrastructure definition or of overrides; pipeline of a trigger or an input set")
	return c
}

// edit changes a document by an editor, as often as it takes.
func (a *app) edit(ctx context.Context, args []string, env string) error {
	client, key, err := a.naming.entityArgs(args, env)
	if err != nil {
		return err
	}
	e, err := client.Entity(ctx, key)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "slipway-edit-")
	if err != nil {
		return fmt.Errorf("make a folder for the document: %w", err)
	}
	file := filepath.Join(dir, string(key.Kind)+".yaml")
	saved, err := a.edited(ctx, client, e, key, file)
	if saved == nil {
		if kept := keep(file, []byte(e.YAML)); kept != nil {
			fmt.Fprintf(a.err, "what you wrote is kept in %s\n", file)
			return err
		}
	}
	_ = os.RemoveAll(dir) // the system clears its temporary folder, too
	if err != nil || saved == nil {
		return err
	}
	return a.shows.showSaved([]api.SavedEntity{*saved}, false)
}

// keep gives what a file has besides what was found in it, if that is anything.
func keep(file string, was []byte) []byte {
	text, err := os.ReadFile(file)
	if text = bare(text); err != nil || len(bytes.TrimSpace(text)) == 0 || bytes.Equal(text, was) {
		return nil
	}
	return text
}

// edited is what was saved; nil if nothing was.
func (a *app) edited(ctx context.Context, client *apiclient.Client, e api.Entity, key apiclient.EntityKey, file string) (*api.SavedEntity, error) {
	text, wrong := []byte(e.YAML), error(nil)
	for {
		if err := os.WriteFile(file, append(above(wrong), text...), 0o600); err != nil {
			return nil, fmt.Errorf("write the document: %w", err)
		}
		if err := a.openEditor(ctx, file); err != nil {
			return nil, err
		}
		got, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read what was written: %w", err)
		}
		got = bare(got)
		switch {
		case wrong != nil && bytes.Equal(got, text):
			return nil, wrong // it was left as it is
		case bytes.Equal(got, []byte(e.YAML)), len(bytes.TrimSpace(got)) == 0:
			fmt.Fprintln(a.shows.people(), "Nothing was changed")
			return nil, nil //nolint:nilnil // that is what nothing saved is
		}
		if err := sameEntity(got, e, key.Scope); err != nil {
			text, wrong = got, err
			continue
		}
		saved, err := client.Save(ctx, apiclient.Document{Scope: key.Scope, File: filepath.Base(file), YAML: got, Version: &e.Version})
		if err == nil {
			return &saved, nil
		}
		if refused(err) == nil {
			return nil, err
		}
		text, wrong = got, err
	}
}

// sameEntity refuses a document that would be saved as another entity than it
// was. Of one that doesn't say which it is the server says what is wrong.
func sameEntity(text []byte, was api.Entity, scope ref.Scope) error {
	read := func(text []byte) (apiclient.EntityKey, bool) {
		docs, report := yamldoc.Parse("", text)
		if report.Err() != nil || len(docs) != 1 {
			return apiclient.EntityKey{}, false
		}
		return described(docs[0], report, scope)
	}
	key, known := read([]byte(was.YAML))
	if is, ok := read(text); ok && known && is != key {
		return fault.New(fault.Invalid, "this is the %s %q of %s now; only \"slipway apply\" makes another entity of it", is.Kind, shownID(api.EntityKey{Kind: is.Kind, ID: is.ID, Env: is.Env}), is.Scope)
	}
	return nil
}

// noteMark begins the lines that edit writes above a document.
const noteMark = "#! "

// above is what is wrong, for people who see it in their editor.
func above(wrong error) []byte {
	if wrong == nil {
		return nil
	}
	var b strings.Builder
	complain(&b, wrong)
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(noteMark + strings.TrimRight(line, "\n") + "\n")
	}
	out.WriteString(noteMark + "These lines go by themselves, and aren't counted. Leave the rest as it is to stop.\n")
	return []byte(out.String())
}

// bare is a text without them.
func bare(text []byte) []byte {
	for bytes.HasPrefix(text, []byte(noteMark)) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}

// openEditor waits until a file was edited. An editor may have arguments.
func (a *app) openEditor(ctx context.Context, file string) error {
	editor := cmp.Or(a.env("SLIPWAY_EDITOR"), a.env("VISUAL"), a.env("EDITOR"), "vi")
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out, a.err
	if err := cmd.Run(); err != nil {
		return fault.New(fault.Unavailable, "the editor %q: %w; set EDITOR to another", editor, err)
	}
	return nil
}
