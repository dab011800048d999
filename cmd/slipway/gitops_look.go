package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/display"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// lookCommands look at what an application has live, and touch it.
func (g *gitOps) lookCommands() []*cobra.Command {
	actions := &cobra.Command{Use: "actions", Short: "List and run actions on an application's objects"}
	actions.AddCommand(g.actionsCommand(), g.runActionCommand())
	return []*cobra.Command{
		g.diffCommand(), g.manifestsCommand(), g.logsCommand(), g.eventsCommand(), actions, g.patchResourceCommand(), g.deleteResourceCommand(),
		g.holdCommand(), g.releaseCommand(),
	}
}

// whichFlags choose objects, by argocd's names.
func whichFlags(c *cobra.Command, w *protocol.Which, name string) {
	fl := c.Flags()
	fl.StringVar(&w.Kind, "kind", "", "objects of this kind")
	fl.StringVar(&w.Group, "group", "", "objects of this group")
	fl.StringVar(&w.Namespace, "namespace", "", "objects in this namespace")
	fl.StringVar(&w.Name, name, "", "the object of this name")
}

// seen asks the agent for something to be shown.
func seen[T any](ctx context.Context, g *gitOps, client apiclient.GitOps, key apiclient.ApplicationKey, what string, l protocol.Look) (T, error) {
	asked, err := client.Look(ctx, key, what, l)
	return answerOf[T](ctx, g, client, key, asked, err)
}

// answerOf waits for the answer to a request, and reads it.
func answerOf[T any](ctx context.Context, g *gitOps, client apiclient.GitOps, key apiclient.ApplicationKey, asked display.Request, err error) (T, error) {
	var out T
	if err == nil {
		asked, err = g.answered(ctx, client, key, asked, lookWait)
	}
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(asked.Result.Data, &out); err != nil {
		return out, fmt.Errorf("read the agent's answer: %w", err)
	}
	return out, nil
}

// lookWait is how long an agent has that looks first: its poll, and its look.
const lookWait = 90 * time.Second

func titleOf(k object.Key) string {
	return strings.TrimPrefix(k.Group+"/"+k.Kind, "/") + " " + strings.TrimPrefix(k.Namespace+"/"+k.Name, "/")
}

// refreshed compares an application anew, if that is wanted.
func (g *gitOps) refreshed(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey, refresh, hard bool) error {
	if !refresh && !hard {
		return nil
	}
	asked, err := client.Refresh(ctx, key, hard)
	if err == nil {
		_, err = g.answered(ctx, client, key, asked, usualWait)
	}
	return err
}

func (g *gitOps) diffCommand() *cobra.Command {
	var l protocol.Look
	var local string
	var refresh, hard, tells bool
	code := int(failed)
	c := &cobra.Command{
		Use: "diff APP", Short: "Show what a sync would change; exit status 1 if that is anything", Args: cobra.ExactArgs(1),
		Long: "Diff has the cluster's API server say, in a dry run, what a sync would make of each object. Values of Secrets aren't shown; whether they change is.\n" +
			"It ends with 1 if there are differences.",
		Example: "  slipway gitops app diff guestbook\n  slipway gitops app diff guestbook --revision my-branch\n  helm template chart | slipway gitops app diff guestbook --local -",
		RunE: func(c *cobra.Command, args []string) error {
			client, key, err := g.application(c.Context(), args[0])
			if err == nil {
				err = g.refreshed(c.Context(), client, key, refresh, hard)
			}
			if err == nil && local != "" {
				l.Manifests, err = localManifests(c.InOrStdin(), local)
			}
			if err != nil {
				return err
			}
			all, err := seen[[]protocol.Difference](c.Context(), g, client, key, "diff", l)
			if err != nil {
				return err
			}
			if err := g.shows.print(all, func() error { g.showDifferences(all); return nil }); err != nil {
				return err
			}
			if len(all) > 0 && tells {
				return exitCode(code)
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.StringVar(&l.Revision, "revision", "", "compare with this revision, not with the application's")
	fl.StringSliceVar(&l.Revisions, "revisions", nil, "of an application with several sources: the revision of each")
	fl.StringVar(&local, "local", "", "compare with manifests of this file, folder or, for -, of the standard input; they are taken as they are")
	fl.BoolVar(&refresh, "refresh", false, "look at the sources before")
	fl.BoolVar(&hard, "hard-refresh", false, "render everything anew before")
	fl.BoolVar(&tells, "exit-code", true, "end with 1 if there are differences")
	fl.IntVar(&code, "diff-exit-code", code, "end with this status if there are differences")
	whichFlags(c, &l.Which, "resource-name")
	return c
}

func (g *gitOps) showDifferences(all []protocol.Difference) {
	w := g.shows.people()
	for _, d := range all {
		note := ""
		if d.Prune {
			note = " (to be pruned)"
		}
		fmt.Fprintf(w, "===== %s =====%s\n", titleOf(d.Key), note)
		switch {
		case d.Message != "":
			fmt.Fprintf(w, "the cluster refuses it: %s\n", d.Message)
		case d.Cut:
			fmt.Fprintln(w, "it differs; there was no room for more of the differences: choose objects by --kind and --resource-name")
		default:
			fmt.Fprintln(w, strings.TrimRight(d.Text, "\n"))
		}
	}
}

// rendered are the files by which a folder isn't one of manifests.
var rendered = []string{"Chart.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization"}

// localManifests reads the manifests of a file, a folder or the standard input.
func localManifests(in io.Reader, path string) (string, error) {
	if path == "-" {
		text, err := io.ReadAll(io.LimitReader(in, protocol.MostManifests+1))
		return bounded(string(text), err)
	}
	var texts []string
	err := filepath.WalkDir(path, func(at string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(rendered, d.Name()):
			return fault.New(fault.Invalid, "%s has to be rendered first; pipe what renders it into --local -", at)
		case d.IsDir() || at != path && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(at)):
			return nil
		}
		text, err := os.ReadFile(at) //nolint:gosec // these are the files of who runs it
		texts = append(texts, string(text))
		return err
	})
	return bounded(strings.Join(texts, "\n---\n"), err)
}

func bounded(text string, err error) (string, error) {
	if err == nil && len(text) > protocol.MostManifests {
		err = fault.New(fault.TooLarge, "found more than %d bytes of manifests", protocol.MostManifests)
	}
	if err == nil && strings.TrimSpace(text) == "" {
		err = fault.New(fault.Invalid, "found no manifests")
	}
	return text, err
}

func (g *gitOps) manifestsCommand() *cobra.Command {
	var l protocol.Look
	var source string
	c := &cobra.Command{
		Use: "manifests APP", Short: "Print the manifests of an application", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch source {
			case "git":
			case "live":
				if l.Live = true; l.Revision != "" || len(l.Revisions) > 0 {
					return fault.New(fault.Invalid, "what is live has no revision")
				}
			default:
				return fault.New(fault.Invalid, "the source %q isn't one of git and live", source)
			}
			client, key, err := g.application(c.Context(), args[0])
			if err != nil {
				return err
			}
			all, err := seen[[]protocol.Manifest](c.Context(), g, client, key, "manifests", l)
			if err != nil {
				return err
			}
			return g.shows.print(all, func() error {
				for _, m := range all {
					if m.Cut {
						m.Text = "# " + titleOf(m.Key) + ": there was no room for it; choose objects by --kind and --resource-name\n"
					}
					fmt.Fprintf(g.shows.people(), "---\n%s", m.Text)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&source, "source", "git", "git, or live for what the cluster has")
	c.Flags().StringVar(&l.Revision, "revision", "", "of this revision, not of the application's")
	c.Flags().StringSliceVar(&l.Revisions, "revisions", nil, "of an application with several sources: the revision of each")
	whichFlags(c, &l.Which, "resource-name")
	return c
}

// tree shows an application with what its objects own.
func (g *gitOps) tree(t protocol.Tree, detailed bool) error {
	below := map[string][]protocol.Node{}
	var roots []protocol.Node
	for _, n := range t.Nodes {
		if len(n.ParentRefs) == 0 {
			roots = append(roots, n)
		} else {
			below[n.ParentRefs[0].UID] = append(below[n.ParentRefs[0].UID], n)
		}
	}
	var rows [][]string
	var add func(n protocol.Node, before, own string)
	add = func(n protocol.Node, before, own string) {
		health, message := "", ""
		if n.Health != nil {
			health, message = string(n.Health.Status), n.Health.Message
		}
		row := []string{before + own + titleOf(object.Key{Group: n.Group, Kind: n.Kind, Name: n.Name}), dash(string(n.Status)), dash(health)}
		if detailed {
			var info []string
			for _, i := range n.Info {
				info = append(info, i.Name+": "+i.Value)
			}
			row = append(row, dash(n.Namespace), age(n.CreatedAt, time.Now()), dash(cmp.Or(message, strings.Join(info, ", "))))
		}
		rows = append(rows, row)
		if own != "" {
			before += map[bool]string{true: "  ", false: "│ "}[own == "└─"]
		}
		children := below[n.UID]
		for i, child := range children {
			add(child, before, map[bool]string{true: "└─", false: "├─"}[i == len(children)-1])
		}
	}
	for _, n := range roots {
		add(n, "", "")
	}
	header := "KIND/NAME STATUS HEALTH"
	if detailed {
		header += " NAMESPACE AGE MESSAGE"
	}
	if err := g.shows.table(header, rows); err != nil {
		return err
	}
	if t.Omitted > 0 {
		fmt.Fprintf(g.shows.err, "%d objects more aren't shown\n", t.Omitted)
	}
	return nil
}

func (g *gitOps) logsCommand() *cobra.Command {
	var l protocol.Look
	var until string
	c := &cobra.Command{
		Use: "logs APP", Short: "Print the logs of an application's pods", Args: cobra.ExactArgs(1),
		Long: "Logs are those of up to ten pods: all of the application, or those of the objects that flags choose, such as --kind Deployment --name web.",
		RunE: func(c *cobra.Command, args []string) error {
			if until != "" {
				var err error
				if l.Until, err = time.Parse(time.RFC3339, until); err != nil {
					return fault.New(fault.Invalid, "--until-time: found %q; want a time such as 2026-12-01T08:00:00Z", until)
				}
			}
			client, key, err := g.application(c.Context(), args[0])
			if err != nil {
				return err
			}
			for told := map[string]bool{}; ; {
				found, err := seen[protocol.Logs](c.Context(), g, client, key, "logs", l)
				if err != nil {
					return err
				}
				if !l.Follow {
					return g.shows.print(found, func() error { g.lines(found, told); return nil })
				}
				g.lines(found, told)
				if n := len(found.Lines); n > 0 {
					l.After, l.Tail, l.Since = found.Lines[n-1].At, 0, 0
				}
			}
		},
	}
	fl := c.Flags()
	fl.StringVarP(&l.Container, "container", "c", "", "of this container; none means all of each pod")
	fl.BoolVarP(&l.Follow, "follow", "f", false, "go on with what comes")
	fl.Int64Var(&l.Tail, "tail", 0, "so many lines of each container; 0: a thousand")
	fl.Int64Var(&l.Since, "since-seconds", 0, "lines of so many seconds")
	fl.StringVar(&until, "until-time", "", "lines up to this time")
	fl.StringVar(&l.Filter, "filter", "", "lines with this text")
	fl.BoolVarP(&l.Previous, "previous", "p", false, "of the containers before they were started again")
	whichFlags(c, &l.Which, "name")
	return c
}

// lines prints those of logs, and once what is to be known of them.
func (g *gitOps) lines(l protocol.Logs, told map[string]bool) {
	var notes []string
	if l.Omitted > 0 {
		notes = append(notes, fmt.Sprintf("%d pods more aren't read", l.Omitted))
	}
	if l.Cut {
		notes = append(notes, "there was no room for all lines")
	}
	for _, note := range append(notes, l.Notices...) {
		if !told[note] {
			told[note] = true
			fmt.Fprintln(g.shows.err, note)
		}
	}
	for _, line := range l.Lines {
		fmt.Fprintf(g.shows.people(), "%s %s\n", line.Pod, line.Text)
	}
}

func (g *gitOps) eventsCommand() *cobra.Command {
	var l protocol.Look
	c := &cobra.Command{
		Use: "events APP", Short: "List the newest events of an application's objects", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, key, err := g.application(c.Context(), args[0])
			if err != nil {
				return err
			}
			all, err := seen[[]protocol.Event](c.Context(), g, client, key, "events", l)
			if err != nil {
				return err
			}
			return g.shows.print(all, func() error {
				var rows [][]string
				for _, e := range all {
					rows = append(rows, []string{age(e.At, time.Now()), e.Type, e.Reason, titleOf(e.Key), e.Message})
				}
				return g.shows.table("LAST TYPE REASON OBJECT MESSAGE", rows)
			})
		},
	}
	whichFlags(c, &l.Which, "resource-name")
	return c
}

func (g *gitOps) actionsCommand() *cobra.Command {
	var l protocol.Look
	c := &cobra.Command{
		Use: "list APP", Short: "List what can be done to an application's objects", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, key, err := g.application(c.Context(), args[0])
			if err != nil {
				return err
			}
			all, err := seen[[]protocol.Action](c.Context(), g, client, key, "actions", l)
			if err != nil {
				return err
			}
			return g.shows.print(all, func() error {
				var rows [][]string
				for _, a := range all {
					rows = append(rows, []string{dash(a.Group), a.Kind, a.Key.Name, a.Name, fmt.Sprint(a.Disabled), dash(strings.Join(a.Parameters, ","))})
				}
				return g.shows.table("GROUP KIND NAME ACTION DISABLED PARAMETERS", rows)
			})
		},
	}
	whichFlags(c, &l.Which, "resource-name")
	return c
}

// touching is a command that changes live objects.
func (g *gitOps) touching(c *cobra.Command, t *protocol.Touch, said string, how ...string) *cobra.Command {
	before := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if before != nil {
			if err := before(c, args); err != nil {
				return err
			}
		}
		client, key, err := g.application(c.Context(), args[0])
		if err != nil {
			return err
		}
		asked, err := client.Touch(c.Context(), key, *t, how...)
		done, err := answerOf[[]object.Key](c.Context(), g, client, key, asked, err)
		if err != nil {
			return err
		}
		return g.shows.print(done, func() error {
			for _, k := range done {
				fmt.Fprintf(g.shows.people(), "%s %s\n", titleOf(k), said)
			}
			return nil
		})
	}
	c.Flags().BoolVar(&t.All, "all", false, "all objects that are chosen, not one")
	whichFlags(c, &t.Which, "resource-name")
	return c
}

func (g *gitOps) runActionCommand() *cobra.Command {
	var t protocol.Touch
	var parameters []string
	c := &cobra.Command{
		Use: "run APP ACTION", Short: "Do something to an application's objects, such as restart", Args: cobra.ExactArgs(2),
		Example: "  slipway gitops app actions run guestbook restart --kind Deployment --resource-name web\n" +
			"  slipway gitops app actions run guestbook scale --kind Deployment --resource-name web --param replicas=3",
		RunE: func(_ *cobra.Command, args []string) error {
			t.Action, t.Parameters = args[1], map[string]string{}
			for _, p := range parameters {
				name, value, found := strings.Cut(p, "=")
				if !found {
					return fault.New(fault.Invalid, "the parameter %q isn't one such as replicas=3", p)
				}
				t.Parameters[name] = value
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&parameters, "param", nil, "NAME=VALUE for the action")
	return g.touching(c, &t, "done", "actions", "run")
}

func (g *gitOps) patchResourceCommand() *cobra.Command {
	var t protocol.Touch
	c := &cobra.Command{
		Use: "patch-resource APP", Short: "Change live objects of an application", Args: cobra.ExactArgs(1),
		Long: "Patch-resource changes live objects. Where syncs heal, that would be put back at once; so it is refused unless --force is given.",
		RunE: func(*cobra.Command, []string) error {
			// argocd names the types by their media types, too.
			t.PatchType = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(t.PatchType, "application/"), "-patch+json"), "-merge")
			return nil
		},
	}
	c.Flags().StringVar(&t.Patch, "patch", "", "the patch, as JSON")
	c.Flags().StringVar(&t.PatchType, "patch-type", "merge", "merge, json or strategic")
	c.Flags().BoolVar(&t.Force, "force", false, "although syncs heal")
	return g.touching(c, &t, "patched", "patch-resource")
}

func (g *gitOps) deleteResourceCommand() *cobra.Command {
	var t protocol.Touch
	c := &cobra.Command{Use: "delete-resource APP", Short: "Delete live objects of an application", Args: cobra.ExactArgs(1)}
	c.Flags().BoolVar(&t.Force, "force", false, "at once, without a time of grace")
	c.Flags().BoolVar(&t.Orphan, "orphan", false, "what the object owns stays")
	return g.touching(c, &t, "deleted", "delete-resource")
}

func (g *gitOps) holdCommand() *cobra.Command {
	var h protocol.Hold
	c := g.asking(&cobra.Command{
		Use: "hold APP", Short: "Have an application stay what its last sync made of it",
		Long: "While an application is held, its syncs heal it there and nothing newer comes. A sync by hand or a release ends it, and what --until says.",
	}, "held", func(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey) (display.Request, error) {
		return client.Hold(ctx, key, h)
	})
	c.Flags().StringVar(&h.Until, "until", protocol.HoldNewCommit, "manual, newCommit (until what is rendered changes) or a time such as 2026-12-01T08:00:00Z")
	c.Flags().StringVar(&h.Reason, "reason", "", "why, for people who look at it")
	return c
}

func (g *gitOps) releaseCommand() *cobra.Command {
	return g.asking(&cobra.Command{Use: "release APP", Short: "End the hold of an application"}, "released",
		func(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey) (display.Request, error) {
			return client.Release(ctx, key)
		})
}
