package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func runCommand(a *app) *cobra.Command {
	var inputs inputFlags
	var chosen stageFlags
	var follow bool
	var override string
	c := &cobra.Command{
		Use: "run PIPELINE", Short: "Run a pipeline", GroupID: groupRun, Args: cobra.ExactArgs(1),
		Long: "Run starts a pipeline and says its execution's id. With --follow it shows the stages and steps until the end and\n" +
			"exits with 0 only if the execution succeeded; Ctrl-C stops looking, not the execution. With -o json the output\n" +
			"is the execution at its end, and the progress goes to the standard error.\n" +
			"What a pipeline asks for is shown by \"slipway inputs\".",
		Example: "  slipway run guestbook --follow\n  slipway run guestbook --input variables.image=nginx:1.29\n" +
			"  slipway run guestbook --input-set staging --input-set latest --inputs inputs.yaml",
		ValidArgsFunction: a.naming.completePipelines,
		RunE: func(c *cobra.Command, args []string) error {
			return a.run(c.Context(), args[0], inputs, chosen, override, follow)
		},
	}
	inputs.add(c.Flags())
	chosen.flags(c.Flags(), "run only this stage; may be repeated")
	c.Flags().StringVar(&override, "override-freeze", "", "why it runs in spite of deployment freezes")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show the progress until the end")
	return c
}

func (a *app) run(ctx context.Context, pipeline string, inputs inputFlags, chosen stageFlags, override string, follow bool) error {
	request, err := a.startRequest(inputs, chosen)
	if err != nil {
		return err
	}
	request.Override = override
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	e, err := client.Start(ctx, scope, pipeline, request)
	if err != nil {
		return inputs.named(pipeline, err)
	}
	a.shows.warn(pipeline, inputs, e.Warnings)
	return a.follower.started(ctx, client, e, follow)
}

// startRequest is what flags ask of a pipeline.
func (a *app) startRequest(inputs inputFlags, chosen stageFlags) (api.StartExecution, error) {
	request, err := inputs.read(a.in)
	if err != nil {
		return request, err
	}
	return request, chosen.add(&request)
}

// warn tells of values that had no place in a pipeline.
func (o *output) warn(pipeline string, inputs inputFlags, list []fault.Detail) {
	for _, w := range list {
		fmt.Fprintln(o.err, finding(inputs.place(pipeline, w)))
	}
}

// stageFlags choose some of a pipeline's stages.
type stageFlags struct {
	stages []string
	values []string // EXPRESSION=VALUE
}

func (f *stageFlags) flags(set *pflag.FlagSet, what string) {
	set.StringSliceVar(&f.stages, "stage", nil, what)
	set.StringArrayVar(&f.values, "expression", nil, "the value of an expression that names another stage, as EXPRESSION=VALUE; may be repeated")
}

func (f *stageFlags) add(request *api.StartExecution) error {
	request.Stages = f.stages
	if len(f.values) == 0 {
		return nil
	}
	request.Values = map[string]string{}
	for _, pair := range f.values {
		expression, value, found := strings.Cut(pair, ">=")
		if !found {
			return fault.New(fault.Invalid, "%q isn't an expression and its value, such as '<+pipeline.stages.build.variables.tag>=1.2'", pair)
		}
		request.Values[expression+">"] = value
	}
	return nil
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
