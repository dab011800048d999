package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/argo"
	"github.com/slipway-cd/slipway/pkg/gitops/display"
	"github.com/slipway-cd/slipway/pkg/ref"
)

func (g *gitOps) setsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "appset", Aliases: []string{"appsets"}, Short: "List, make and delete sets of applications",
		Long: "Application sets are named AGENT/SET; the agent may be left out if only one has a set of that name in the project.",
	}
	c.AddCommand(g.listSetsCommand(), g.getSetCommand(), g.generateSetCommand(a), g.createSetCommand(a), g.refreshSetCommand(), g.deleteSetCommand())
	return c
}

func (g *gitOps) listSetsCommand() *cobra.Command {
	var f apiclient.SetFilter
	c := &cobra.Command{
		Use: "list", Short: "List application sets", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, scope, err := g.connect()
			if err != nil {
				return err
			}
			all, err := allSets(c.Context(), client, scope, f)
			if err != nil {
				return err
			}
			return g.shows.print(all, func() error {
				var rows [][]string
				for _, s := range all {
					src := sourceOfSet(s)
					rows = append(rows, []string{
						s.Agent + "/" + s.Name, s.ArgoProject, s.SyncPolicy, strconv.Itoa(s.Count), conditionsOfSet(s), strings.Join(s.Generators, ","),
						dash(src.RepoURL), dash(src.Path), dash(src.TargetRevision),
					})
				}
				return g.shows.table("NAME PROJECT SYNCPOLICY APPLICATIONS CONDITIONS GENERATORS | REPO PATH TARGET", rows)
			})
		},
	}
	c.Flags().StringVar(&f.Agent, "agent", "", "those of an agent")
	c.Flags().StringVarP(&f.Label, "selector", "l", "", "those with labels: key=value, several with commas")
	c.Flags().StringVarP(&f.ArgoProject, "argo-project", "p", "", "those whose template is of a project of Argo CD; --project is Slipway's")
	return c
}

func allSets(ctx context.Context, client apiclient.GitOps, scope ref.Scope, f apiclient.SetFilter) ([]display.ApplicationSet, error) {
	return apiclient.All(0, func(p apiclient.Page) ([]display.ApplicationSet, string, error) { return client.Sets(ctx, scope, f, p) })
}

func sourceOfSet(s display.ApplicationSet) display.SetSource {
	if len(s.Sources) == 0 {
		return display.SetSource{}
	}
	return s.Sources[0]
}

// conditionsOfSet are those that say something is wrong, or else that all is well.
func conditionsOfSet(s display.ApplicationSet) string {
	for _, c := range s.Conditions {
		if c.Type == "ErrorOccurred" && c.Status == "True" {
			return c.Type + ":" + c.Reason
		}
	}
	if !s.Known {
		return "Unknown"
	}
	return "<none>"
}

// set finds what an argument names: AGENT/SET, or SET alone.
func (g *gitOps) set(ctx context.Context, arg string) (apiclient.GitOps, apiclient.ApplicationKey, error) {
	client, scope, err := g.connect()
	key := apiclient.ApplicationKey{Scope: scope, Name: arg}
	if err != nil {
		return client, key, err
	}
	if agent, name, found := strings.Cut(arg, "/"); found {
		key.Agent, key.Name = agent, name
		return client, key, nil
	}
	all, err := allSets(ctx, client, scope, apiclient.SetFilter{})
	if err != nil {
		return client, key, err
	}
	var agents []string
	for _, s := range all {
		if s.Name == arg {
			agents = append(agents, s.Agent)
		}
	}
	switch len(agents) {
	case 0:
		return client, key, fault.New(fault.NotFound, "there is no application set %q in %s", arg, scopeName(scope))
	case 1:
		key.Agent = agents[0]
		return client, key, nil
	}
	return client, key, fault.New(fault.Conflict, "the agents %s have an application set %q each; name one, as %s/%s", strings.Join(agents, ", "), arg, agents[0], arg)
}

func (g *gitOps) getSetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get SET", Short: "Show an application set", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, key, err := g.set(c.Context(), args[0])
			if err != nil {
				return err
			}
			s, err := client.Set(c.Context(), key)
			if err != nil {
				return err
			}
			return g.shows.print(s, func() error { return g.showSet(s) })
		},
	}
}

// showSet tells people of a set.
func (g *gitOps) showSet(s display.ApplicationSet) error {
	lines := [][2]string{{"Name", s.Agent + "/" + s.Name}, {"Project", s.ArgoProject}, {"Generators", strings.Join(s.Generators, ", ")}}
	for _, src := range s.Sources {
		lines = append(lines, [2]string{"Repo", src.RepoURL}, [2]string{"Path", src.Path}, [2]string{"Target", src.TargetRevision})
	}
	lines = append(lines, [2]string{"SyncPolicy", s.SyncPolicy})
	if s.Preserves {
		lines = append(lines, [2]string{"On deletion", "what is deployed stays"})
	}
	if s.Known {
		lines = append(lines, [2]string{"Reported", age(s.ReportedAt, time.Now()) + " ago"}, [2]string{"Applications", cmp.Or(strings.Join(s.Applications, ", "), "none")})
	} else {
		lines = append(lines, [2]string{"Applications", "Unknown (the agent hasn't reported it)"})
	}
	for _, c := range s.Conditions {
		lines = append(lines, [2]string{"Condition", fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message)})
	}
	for _, a := range s.Statuses {
		lines = append(lines, [2]string{"Step " + a.Step, fmt.Sprintf("%s %s: %s", a.Application, a.Status, a.Message)})
	}
	w := g.shows.people()
	for _, l := range lines {
		if l[1] != "" {
			fmt.Fprintf(w, "%-15s%s\n", l[0]+":", l[1])
		}
	}
	return nil
}

// readSets reads documents, all of which are application sets.
func readSets(ctx context.Context, a *app, files []string) ([]document, error) {
	read, err := a.reader.readDocuments(ctx, files, documentFlags{strict: true, argo: true})
	if err != nil {
		return nil, err
	}
	if len(read.wrong) > 0 {
		return nil, a.shows.nothingDone(read.wrong, "done")
	}
	for _, d := range read.docs {
		if argo.Kind(d.node) != argo.KindApplicationSet && d.node.Get(string(ref.GitOpsApplicationSet)) == nil {
			return nil, fault.New(fault.Invalid, "%s:%d: found a document that is no application set", d.file, d.before+1)
		}
	}
	if len(read.docs) == 0 {
		return nil, fault.New(fault.Invalid, "found no application set in %s", strings.Join(files, ", "))
	}
	return read.docs, nil
}

func (g *gitOps) generateSetCommand(a *app) *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use: "generate FILE", Short: "Show the applications that an application set would have", Args: cobra.ExactArgs(1),
		Example: "  slipway gitops appset generate set.yaml --agent eu1 -o yaml",
		RunE: func(c *cobra.Command, args []string) error {
			docs, err := readSets(c.Context(), a, args)
			if err != nil {
				return err
			}
			client, scope, err := g.connect()
			if err != nil {
				return err
			}
			all := []gitops.Application{}
			for _, d := range docs {
				name, of := argo.NamedSet(d.node)
				key := apiclient.ApplicationKey{Scope: scope, Agent: cmp.Or(of, agent), Name: name}
				if key.Agent == "" || name == "" {
					return fault.New(fault.Invalid, "%s: the set needs a name, and an agent that is asked: give --agent", d.file)
				}
				asked, err := client.GenerateSet(c.Context(), key, display.Generate{YAML: string(d.yaml)})
				if err == nil {
					asked, err = g.answeredOfSet(c.Context(), client, key, asked)
				}
				if err != nil {
					return err
				}
				var some []gitops.Application
				if err := json.Unmarshal(asked.Result.Data, &some); err != nil {
					return fault.New(fault.Internal, "read the agent's answer: %w", err)
				}
				all = append(all, some...)
			}
			return g.shows.print(all, func() error {
				var rows [][]string
				for _, app := range all {
					var src gitops.Source
					if of := app.Spec.All(); len(of) > 0 {
						src = of[0]
					}
					rows = append(rows, []string{
						app.Meta.Name, cmp.Or(app.Spec.Destination.Name, app.Spec.Destination.Server), dash(app.Spec.Destination.Namespace), cmp.Or(app.Spec.Project, "default"),
						src.RepoURL, dash(cmp.Or(src.Path, src.Chart)), dash(src.TargetRevision),
					})
				}
				return g.shows.table("NAME CLUSTER NAMESPACE PROJECT REPO PATH TARGET", rows)
			})
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "the GitOps agent that is asked, e.g. eu1 or account.eu1")
	return c
}

// answeredOfSet waits for the agent's answer to a request about a set.
func (g *gitOps) answeredOfSet(ctx context.Context, client apiclient.GitOps, key apiclient.ApplicationKey, asked display.Request) (display.Request, error) {
	err := until(ctx, 0, "", func() (bool, error) {
		var err error
		asked, err = client.SetRequest(ctx, key, asked.ID)
		return asked.Result != nil, err
	})
	if err == nil && asked.Result.Failed {
		err = fault.New(fault.Conflict, "the agent refused: %s", asked.Result.Message)
	}
	return asked, err
}

func (g *gitOps) createSetCommand(a *app) *cobra.Command {
	var agent string
	var upsert, dryRun bool
	c := &cobra.Command{
		Use: "create FILE...", Short: "Save application sets", Args: cobra.MinimumNArgs(1),
		Long: "Create saves application sets that aren't there yet; with --upsert those that are, too, as apply does.",
		RunE: func(c *cobra.Command, args []string) error {
			docs, err := readSets(c.Context(), a, args)
			if err != nil {
				return err
			}
			client, scope, err := g.connect()
			if err != nil {
				return err
			}
			for _, d := range docs {
				name, of := argo.NamedSet(d.node)
				key := apiclient.ApplicationKey{Scope: d.scope(a.caller, scope), Agent: cmp.Or(of, agent), Name: name}
				if upsert || key.Agent == "" || name == "" { // what is missing is told with its place
					continue
				}
				_, err := client.Set(c.Context(), key)
				if err == nil {
					return fault.New(fault.Conflict, "agent %s has an application set %q already; --upsert changes it", key.Agent, name)
				}
				if !fault.Is(err, fault.NotFound) {
					return err
				}
			}
			return a.apply(c.Context(), applyFlags{documentFlags: documentFlags{strict: true}, files: args, agent: agent, dryRun: dryRun})
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "the GitOps agent that they are for, e.g. eu1 or account.eu1")
	c.Flags().BoolVar(&upsert, "upsert", false, "change those that are there")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be done, and do nothing")
	return c
}

func (g *gitOps) refreshSetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "refresh SET", Short: "Have an application set made anew, by what its repositories are now", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, key, err := g.set(c.Context(), args[0])
			if err != nil {
				return err
			}
			asked, err := client.RefreshSet(c.Context(), key)
			if err == nil {
				asked, err = g.answeredOfSet(c.Context(), client, key, asked)
			}
			if err != nil {
				return err
			}
			return g.shows.print(asked, func() error {
				fmt.Fprintf(g.shows.people(), "%s/%s: it is made anew\n", key.Agent, key.Name)
				return nil
			})
		},
	}
}

func (g *gitOps) deleteSetCommand() *cobra.Command {
	var wait, yes bool
	c := &cobra.Command{
		Use: "delete SET...", Short: "Delete application sets with their applications", Args: cobra.MinimumNArgs(1),
		Long: "Delete deletes an application set and the applications that are its own. What these have deployed goes with them, unless the set's\n" +
			"syncPolicy.preserveResourcesOnDeletion, or finalizers of its template, say otherwise.",
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range args {
				client, key, err := g.set(c.Context(), name)
				if err != nil {
					return err
				}
				asked, err := client.DeleteSet(c.Context(), key)
				if err != nil {
					return err
				}
				if wait {
					if _, err := g.answeredOfSet(c.Context(), client, key, asked); err != nil {
						return err
					}
				}
				fmt.Fprintf(g.shows.people(), "application set %s/%s deleted\n", key.Agent, key.Name)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait until its applications have gone")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "as argocd has it; nobody is asked")
	return c
}
