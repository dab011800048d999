package main

import (
	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/schema"
)

func schemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "schema [KIND]", Short: "Show the JSON Schema of documents, for editors", GroupID: groupWrite, Args: cobra.MaximumNArgs(1),
		Long: "Schema shows the JSON Schema of a kind's documents, or of those of all kinds, as this version reads them.\n" +
			"A server has the same at /schema/KIND.json and /schema/slipway.json.",
		Example:           "  slipway schema > slipway.schema.json\n  slipway schema pipeline",
		ValidArgsFunction: a.naming.completeKinds,
		RunE: func(_ *cobra.Command, args []string) error {
			kinds := ref.Kinds()
			if len(args) > 0 {
				kind, err := kindOf(args[0])
				if err != nil {
					return err
				}
				kinds = []ref.Kind{kind}
			}
			doc, err := schema.JSON(kinds...)
			if err != nil {
				return err
			}
			_, err = a.out.Write(doc)
			return err
		},
	}
}
