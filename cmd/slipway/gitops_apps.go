package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/display"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

func (g *gitOps) listCommand() *cobra.Command {
	var f apiclient.ApplicationFilter
	c := &cobra.Command{
		Use: "list", Short: "List applications", Args: cobra.NoArgs,
		Example: "  slipway gitops app list -l team=web --sync-status OutOfSync",
		RunE: func(c *cobra.Command, _ []string) error {
			client, scope, err := g.connect()
			if err != nil {
				return err
			}
			all, err := apiclient.All(0, func(p apiclient.Page) ([]display.Application, string, error) {
				return client.Applications(c.Context(), scope, f, p)
			})
			if err != nil {
				return err
			}
			return g.shows.print(all, func() error {
				var rows [][]string
				for _, a := range all {
					s, src := summaryOf(a), sourceOf(a)
					rows = append(rows, []string{
						a.Agent + "/" + a.Name, cmp.Or(a.Destination.Name, a.Destination.Server), dash(a.Destination.Namespace), a.ArgoProject,
						string(cmp.Or(s.Sync.Status, gitops.SyncUnknown)), string(cmp.Or(s.Health.Status, gitops.HealthUnknown)), a.SyncPolicy, conditionsOf(s),
						src.RepoURL, dash(cmp.Or(src.Path, src.Chart)), dash(src.TargetRevision),
					})
				}
				return g.shows.table("NAME CLUSTER NAMESPACE PROJECT STATUS HEALTH SYNCPOLICY CONDITIONS | REPO PATH TARGET", rows)
			})
		},
	}
	c.Flags().StringVar(&f.Agent, "agent", "", "those of an agent")
	c.Flags().StringVarP(&f.Label, "selector", "l", "", "those with labels: key=value, several with commas")
	c.Flags().StringVar(&f.Sync, "sync-status", "", "those that are Synced, OutOfSync or Unknown")
	c.Flags().StringVar(&f.Health, "health-status", "", "those that are Healthy, Progressing, Degraded, Suspended, Missing or Unknown")
	c.Flags().StringVarP(&f.ArgoProject, "argo-project", "p", "", "those of a project of Argo CD; --project is Slipway's")
	c.Flags().StringVarP(&f.Repo, "repo", "r", "", "those with a source in a repository")
	c.Flags().StringVarP(&f.Cluster, "cluster", "c", "", "those in a cluster, by its address or its name")
	return c
}

func summaryOf(a display.Application) protocol.Summary {
	if a.Summary == nil {
		return protocol.Summary{}
	}
	return *a.Summary
}

func sourceOf(a display.Application) gitops.Source {
	if len(a.Sources) == 0 {
		return gitops.Source{}
	}
	return a.Sources[0]
}

func conditionsOf(s protocol.Summary) string {
	if len(s.Conditions) == 0 {
		return "<none>"
	}
	var types []string
	for _, c := range s.Conditions {
		types = append(types, string(c.Type))
	}
	return strings.Join(types, ",")
}

func (g *gitOps) getCommand() *cobra.Command {
	var refresh, hard bool
	var tree string
	c := &cobra.Command{
		Use: "get APP", Short: "Show an application", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, key, err := g.application(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := g.refreshed(c.Context(), client, key, refresh, hard); err != nil {
				return err
			}
			if tree != "" {
				return g.showTree(c.Context(), client, key, tree)
			}
			a, err := client.Application(c.Context(), key)
			if err != nil {
				return err
			}
			return g.shows.print(a, func() error { return g.show(a) })
		},
	}
	c.Flags().BoolVar(&refresh, "refresh", false, "compare it anew before")
	c.Flags().BoolVar(&hard, "hard-refresh", false, "render and compare everything anew before")
	treeFlag(c, &tree)
	return c
}

// show tells people of an application.
func (g *gitOps) show(a display.Application) error {
	s := summaryOf(a)
	lines := [][2]string{
		{"Name", a.Agent + "/" + a.Name}, {"Project", a.ArgoProject}, {"Server", cmp.Or(a.Destination.Server, a.Destination.Name)}, {"Namespace", a.Destination.Namespace},
	}
	for _, src := range a.Sources {
		lines = append(lines, [2]string{"Repo", src.RepoURL}, [2]string{"Target", src.TargetRevision}, [2]string{"Path", cmp.Or(src.Path, src.Chart)})
	}
	lines = append(lines, [2]string{"SyncPolicy", a.SyncPolicy})
	if !a.Known {
		lines = append(lines, [2]string{"Sync Status", "Unknown (the agent hasn't reported it)"}, [2]string{"Health Status", "Unknown"})
	} else {
		revision := cmp.Or(s.Sync.Revision, strings.Join(s.Sync.Revisions, ","))
		lines = append(lines,
			[2]string{"Sync Status", strings.TrimSuffix(fmt.Sprintf("%s (%s)", s.Sync.Status, revision), " ()")},
			[2]string{"Health Status", strings.TrimSpace(string(s.Health.Status) + " " + s.Health.Message)},
			[2]string{"Objects", fmt.Sprintf("%d, %d out of sync, %d missing, %d to prune", s.Counts.Objects, s.Counts.OutOfSync, s.Counts.Missing, s.Counts.ToPrune)},
			[2]string{"Reported", age(a.ReportedAt, time.Now()) + " ago"},
			[2]string{"Held at", s.Hold})
	}
	if o := s.Operation; o != nil {
		lines = append(lines, [2]string{"Operation", strings.TrimSpace(string(o.Phase) + " " + o.Message)}, [2]string{"By", cmp.Or(o.By.Username, "the agent")})
	}
	for _, c := range s.Conditions {
		lines = append(lines, [2]string{"Condition", string(c.Type) + ": " + c.Message})
	}
	w := g.shows.people()
	for _, l := range lines {
		if l[1] != "" {
			fmt.Fprintf(w, "%-15s%s\n", l[0]+":", l[1])
		}
	}
	return nil
}

func (g *gitOps) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "history APP", Short: "List how an application was synced, the newest first", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, key, err := g.application(c.Context(), args[0])
			if err != nil {
				return err
			}
			all, err := g.history(c.Context(), client, key)
			if err != nil {
				return err
			}
			return g.shows.print(all, func() error {
				var rows [][]string
				for _, h := range all {
					rows = append(rows, []string{
						strconv.FormatInt(h.ID, 10), h.DeployedAt.Format(time.RFC3339), cmp.Or(h.Revision, strings.Join(h.Revisions, ",")), cmp.Or(h.InitiatedBy.Username, "-"),
					})
				}
				return g.shows.table("ID DATE REVISION BY", rows)
			})
		},
	}
}

func (g *gitOps) history(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey) ([]gitops.HistoryEntry, error) {
	return apiclient.All(0, func(p apiclient.Page) ([]gitops.HistoryEntry, string, error) { return client.History(ctx, key, p) })
}
