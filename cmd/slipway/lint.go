package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func lintCommand(a *app) *cobra.Command {
	var strict bool
	c := &cobra.Command{
		Use: "lint PATH...", Short: "Check documents without a server", GroupID: groupWrite, Args: cobra.MinimumNArgs(1),
		Long: "Lint checks files, folders and, as -, the standard input, as a save would, and says everything that is\n" +
			"wrong at once. It exits with 1 if there is an error. Whether a referenced entity exists only a server knows.",
		Example: "  slipway lint slipway/\n  slipway lint --strict -o json pipeline.yaml",
		RunE:    func(_ *cobra.Command, paths []string) error { return a.lint(paths, strict) },
	}
	c.Flags().BoolVar(&strict, "strict", false, "make a key that nobody documents an error")
	return c
}

func (a *app) lint(paths []string, strict bool) error {
	docs, wrong, err := readDocuments(a.in, paths)
	if err != nil {
		return err
	}
	wrong = append(wrong, a.check(docs, ref.Scope{Org: defaultOrg, Project: defaultProject}, strict)...)
	slices.SortStableFunc(wrong, func(a, b fault.Detail) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	errors, warnings := count(wrong)
	err = a.print(wrong, func() error {
		for _, f := range wrong {
			fmt.Fprintln(a.out, finding(f))
		}
		fmt.Fprintf(a.out, "%s in %s, %s\n", plural(errors, "error"), plural(len(docs), "document"), plural(warnings, "warning"))
		return nil
	})
	if err == nil && errors > 0 {
		err = failed
	}
	return err
}

// check decodes documents and gives what is wrong with them.
func (a *app) check(docs []document, scope ref.Scope, strict bool) []fault.Detail {
	wrong := []fault.Detail{}
	for i := range docs {
		report := yamldoc.NewReport(docs[i].file)
		if strict {
			report.Strict()
		}
		docs[i].entity = catalog.Decode(docs[i].node, report, docs[i].scope(a, scope))
		for _, f := range report.Details() {
			wrong = append(wrong, docs[i].place(f))
		}
	}
	return wrong
}

func count(all []fault.Detail) (errors, warnings int) {
	for _, f := range all {
		if f.Severity == "warning" {
			warnings++
		} else {
			errors++
		}
	}
	return errors, warnings
}

// plural is e.g. "1 error" or "2 errors".
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
