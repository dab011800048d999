package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/wire"
	"github.com/slipway-cd/slipway/pkg/wire/function"
)

func eventCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "event", Short: "Give events to the functions, on this machine", GroupID: groupAdmin}
	var cfg wire.ServeConfig
	var logs logFlags
	invoke := &cobra.Command{
		Use: "invoke FUNCTION FILE", Short: "Give one event to a function", Args: cobra.ExactArgs(2),
		Long: "Invoke gives the event in FILE to the handler of a function (" + strings.Join(eventFunctions(), ", ") + "), over the data\n" +
			"folder of \"slipway serve\", which must not run, and prints the answer. The folder events/ of the repository has samples.",
		Example: "  slipway event invoke api events/aws.apigateway.http/sample.json",
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if cfg.Log, err = logs.logger(a); err != nil {
				return err
			}
			if cfg.Data == "" {
				if err := a.caller.homed("the database", "give --data", "XDG_DATA_HOME"); err != nil {
					return err
				}
				cfg.Data = a.caller.dataPath()
			}
			return a.invoke(c.Context(), cfg, args[0], args[1])
		},
	}
	invoke.Flags().StringVar(&cfg.Data, "data", "", "the data folder (default ~/.local/share/slipway)")
	logs.add(invoke.Flags())
	c.AddCommand(invoke)
	return c
}

func eventFunctions() []string { return []string{"api", "engine", "events", "sweeper", "webhooks"} }

func (a *app) invoke(ctx context.Context, cfg wire.ServeConfig, name, file string) (err error) {
	if !slices.Contains(eventFunctions(), name) {
		return fault.New(fault.Invalid, "function %q isn't one of %s", name, strings.Join(eventFunctions(), ", "))
	}
	event, err := os.ReadFile(file)
	if err != nil {
		return fault.New(fault.Invalid, "read the event: %w", err)
	}
	local, err := wire.Open(ctx, cfg)
	if err != nil {
		return fmt.Errorf("open %s: %w", cfg.Data, err)
	}
	defer func() { err = errors.Join(err, local.Close(ctx)) }()
	handler := map[string]lambda.Handler{
		"api": function.API(local.Plane), "engine": function.Engine(local.Plane),
		"events": function.Events(local.Plane, cfg.Log), "sweeper": function.Sweeper(local.Plane, a.err),
		"webhooks": function.Webhooks(local.Plane),
	}[name]
	answer, err := handler.Invoke(ctx, event)
	if err != nil {
		return fault.New(fault.Invalid, "function %s: %w", name, err)
	}
	if err := local.Settle(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, string(answer))
	return err
}
