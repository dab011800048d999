package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/plan"
)

func inputsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "inputs PIPELINE", Short: "Show what a run of a pipeline asks for", GroupID: groupRun, Args: cobra.ExactArgs(1),
		Long: "Inputs prints a form to fill in: the pipeline's document as far as it has runtime inputs, with defaults, and a\n" +
			"comment at each input that says what it may be. What stays <+input> counts as no value.",
		Example: "  slipway inputs guestbook > inputs.yaml\n  slipway run guestbook --inputs inputs.yaml\n" +
			"  slipway inputs merge guestbook --input-set staging\n  slipway inputs reconcile guestbook staging",
		ValidArgsFunction: a.naming.completePipelines,
		RunE:              func(c *cobra.Command, args []string) error { return a.inputs(c.Context(), args[0]) },
	}
	c.AddCommand(
		&cobra.Command{
			Use: "sets PIPELINE", Short: "List a pipeline's input sets and overlays, and say which fit it", Args: cobra.ExactArgs(1),
			ValidArgsFunction: a.naming.completePipelines,
			RunE:              func(c *cobra.Command, args []string) error { return a.inputSets(c.Context(), args[0]) },
		},
		inputsMergeCommand(a), inputsReconcileCommand(a), inputsAnswerCommand(a),
	)
	return c
}

func inputsMergeCommand(a *app) *cobra.Command {
	var f inputFlags
	c := &cobra.Command{
		Use: "merge PIPELINE", Short: "Show the inputs that a run would have, and start nothing", Args: cobra.ExactArgs(1),
		ValidArgsFunction: a.naming.completePipelines,
		RunE:              func(c *cobra.Command, args []string) error { return a.mergeInputs(c.Context(), args[0], f) },
	}
	f.add(c.Flags())
	return c
}

func inputsReconcileCommand(a *app) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use: "reconcile PIPELINE [SET...]", Short: "Drop from input sets what the pipeline no longer has", Args: cobra.MinimumNArgs(1),
		Long: "Reconcile shows what it drops, as a difference between the documents. Without SET it goes through all that don't\n" +
			"fit. Values that aren't allowed stay: only a person knows better ones.",
		ValidArgsFunction: a.naming.completePipelines,
		RunE: func(c *cobra.Command, args []string) error {
			return a.reconcile(c.Context(), args[0], args[1:], dryRun)
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be dropped, and change nothing")
	return c
}

func inputsAnswerCommand(a *app) *cobra.Command {
	var f inputFlags
	c := &cobra.Command{
		Use: "answer EXECUTION [STEP|STAGE]", Short: "Give a step or a stage the inputs that it waits for", Args: cobra.RangeArgs(1, 2),
		Long: "Answer lists what is asked if no value is given. Values without a default are needed; paths are those in the step\n" +
			"or the stage.",
		Example: "  slipway inputs answer x6920f1ab\n  slipway inputs answer x6920f1ab notify --input spec.url=https://example.com",
		RunE:    func(c *cobra.Command, args []string) error { return a.decider.answerInputs(c.Context(), args, f) },
	}
	f.addValues(c.Flags())
	return c
}

// inputFlags are the flags that give values for inputs.
type inputFlags struct {
	file  string
	sets  []string
	pairs []string
}

func (f *inputFlags) add(flags *pflag.FlagSet) {
	f.addValues(flags)
	flags.StringArrayVar(&f.sets, "input-set", nil, "input set or overlay; may be repeated, the later wins")
}

func (f *inputFlags) addValues(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "inputs", "", "YAML file with values, as \"slipway inputs\" prints it; - for the standard input")
	flags.StringArrayVarP(&f.pairs, "input", "i", nil, "value of a runtime input, as PATH=VALUE, which wins over all; may be repeated")
}

// read makes a request of the flags.
func (f *inputFlags) read(in io.Reader) (api.StartExecution, error) {
	out := api.StartExecution{InputSets: f.sets}
	var err error
	if out.Inputs, err = keyValues(f.pairs); err != nil || f.file == "" {
		return out, err
	}
	var text []byte
	if f.file == "-" {
		text, err = io.ReadAll(in)
	} else {
		text, err = os.ReadFile(f.file)
	}
	out.InputsYAML = string(text)
	return out, err
}

// named says in which file, or in which pipeline's document, a server found
// what is wrong.
func (f *inputFlags) named(pipeline string, err error) error {
	var e *fault.Error
	if !errors.As(err, &e) {
		return err
	}
	for i := range e.Details {
		e.Details[i] = f.place(pipeline, e.Details[i])
	}
	return err
}

func (f *inputFlags) place(pipeline string, d fault.Detail) fault.Detail {
	switch {
	case d.File == "inputs" && f.file != "":
		d.File = f.file
	case d.File == "" && d.Line > 0 && pipeline != "":
		d.File = "pipeline " + pipeline
	}
	return d
}

func (a *app) inputs(ctx context.Context, pipeline string) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	in, err := client.Inputs(ctx, scope, pipeline)
	if err != nil {
		return err
	}
	if a.shows.output == "json" {
		return a.shows.print(in, nil)
	}
	if in.YAML == "" {
		fmt.Fprintf(a.err, "pipeline %s has no runtime inputs\n", pipeline)
	}
	fmt.Fprint(a.out, in.YAML)
	return nil
}

func (a *app) mergeInputs(ctx context.Context, pipeline string, f inputFlags) error {
	request, err := f.read(a.in)
	if err != nil {
		return err
	}
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	m, err := client.MergeInputs(ctx, scope, pipeline, request)
	if err != nil {
		return f.named(pipeline, err)
	}
	return a.shows.print(m, func() error {
		fmt.Fprint(a.out, m.YAML)
		for _, d := range append(append(m.Missing, m.Wrong...), m.Warnings...) {
			fmt.Fprintln(a.err, finding(f.place(pipeline, d)))
		}
		if len(m.Missing)+len(m.Wrong) > 0 {
			return failed
		}
		return nil
	})
}

func (a *app) inputSets(ctx context.Context, pipeline string) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	sets, err := client.InputSets(ctx, scope, pipeline)
	if err != nil {
		return err
	}
	return a.shows.print(sets, func() error {
		var rows [][]string
		for _, s := range sets {
			fits := "yes"
			if !s.Valid {
				fits = "no"
			}
			rows = append(rows, []string{s.ID, string(s.Kind), s.Name, fits})
		}
		if err := a.shows.table("ID KIND NAME FITS", rows); err != nil {
			return err
		}
		for _, s := range sets {
			for _, d := range s.Wrong {
				d.File = s.ID
				fmt.Fprintln(a.err, finding(d))
			}
		}
		return nil
	})
}

func (a *app) reconcile(ctx context.Context, pipeline string, ids []string, dryRun bool) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		sets, err := client.InputSets(ctx, scope, pipeline)
		if err != nil {
			return err
		}
		for _, s := range sets {
			if !s.Valid {
				ids = append(ids, s.ID)
			}
		}
	}
	done := []api.Reconciled{}
	for _, id := range ids {
		r, err := client.ReconcileInputSet(ctx, scope, pipeline, id, api.Reconcile{DryRun: dryRun})
		if err != nil {
			return fmt.Errorf("input set %s: %w", id, err)
		}
		done = append(done, r)
	}
	return a.shows.print(done, func() error {
		for _, r := range done {
			fmt.Fprintf(a.shows.people(), "%s/%s/%s: %s dropped\n", r.Kind, pipeline, r.ID, plural(len(r.Dropped), "value"))
			for _, line := range difference(r.Before, r.After) {
				fmt.Fprintln(a.shows.people(), line)
			}
		}
		return nil
	})
}

func (d *decider) answerInputs(ctx context.Context, args []string, f inputFlags) error {
	values, err := f.read(d.in)
	if err != nil {
		return err
	}
	client, _, err := d.caller.connect()
	if err != nil {
		return err
	}
	n, err := d.waiting(ctx, client, args, plan.InputWaiting)
	if err != nil {
		return err
	}
	if f.file == "" && len(f.pairs) == 0 && slices.ContainsFunc(n.Asks, func(q input.Question) bool { return q.Required }) {
		for _, q := range n.Asks {
			fmt.Fprintf(d.shows.people(), "%s  (%s)\n", q.Path, q.Help)
		}
		fmt.Fprintf(d.err, "answer with: slipway inputs answer %s %s --input PATH=VALUE\n", args[0], n.Identifier)
		return failed
	}
	if err := client.AnswerInputs(ctx, args[0], string(n.ID), api.InputsAnswer{InputsYAML: values.InputsYAML, Inputs: values.Inputs}); err != nil {
		return f.named("", err)
	}
	if len(n.Asks) == 0 {
		fmt.Fprintf(d.shows.people(), "%s of %s runs\n", n.Identifier, args[0])
		return nil
	}
	fmt.Fprintf(d.shows.people(), "%s of %s has its inputs\n", n.Identifier, args[0])
	return nil
}
