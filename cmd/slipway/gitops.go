package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/display"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// gitOps looks at GitOps agents and their applications, and asks them for
// something, in argocd's words.
type gitOps struct {
	caller *caller
	shows  *output
}

func gitOpsCommand(a *app) *cobra.Command {
	g := &gitOps{caller: a.caller, shows: a.shows}
	c := &cobra.Command{Use: "gitops", Short: "Agents that keep applications as Git has them", GroupID: groupRun}
	agents := &cobra.Command{Use: "agent", Aliases: []string{"agents"}, Short: "Make, install, list and delete GitOps agents"}
	agents.AddCommand(g.createCommand(), g.installCommand(), g.agentsCommand(), g.agentCommand(), g.moveCommand(), g.deleteAgentCommand())
	apps := &cobra.Command{
		Use: "app", Aliases: []string{"apps"}, Short: "List, sync and roll back applications",
		Long: "Applications are named AGENT/APP; the agent may be left out if only one has an application of that name in the project.",
	}
	apps.AddCommand(
		g.listCommand(), g.getCommand(), g.syncCommand(), g.refreshCommand(), g.historyCommand(), g.rollbackCommand(), g.waitCommand(), g.terminateCommand(),
		g.resourcesCommand(), g.deleteCommand(),
	)
	apps.AddCommand(g.lookCommands()...)
	c.AddCommand(agents, apps, g.setsCommand(a))
	for _, of := range inventories() {
		c.AddCommand(g.inventoryCommand(of))
	}
	return c
}

// connect is the server and where the command looks.
func (g *gitOps) connect() (apiclient.GitOps, ref.Scope, error) {
	client, scope, err := g.caller.connect()
	return apiclient.GitOps{Client: client}, scope, err
}

func (g *gitOps) createCommand() *cobra.Command {
	var i installFlags
	var description string
	var alone bool
	c := &cobra.Command{
		Use: "create NAME", Short: "Make an agent, and print what installs it in its cluster", Args: cobra.ExactArgs(1),
		Long: "Create saves a gitopsAgent, makes a delegate's token for it, which is shown once and speaks for this agent alone, and prints the objects that\n" +
			"install it: a Deployment, its account and what that may do, and the token. Without --within or --from-manifests it may change all\n" +
			"of its cluster, but give nobody more rights than it has.",
		Example: "  slipway gitops agent create eu1 | kubectl apply -f -\n  slipway gitops agent create shop --within shop,shop-test --from-manifests deploy | kubectl apply -f -",
		RunE: func(c *cobra.Command, args []string) error {
			return g.create(c.Context(), args[0], description, alone, &i)
		},
	}
	i.add(c)
	c.Flags().StringVar(&description, "description", "", "what it is for")
	c.Flags().BoolVar(&alone, "no-install", false, "save the agent alone, without a token: it is to run in the server's process (slipway serve --gitops)")
	return c
}

// createdAgent is an agent with its token, which is shown once.
type createdAgent struct {
	Agent api.SavedEntity `json:"agent"`
	Token *api.NewToken   `json:"token,omitempty"`
}

func (g *gitOps) create(ctx context.Context, name, description string, alone bool, i *installFlags) error {
	client, scope, err := g.connect()
	if err != nil {
		return err
	}
	if err := i.read(g); err != nil {
		return err
	}
	body := map[string]any{"identifier": name, "name": name, "type": "MANAGED_ARGO_PROVIDER", "operator": "ARGO"}
	for key, value := range map[string]string{"orgIdentifier": scope.Org, "projectIdentifier": scope.Project, "description": description} {
		if value != "" {
			body[key] = value
		}
	}
	if !alone {
		body["metadata"] = map[string]any{"namespace": i.Namespace}
	}
	doc, err := yaml.Marshal(map[string]any{string(ref.GitOpsAgent): body})
	if err != nil {
		return fmt.Errorf("encode the agent: %w", err)
	}
	none := int64(0)
	var made createdAgent
	if made.Agent, err = client.Client.Save(ctx, apiclient.Document{Scope: scope, File: "agent", YAML: doc, Version: &none}); err != nil {
		return err
	}
	i.Agent = ref.Ref{Scope: scope, ID: name}
	if alone {
		return g.shows.print(made, func() error {
			fmt.Fprintf(g.shows.people(), "agent %s saved\n", name)
			return nil
		})
	}
	token, err := g.token(ctx, client, i.Agent)
	if err != nil {
		return err
	}
	made.Token, i.Token = &token, token.Secret
	return g.shows.print(made, func() error {
		if err := g.install(ctx, i); err != nil {
			return err
		}
		fmt.Fprintf(g.shows.err, "Agent %s is saved. What installs it has its token, which is shown once; keep it safe.\n", name)
		return nil
	})
}

func (g *gitOps) agentsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the agents of a project", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, scope, err := g.connect()
			if err != nil {
				return err
			}
			all, err := apiclient.All(0, func(p apiclient.Page) ([]display.Agent, string, error) { return client.Agents(c.Context(), scope, p) })
			if err != nil {
				return err
			}
			return g.shows.print(all, func() error { return g.agentTable(all...) })
		},
	}
}

func (g *gitOps) agentTable(all ...display.Agent) error {
	var rows [][]string
	for _, a := range all {
		state := "DISCONNECTED"
		if a.Connected {
			state = "CONNECTED"
		}
		rows = append(rows, []string{a.ID, state, age(a.LastSeen, time.Now()), dash(a.Version), dash(a.Namespace), dash(a.Kubernetes), dash(a.ClusterUID)})
	}
	return g.shows.table("NAME STATUS CHANGED VERSION NAMESPACE | KUBERNETES CLUSTER", rows)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func (g *gitOps) agentCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get NAME", Short: "Show an agent", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, scope, err := g.connect()
			if err != nil {
				return err
			}
			one, err := client.Agent(c.Context(), scope, args[0])
			if err != nil {
				return err
			}
			return g.shows.print(one, func() error { return g.agentTable(one) })
		},
	}
}

func (g *gitOps) moveCommand() *cobra.Command {
	var back bool
	c := &cobra.Command{
		Use: "move NAME", Short: "Let an agent be in another cluster", Args: cobra.ExactArgs(1),
		Long: "Move is for a cluster that takes another's place: the agent is in the one whose process says next that it is the agent, and gets all that is saved for\n" +
			"it. What is in the former cluster stays as it is; an agent that still runs there is refused, and does nothing more.",
		Example: "  slipway gitops agent move eu1\n  slipway gitops agent install eu1 | kubectl --context new apply -f -",
		RunE: func(c *cobra.Command, args []string) error {
			client, scope, err := g.connect()
			if err != nil {
				return err
			}
			if err := client.MoveAgent(c.Context(), scope, args[0], back); err != nil {
				return err
			}
			fmt.Fprintf(g.shows.people(), "agent %s moved: it is in the cluster that has it next\n", args[0])
			return nil
		},
	}
	c.Flags().BoolVar(&back, "back", false, "take a move back: the former cluster may have it again, as long as no other has it")
	return c
}

func (g *gitOps) deleteAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete an agent that has no documents any more", Args: cobra.ExactArgs(1),
		Long: "Delete takes the agent out of Slipway. What it has deployed stays, and so does the agent itself, which is uninstalled as it was installed.",
		RunE: func(c *cobra.Command, args []string) error {
			client, scope, err := g.connect()
			if err != nil {
				return err
			}
			r, err := ref.Parse(args[0], scope)
			if err != nil {
				return fault.New(fault.Invalid, "agent: %w", err)
			}
			if err := client.Client.DeleteEntity(c.Context(), apiclient.EntityKey{Scope: r.Scope, Kind: ref.GitOpsAgent, ID: r.ID}, nil); err != nil {
				return err
			}
			fmt.Fprintf(g.shows.people(), "agent %s deleted\n", args[0])
			return nil
		},
	}
}

// application finds what an argument names: AGENT/APP, or APP alone.
func (g *gitOps) application(ctx context.Context, arg string) (apiclient.GitOps, apiclient.ApplicationKey, error) {
	client, scope, err := g.connect()
	key := apiclient.ApplicationKey{Scope: scope, Name: arg}
	if err != nil {
		return client, key, err
	}
	if agent, name, found := strings.Cut(arg, "/"); found {
		key.Agent, key.Name = agent, name
		return client, key, nil
	}
	all, err := apiclient.All(0, func(p apiclient.Page) ([]display.Application, string, error) {
		return client.Applications(ctx, scope, apiclient.ApplicationFilter{}, p)
	})
	if err != nil {
		return client, key, err
	}
	var agents []string
	for _, a := range all {
		if a.Name == arg {
			agents = append(agents, a.Agent)
		}
	}
	switch len(agents) {
	case 0:
		return client, key, fault.New(fault.NotFound, "there is no application %q in %s", arg, scopeName(scope))
	case 1:
		key.Agent = agents[0]
		return client, key, nil
	}
	return client, key, fault.New(fault.Conflict, "the agents %s have an application %q each; name one, as %s/%s", strings.Join(agents, ", "), arg, agents[0], arg)
}
