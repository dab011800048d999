package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func runCommand(a *app) *cobra.Command {
	var inputs []string
	var follow bool
	c := &cobra.Command{
		Use: "run PIPELINE", Short: "Run a pipeline", GroupID: groupRun, Args: cobra.ExactArgs(1),
		Long: "Run starts a pipeline and says its execution's id. With --follow it shows the stages and steps until the end and\n" +
			"exits with 0 only if the execution succeeded; Ctrl-C stops looking, not the execution.",
		Example:           "  slipway run guestbook --follow\n  slipway run guestbook --input variables.image=nginx:1.29",
		ValidArgsFunction: a.completePipelines,
		RunE:              func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], inputs, follow) },
	}
	c.Flags().StringArrayVarP(&inputs, "input", "i", nil, "value of a runtime input, as PATH=VALUE; may be repeated")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show the progress until the end")
	return c
}

func (a *app) run(ctx context.Context, pipeline string, pairs []string, follow bool) error {
	inputs, err := keyValues(pairs)
	if err != nil {
		return err
	}
	client, scope, err := a.connect()
	if err != nil {
		return err
	}
	e, err := client.Start(ctx, scope, pipeline, api.StartExecution{Inputs: inputs})
	if err != nil {
		return err
	}
	return a.started(ctx, client, e, follow)
}

// keyValues reads pairs such as variables.image=nginx.
func keyValues(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range pairs {
		key, value, found := strings.Cut(p, "=")
		if !found || key == "" {
			return nil, fault.New(fault.Invalid, "the input %q isn't NAME=VALUE", p)
		}
		out[key] = value
	}
	return out, nil
}
