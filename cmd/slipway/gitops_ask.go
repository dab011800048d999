package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/display"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// How long an agent has to answer, and how often it is looked.
const (
	usualWait = 30 * time.Second
	lookEvery = 500 * time.Millisecond
)

// until looks until what is waited for is there; what says what that is.
func until(ctx context.Context, timeout time.Duration, what string, there func() (bool, error)) error {
	if timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fault.New(fault.Unavailable, "%s after %s", what, timeout))
		defer cancel()
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if ok, err := there(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// answered waits for the agent's answer to a request.
func (g *gitOps) answered(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey, asked display.Request, timeout time.Duration) (display.Request, error) {
	err := until(ctx, timeout, "agent "+key.Agent+" hasn't answered", func() (bool, error) {
		var err error
		asked, err = client.Request(ctx, key, asked.ID)
		return asked.Result != nil, err
	})
	if err == nil && asked.Result.Failed {
		err = fault.New(fault.Conflict, "the agent refused: %s", asked.Result.Message)
	}
	return asked, err
}

// syncFlags are argocd's.
type syncFlags struct {
	in        display.Sync
	resources []string
	infos     []string
	strategy  string
	outOfSync bool
	limit     int64
	async     bool
	timeout   int
}

func (g *gitOps) syncCommand() *cobra.Command {
	var f syncFlags
	c := &cobra.Command{
		Use: "sync APP...", Short: "Make the cluster what Git says, and wait for it", Args: cobra.MinimumNArgs(1),
		Example: "  slipway gitops app sync eu1/guestbook --prune\n  slipway gitops app sync guestbook --resource apps:Deployment:web --async",
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.read(c.Flags().Changed("retry-limit")); err != nil {
				return err
			}
			for _, name := range args {
				if err := g.sync(c.Context(), name, f); err != nil {
					return err
				}
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.in.Revision, "revision", "", "sync to this revision, not to the application's")
	fl.StringSliceVar(&f.in.Revisions, "revisions", nil, "of an application with several sources: the revision of each")
	fl.BoolVar(&f.in.Prune, "prune", false, "delete what Git doesn't have any more")
	fl.BoolVar(&f.in.DryRun, "dry-run", false, "say what would be done, and change nothing")
	fl.BoolVar(&f.in.Force, "force", false, "make anew what can't be changed")
	fl.StringVar(&f.strategy, "strategy", "hook", "hook, or apply for a sync without hooks")
	fl.StringSliceVar(&f.resources, "resource", nil, "these objects alone: GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME")
	fl.BoolVar(&f.outOfSync, "apply-out-of-sync-only", false, "leave alone what is in sync")
	fl.StringSliceVar(&f.infos, "info", nil, "KEY=VALUE for people who look at the sync")
	fl.Int64Var(&f.limit, "retry-limit", 0, "how often a sync that failed is tried again; -1: for ever")
	fl.BoolVar(&f.async, "async", false, "don't wait for the end")
	fl.IntVar(&f.timeout, "timeout", 0, "seconds to wait for the end; 0: as long as it takes")
	return c
}

// read reads the flags that aren't texts.
func (f *syncFlags) read(retry bool) error {
	switch f.strategy {
	case "apply":
		f.in.Apply = true
	case "hook":
	default:
		return fault.New(fault.Invalid, "the strategy %q isn't one of hook and apply", f.strategy)
	}
	for _, text := range f.resources {
		parts := strings.Split(text, ":")
		if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
			return fault.New(fault.Invalid, "the resource %q isn't one such as apps:Deployment:web", text)
		}
		k := object.Key{Group: parts[0], Kind: parts[1], Name: parts[2]}
		if namespace, name, found := strings.Cut(k.Name, "/"); found {
			k.Namespace, k.Name = namespace, name
		}
		f.in.Resources = append(f.in.Resources, k)
	}
	for _, text := range f.infos {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return fault.New(fault.Invalid, "the info %q isn't one such as KEY=VALUE", text)
		}
		f.in.Info = append(f.in.Info, gitops.Info{Name: key, Value: value})
	}
	if f.outOfSync {
		f.in.SyncOptions = append(f.in.SyncOptions, "ApplyOutOfSyncOnly=true")
	}
	if retry {
		f.in.Retry = &gitops.Retry{Limit: f.limit}
	}
	return nil
}

func (g *gitOps) sync(ctx context.Context, name string, f syncFlags) error {
	client, key, err := g.application(ctx, name)
	if err != nil {
		return err
	}
	asked, err := client.Sync(ctx, key, f.in)
	if err != nil {
		return err
	}
	if f.async {
		return g.shows.print(asked, func() error {
			fmt.Fprintf(g.shows.people(), "%s/%s: sync asked for, request %s\n", key.Agent, key.Name, asked.ID)
			return nil
		})
	}
	return g.operation(ctx, client, key, asked, time.Duration(f.timeout)*time.Second)
}

// operation waits for the end of the operation that was asked for, and shows it.
func (g *gitOps) operation(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey, asked display.Request, timeout time.Duration) error {
	if _, err := g.answered(ctx, client, key, asked, timeout); err != nil {
		return err
	}
	var a display.Application
	var o *protocol.OperationSummary
	err := until(ctx, timeout, "the operation hasn't ended", func() (bool, error) {
		var err error
		if a, err = client.Application(ctx, key); err != nil {
			return false, err
		}
		if summaryOf(a).Hidden(asked.ID, asked.At) {
			return false, fault.New(fault.Conflict, "others have synced %s/%s since; \"slipway gitops app history\" has what came of this one", key.Agent, key.Name)
		}
		o = summaryOf(a).OperationOf(asked.ID)
		return o != nil && o.Phase.Ended(), nil
	})
	if err != nil {
		return err
	}
	if err := g.shows.print(a, func() error { return g.show(a) }); err != nil {
		return err
	}
	if o.Phase != gitops.OperationSucceeded {
		return failed
	}
	return nil
}

// asking is a command that asks for something and waits for the answer; said is
// what it says then.
func (g *gitOps) asking(c *cobra.Command, said string, ask func(context.Context, apiclient.GitOps, apiclient.ApplicationKey) (display.Request, error)) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		client, key, err := g.application(c.Context(), args[0])
		if err != nil {
			return err
		}
		asked, err := ask(c.Context(), client, key)
		if err == nil {
			asked, err = g.answered(c.Context(), client, key, asked, usualWait)
		}
		if err != nil {
			return err
		}
		return g.shows.print(asked, func() error {
			fmt.Fprintf(g.shows.people(), "%s/%s %s\n", key.Agent, key.Name, said)
			return nil
		})
	}
	return c
}

func (g *gitOps) refreshCommand() *cobra.Command {
	var hard bool
	c := g.asking(&cobra.Command{Use: "refresh APP", Short: "Compare an application anew; nothing is changed"}, "refreshed",
		func(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey) (display.Request, error) {
			return client.Refresh(ctx, key, hard)
		})
	c.Flags().BoolVar(&hard, "hard", false, "render and compare everything anew, whatever was found before")
	return c
}

func (g *gitOps) terminateCommand() *cobra.Command {
	return g.asking(&cobra.Command{Use: "terminate-op APP", Aliases: []string{"terminate"}, Short: "End the operation under way"}, "operation terminating",
		func(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey) (display.Request, error) {
			return client.Terminate(ctx, key)
		})
}

func (g *gitOps) rollbackCommand() *cobra.Command {
	var in display.Rollback
	var timeout int
	c := &cobra.Command{
		Use: "rollback APP [ID]", Short: "Go back to a sync of the history, and stay there", Args: cobra.RangeArgs(1, 2),
		Long: "Rollback syncs to what the history's entry ID was synced to; without ID to the one before the last. The application is held there:\n" +
			"automated syncs heal it at that revision, until a new commit changes its files or somebody syncs it.",
		RunE: func(c *cobra.Command, args []string) error {
			client, key, err := g.application(c.Context(), args[0])
			if err != nil {
				return err
			}
			if in.ID, err = g.entry(c.Context(), client, key, args[1:]); err != nil {
				return err
			}
			asked, err := client.Rollback(c.Context(), key, in)
			if err != nil {
				return err
			}
			return g.operation(c.Context(), client, key, asked, time.Duration(timeout)*time.Second)
		},
	}
	c.Flags().BoolVar(&in.Prune, "prune", false, "delete what that revision doesn't have")
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "say what would be done, and change nothing")
	c.Flags().IntVar(&timeout, "timeout", 0, "seconds to wait for the end; 0: as long as it takes")
	return c
}

// entry is the entry of the history that is meant: the one that is named, or the
// one before the last.
func (g *gitOps) entry(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey, args []string) (int64, error) {
	if len(args) > 0 {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return 0, fault.New(fault.Invalid, "%q isn't an id of the history", args[0])
		}
		return id, nil
	}
	all, err := g.history(ctx, client, key)
	if err == nil && len(all) < 2 {
		err = fault.New(fault.Conflict, "application %s was synced %d times; there is nothing to go back to", key.Name, len(all))
	}
	if err != nil {
		return 0, err
	}
	return all[1].ID, nil
}

func (g *gitOps) resourcesCommand() *cobra.Command {
	var tree string
	var orphaned bool
	c := &cobra.Command{
		Use: "resources APP", Short: "List the objects of an application", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, key, err := g.application(c.Context(), args[0])
			if err != nil {
				return err
			}
			if tree != "" {
				return g.showTree(c.Context(), client, key, tree)
			}
			if orphaned {
				return g.showOrphans(c.Context(), client, key)
			}
			asked, err := client.Resources(c.Context(), key)
			all, err := answerOf[[]gitops.ResourceStatus](c.Context(), g, client, key, asked, err)
			if err != nil {
				return err
			}
			return g.shows.print(all, func() error {
				var rows [][]string
				for _, r := range all {
					health := ""
					if r.Health != nil {
						health = string(r.Health.Status)
					}
					rows = append(rows, []string{dash(r.Group), r.Kind, dash(r.Namespace), r.Name, dash(string(r.Status)), dash(health), strconv.FormatBool(r.Hook)})
				}
				return g.shows.table("GROUP KIND NAMESPACE NAME STATUS HEALTH HOOK", rows)
			})
		},
	}
	treeFlag(c, &tree)
	c.Flags().BoolVar(&orphaned, "orphaned", false, "list the objects of its namespace that belong to nobody, as its project has them looked for")
	c.MarkFlagsMutuallyExclusive("tree", "orphaned")
	return c
}

func (g *gitOps) showOrphans(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey) error {
	t, err := seen[protocol.Tree](ctx, g, client, key, "tree", protocol.Look{})
	if err != nil {
		return err
	}
	return g.shows.print(t.OrphanedNodes, func() error {
		var rows [][]string
		for _, n := range t.OrphanedNodes {
			rows = append(rows, []string{dash(n.Group), n.Kind, dash(n.Namespace), n.Name, "Yes"})
		}
		return g.shows.table("GROUP KIND NAMESPACE NAME ORPHANED", rows)
	})
}

// treeFlag is argocd's -o tree, whose letter is the output's here.
func treeFlag(c *cobra.Command, tree *string) {
	c.Flags().StringVar(tree, "tree", "", "with what the objects own: true, or detailed")
	c.Flags().Lookup("tree").NoOptDefVal = "true"
}

func (g *gitOps) showTree(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey, how string) error {
	if how != "true" && how != "detailed" {
		return fault.New(fault.Invalid, "--tree: found %q; want true or detailed", how)
	}
	t, err := seen[protocol.Tree](ctx, g, client, key, "tree", protocol.Look{})
	if err != nil {
		return err
	}
	return g.shows.print(t, func() error { return g.tree(t, how == "detailed") })
}

func (g *gitOps) deleteCommand() *cobra.Command {
	var cascade bool
	c := &cobra.Command{
		Use: "delete APP...", Short: "Delete applications and what they have deployed", Args: cobra.MinimumNArgs(1),
		Long: "Delete deletes an application and, as argocd does, what it has deployed; with --cascade=false that stays.",
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range args {
				client, key, err := g.application(c.Context(), name)
				if err == nil {
					_, err = client.Delete(c.Context(), key, cascade)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(g.shows.people(), "application %s/%s deleted\n", key.Agent, key.Name)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&cascade, "cascade", true, "delete what it has deployed, too")
	return c
}

// waitFlags are argocd's.
type waitFlags struct {
	sync, health, operation, suspended, degraded, gone bool
	timeout                                            int
}

func (g *gitOps) waitCommand() *cobra.Command {
	var f waitFlags
	c := &cobra.Command{
		Use: "wait APP...", Short: "Wait until applications are synced and healthy", Args: cobra.MinimumNArgs(1),
		Long: "Wait ends when each application is synced and healthy and no operation is under way. Flags choose what of these counts.",
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains([]bool{f.sync, f.health, f.operation, f.suspended, f.degraded, f.gone}, true) {
				f.sync, f.health, f.operation = true, true, true
			}
			for _, name := range args {
				if err := g.wait(c.Context(), name, f); err != nil {
					return err
				}
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.BoolVar(&f.sync, "sync", false, "until it is synced")
	fl.BoolVar(&f.health, "health", false, "until it is healthy")
	fl.BoolVar(&f.operation, "operation", false, "until no operation is under way")
	fl.BoolVar(&f.suspended, "suspended", false, "until it is suspended")
	fl.BoolVar(&f.degraded, "degraded", false, "until it is degraded")
	fl.BoolVar(&f.gone, "delete", false, "until it is deleted")
	fl.IntVar(&f.timeout, "timeout", 0, "seconds to wait; 0: as long as it takes")
	return c
}

func (g *gitOps) wait(ctx context.Context, name string, f waitFlags) error {
	client, key, err := g.application(ctx, name)
	if err != nil {
		if f.gone && fault.Is(err, fault.NotFound) {
			return nil
		}
		return err
	}
	var a display.Application
	err = until(ctx, time.Duration(f.timeout)*time.Second, name+" isn't as it was waited for", func() (bool, error) {
		var err error
		a, err = client.Application(ctx, key)
		if f.gone && fault.Is(err, fault.NotFound) {
			return true, nil
		}
		return err == nil && !f.gone && f.met(a), err
	})
	if err != nil || f.gone {
		return err
	}
	return g.shows.print(a, func() error { return g.show(a) })
}

// met says whether an application is as it is waited for.
func (f waitFlags) met(a display.Application) bool {
	s := summaryOf(a)
	health := cmp.Or(s.Health.Status, gitops.HealthUnknown)
	wanted := map[gitops.HealthCode]bool{gitops.Healthy: f.health, gitops.Suspended: f.suspended, gitops.Degraded: f.degraded}
	anyHealth := f.health || f.suspended || f.degraded
	return a.Known && (!f.sync || s.Sync.Status == gitops.Synced) && (!anyHealth || wanted[health]) &&
		(!f.operation || s.Operation == nil || s.Operation.Phase.Ended())
}
