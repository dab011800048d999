package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/legacy"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func convertCommand(a *app) *cobra.Command {
	var f documentFlags
	var folder string
	c := &cobra.Command{
		Use: "convert PATH...", Short: "Rewrite pipelines of the legacy form", GroupID: groupWrite, Args: cobra.MinimumNArgs(1),
		Long: "Convert takes pipelines whose stages have serviceConfig and infrastructure, and writes the services, environments and\n" +
			"infrastructure definitions that these say, with the pipelines that name them. Comments stay. It asks no server.\n\n" +
			"The documents go to the standard output, as apply reads them, or into a folder's files, none of which may be there\n" +
			"already. What has no place in the new form is said, and then nothing is written.",
		Example: "  slipway convert pipeline.yaml\n  slipway convert --to slipway/ .harness/\n  slipway convert old.yaml | slipway apply --dry-run -f -",
		RunE:    func(c *cobra.Command, paths []string) error { return a.convert(c.Context(), paths, folder, f) },
	}
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "list the documents that were skipped")
	c.Flags().StringVar(&folder, "to", "", "write each document into a file of this folder")
	return c
}

func (a *app) convert(ctx context.Context, paths []string, folder string, f documentFlags) error {
	read, err := a.reader.readDocuments(ctx, paths, f)
	if err != nil {
		return err
	}
	wrong := read.wrong
	var set legacy.Set
	for _, d := range read.docs {
		if d.node.Get(string(ref.Pipeline)) == nil {
			continue
		}
		report := yamldoc.NewReport(d.file)
		made, err := legacy.Convert(d.yaml, report)
		if err != nil {
			return err
		}
		for _, found := range report.Details() {
			wrong = append(wrong, d.place(found))
		}
		for _, one := range made {
			if other, ok := set.Add(one, d.file); !ok {
				return fault.New(fault.Conflict, "the pipelines of %s and %s say different things of the %s %s; give one of them another identifier", other, d.file, one.Kind, one.ID)
			}
		}
	}
	out := set.Documents()
	a.shows.tellSkipped(read.skipped, f.verbose)
	switch {
	case len(wrong) > 0:
		if err := a.shows.printFindings(wrong, len(read.docs), ""); err != nil {
			return err
		}
		return failed
	case len(out) == 0:
		return fault.New(fault.Invalid, "no pipeline is of the legacy form: none of their stages has serviceConfig or infrastructure")
	case folder != "":
		return a.writeConverted(folder, out)
	}
	return printConverted(a.out, out)
}

func printConverted(w io.Writer, docs []legacy.Document) error {
	for i, d := range docs {
		if i > 0 {
			fmt.Fprintln(w, "---")
		}
		if _, err := w.Write(d.YAML); err != nil {
			return fmt.Errorf("write the documents: %w", err)
		}
	}
	return nil
}

// writeConverted writes each document into a file of its own, all or none.
func (a *app) writeConverted(folder string, docs []legacy.Document) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	name := func(d legacy.Document) string { return filepath.Join(folder, string(d.Kind)+"-"+d.ID+".yaml") }
	for _, d := range docs {
		if _, err := os.Lstat(name(d)); err == nil {
			return fault.New(fault.Conflict, "%s is there already; choose another folder, or remove it", name(d))
		}
	}
	for _, d := range docs {
		if err := os.WriteFile(name(d), d.YAML, 0o600); err != nil {
			return fmt.Errorf("write a document: %w", err)
		}
		fmt.Fprintln(a.shows.people(), name(d))
	}
	return nil
}
