package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	gitops "github.com/slipway-cd/slipway/delegate/gitops/agent"
	"github.com/slipway-cd/slipway/delegate/gitops/install"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// installFlags say how an agent is installed in its cluster.
type installFlags struct {
	install.Installation

	manifests []string
	helm      bool
}

func (i *installFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&i.Namespace, "namespace", gitops.DefaultNamespace, "the namespace that it is installed in, and keeps its own documents in")
	f.StringVar(&i.Server, "server-url", "", "where its pods find this server (default the server of this command)")
	f.StringVar(&i.Image, "image", "", "its image (default the one of this version)")
	f.IntVar(&i.Replicas, "replicas", 1, "its pods, of which one works and the others wait")
	f.StringSliceVar(&i.Within, "within", nil, "the only namespaces that it may look into and change, which there are (default the whole cluster)")
	f.StringSliceVar(&i.manifests, "from-manifests", nil, "files and folders of manifests: it may change no kinds but those that are in them")
	f.BoolVar(&i.Impersonate, "impersonate", false, "it may act as service accounts there, those of destinationServiceAccounts in projects")
	f.BoolVar(&i.helm, "helm", false, "print the values of the chart delegate/chart instead")
}

// read refuses, before anything is made, what can't be installed.
func (i *installFlags) read(g *gitOps) error {
	if i.Replicas < 1 || i.Replicas > install.MaxReplicas {
		return fault.New(fault.Invalid, "--replicas is %d; want 1 to %d", i.Replicas, install.MaxReplicas)
	}
	if err := install.CheckNamespace(i.Namespace); err != nil {
		return fault.Wrap(err, "--namespace")
	}
	for _, name := range i.Within {
		if err := install.CheckNamespace(name); err != nil {
			return fault.Wrap(err, "--within")
		}
	}
	s, err := g.caller.settings()
	if err != nil {
		return err
	}
	i.Version, i.Server = currentVersion(), cmp.Or(i.Server, s.Server)
	if u, err := url.Parse(i.Server); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return fault.New(fault.Invalid, "--server-url is %q; want a URL such as https://slipway.example.com", i.Server)
	}
	if len(i.manifests) == 0 {
		return nil
	}
	if i.Rules, err = install.Rules(i.manifests...); err != nil {
		return fault.New(fault.Invalid, "--from-manifests: %w", err)
	}
	return nil
}

func (g *gitOps) installCommand() *cobra.Command {
	var i installFlags
	var keepToken bool
	c := &cobra.Command{
		Use: "install NAME", Short: "Print what installs an agent in its cluster", Args: cobra.ExactArgs(1),
		Long: "Install prints the objects of an agent that is saved: again, for a newer version, or with other rights. Without --keep-token they have a new\n" +
			"token; \"slipway token list --delegate\" shows the former one, and \"slipway token delete\" takes it away.",
		Example: "  slipway gitops agent install eu1 --keep-token | kubectl apply -f -",
		RunE: func(c *cobra.Command, args []string) error {
			client, scope, err := g.connect()
			if err != nil {
				return err
			}
			if i.Agent, err = ref.Parse(args[0], scope); err != nil {
				return fault.New(fault.Invalid, "agent: %w", err)
			}
			if err := i.read(g); err != nil {
				return err
			}
			if _, err := client.Agent(c.Context(), i.Agent.Scope, i.Agent.ID); err != nil {
				return err
			}
			if !keepToken {
				made, err := g.token(c.Context(), client, i.Agent)
				if err != nil {
					return err
				}
				i.Token = made.Secret
			}
			return g.install(c.Context(), &i)
		},
	}
	i.add(c)
	c.Flags().BoolVar(&keepToken, "keep-token", false, "make no token: the Secret that is there stays")
	return c
}

// token makes one for an agent.
func (g *gitOps) token(ctx context.Context, client apiclient.GitOps, agent ref.Ref) (api.NewToken, error) {
	return client.Client.CreateToken(ctx, agent.Scope, api.CreateToken{Kind: store.TokenDelegate, Name: agent.ID, Binding: &store.Binding{Tags: []string{}}})
}

// install prints what installs an agent.
func (g *gitOps) install(ctx context.Context, i *installFlags) error {
	if u, err := url.Parse(i.Server); err == nil && loopback(u.Hostname()) {
		fmt.Fprintf(g.shows.err, "Pods can't reach %s, which is this machine alone; --server-url says where they find it.\n", i.Server)
	}
	if !i.helm {
		text, err := i.Manifests(ctx)
		if err == nil {
			_, err = fmt.Fprintf(g.shows.out, "# GitOps agent %s of Slipway: kubectl apply -f -\n%s", i.Agent.ID, text)
		}
		return err
	}
	text, err := i.Values()
	if err != nil {
		return err
	}
	if i.Token != "" {
		fmt.Fprintf(g.shows.err, "Its token, which is shown once, goes into a Secret before that:\n  kubectl -n %s create secret generic %s --from-literal token=%s\n", i.Namespace, i.Release(), i.Token)
	}
	_, err = fmt.Fprintf(g.shows.out, "# helm upgrade --install %s delegate/chart --namespace %s --create-namespace --values FILE\n%s", i.Release(), i.Namespace, text)
	return err
}
