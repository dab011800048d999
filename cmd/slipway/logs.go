package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/printable"
)

// logFormat says how log lines are shown.
type logFormat struct {
	attempt    int
	tail       int
	follow     bool
	timestamps bool
}

func logsCommand(a *app) *cobra.Command {
	var f logFormat
	c := a.naming.onExecution(&cobra.Command{
		Use: "logs EXECUTION|PIPELINE [STEP]", Short: "Show the logs of an execution's steps", GroupID: groupRun, Args: cobra.RangeArgs(1, 2),
		Long: "Logs shows the log of a step, which is named by its identifier, or by its whole path where several have the same.\n" +
			"Without STEP it shows the logs of all steps that have run, each line behind its step's identifier.\n" +
			"A pipeline stands for its newest execution.\n" +
			"--tail gives the last lines of the step, or of each, and fetches none before them; with -f also what comes then.\n" +
			"With -o json each line is an object: its time (t, in ms), its level (l), its text (m).",
		Example: "  slipway logs guestbook rollout -f\n  slipway logs guestbook rollout --tail 50\n  slipway logs x6920f1ab3c0d6e5f7a81 --timestamps",
	}, newest, func(ctx context.Context, client *apiclient.Client, args []string) error {
		switch {
		case !a.shows.outputIn("table", "json"):
			return fault.New(fault.Invalid, "the output of logs is a table or json; found %s", a.shows.output)
		case f.tail < 0 || f.tail > mostTail:
			return fault.New(fault.Invalid, "--tail is %d; want 1 to %d lines, or none for all", f.tail, mostTail)
		case len(args) == 2:
			return a.stepLog(ctx, client, args[0], args[1], f)
		}
		return a.allLogs(ctx, client, args[0], f)
	})
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "wait for more until the end")
	c.Flags().IntVar(&f.attempt, "attempt", 0, "of this attempt; 0 means the latest")
	c.Flags().IntVar(&f.tail, "tail", 0, "only so many lines at the end; 0 means all")
	c.Flags().BoolVar(&f.timestamps, "timestamps", false, "show when each line was written")
	return c
}

// mostTail is how many last lines one request gives at most.
const mostTail = 1000

// logWait is how long one request waits for lines, in seconds.
const logWait = 20

// stepLog shows one step's log; when it is followed, that of the attempts
// that come later too.
func (a *app) stepLog(ctx context.Context, client *apiclient.Client, id, step string, f logFormat) error {
	p := &logPrinter{app: a, format: f}
	query := apiclient.LogQuery{Attempt: f.attempt, Tail: f.tail}
	if f.follow {
		query.Wait = logWait
	}
	written := false
	for {
		part, err := client.Log(ctx, id, step, query)
		if ctx.Err() != nil {
			return interrupted
		}
		if err != nil {
			return err
		}
		if f.attempt > part.Attempts && !f.follow {
			return fault.New(fault.Invalid, "--attempt is %d; %s has had %s", f.attempt, step, plural(part.Attempts, "attempt"))
		}
		p.print("", part.Lines)
		written = written || len(part.Lines) > 0
		end := query.Tail > 0
		query.Tail = 0
		switch {
		case !part.Ended && (f.follow || !end && part.Next > query.From):
			query.Attempt, query.From = part.Attempt, part.Next
		case f.follow && f.attempt == 0 && part.Attempts > part.Attempt:
			query.Attempt, query.From = part.Attempt+1, 0
		default:
			if !written {
				fmt.Fprintln(a.err, step, "has written no log; slipway logs", id, "shows those of all steps")
			}
			return nil
		}
	}
}

// allLogs shows the logs of every step.
func (a *app) allLogs(ctx context.Context, client *apiclient.Client, id string, f logFormat) error {
	if f.attempt != 0 {
		return fault.New(fault.Invalid, "--attempt needs a STEP")
	}
	p := &logPrinter{app: a, format: f}
	if f.follow {
		return a.followLogs(ctx, client, id, p)
	}
	tree, err := client.Execution(ctx, id)
	if err != nil {
		return err
	}
	for _, n := range stepsWithLogs(tree.Root) {
		if err := tail(ctx, client, id, n, p, 0); err != nil {
			return err
		}
	}
	a.logsUnseen(tree)
	return nil
}

// logsUnseen says that steps have logs that aren't shown.
func (a *app) logsUnseen(t api.ExecutionTree) {
	if n := unseen(t, func(s plan.Status) bool { return s != plan.NotStarted }); n > 0 {
		fmt.Fprintf(a.err, "%s more stages and steps aren't shown; slipway logs %s STEP shows the log of one\n", thousands(n), t.ID)
	}
}

// followLogs tails every step from its start on, several at once where they
// run at once.
func (a *app) followLogs(ctx context.Context, client *apiclient.Client, id string, p *logPrinter) error {
	var tails sync.WaitGroup
	defer tails.Wait()
	following := map[plan.NodeID]bool{}
	err := client.Watch(ctx, id, func(t api.ExecutionTree) {
		if t.Status.Terminal() {
			defer a.logsUnseen(t)
		}
		for _, n := range stepsWithLogs(t.Root) {
			if following[n.ID] {
				continue
			}
			following[n.ID] = true
			step := *n
			tails.Go(func() {
				if err := tail(ctx, client, id, &step, p, logWait); err != nil && ctx.Err() == nil {
					complain(a.err, err)
				}
			})
		}
	})
	if ctx.Err() != nil {
		return interrupted
	}
	return err
}

func stepsWithLogs(root *execution.TreeNode) []*execution.TreeNode {
	var out []*execution.TreeNode
	walk(root, func(n *execution.TreeNode) {
		if n.LogStream != "" {
			out = append(out, n)
		}
	})
	return out
}

// tail shows one step's log behind its identifier, through all attempts.
func tail(ctx context.Context, client *apiclient.Client, id string, n *execution.TreeNode, p *logPrinter, wait int) error {
	query := apiclient.LogQuery{Attempt: 1, Wait: wait, Tail: p.format.tail}
	if query.Tail > 0 {
		query.Attempt = max(n.Attempt, 1) // the end of its log
	}
	for {
		asked := time.Now()
		part, err := client.Log(ctx, id, string(n.ID), query)
		if err != nil {
			return err
		}
		if idle := time.Second - time.Since(asked); wait > 0 && !part.Ended && len(part.Lines) == 0 && idle > 0 {
			pause(ctx, idle) // a control plane of functions doesn't keep anybody waiting
		}
		p.print(n.Identifier, part.Lines)
		end := query.Tail > 0
		query.Tail = 0
		switch {
		case !part.Ended && (wait > 0 || !end && part.Next > query.From):
			query.From = part.Next
		case part.Attempts > query.Attempt:
			query.Attempt, query.From = query.Attempt+1, 0
		default:
			return nil
		}
	}
}

// pause waits, or less if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// logPrinter prints whole parts, so that steps that run at once don't mix
// within a line.
type logPrinter struct {
	app    *app
	format logFormat
	mu     sync.Mutex
}

func (p *logPrinter) print(step string, lines []api.LogLine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range lines {
		if p.app.shows.output == "json" {
			_ = json.NewEncoder(p.app.out).Encode(struct { // like Fprintln below
				Step string `json:"step,omitempty"`
				api.LogLine
			}{step, l})
			continue
		}
		prefix := ""
		if step != "" {
			prefix = step + " | "
		}
		if p.format.timestamps {
			prefix += time.UnixMilli(l.Time).UTC().Format("2006-01-02T15:04:05.000Z") + " "
		}
		fmt.Fprintln(p.app.shows.people(), printable.Line(prefix)+printable.Log(l.Text))
	}
}
