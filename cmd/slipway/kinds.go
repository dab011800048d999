package main

import (
	"cmp"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// kindOf reads a kind of entity as people write it: in the singular or the
// plural, in any case, or short.
func kindOf(text string) (ref.Kind, error) {
	word := strings.ToLower(text)
	switch word {
	case "svc":
		return ref.Service, nil
	case "env", "envs":
		return ref.Environment, nil
	case "infra", "infras", "infrastructure", "infrastructures":
		return ref.Infrastructure, nil
	case "override":
		return ref.Overrides, nil
	case "policies":
		return ref.Policy, nil
	case "serviceoverride":
		return ref.ServiceOverrides, nil
	case "overlay", "overlays":
		return ref.OverlayInputSet, nil
	}
	for _, k := range ref.Kinds() {
		if name := strings.ToLower(string(k)); word == name || word == name+"s" {
			return k, nil
		}
	}
	return "", fault.New(fault.Invalid, "%q isn't a kind; want one of %s", text, strings.Join(kindNames(), ", "))
}

func kindNames() []string {
	var names []string
	for _, k := range ref.Kinds() {
		names = append(names, string(k))
	}
	return names
}

// naming finds what arguments name, and completes them.
type naming struct {
	err    io.Writer
	caller *caller
}

// entityArgs are the arguments KIND [ID] and the flag --env.
func (n *naming) entityArgs(args []string, env string) (*apiclient.Client, apiclient.EntityKey, error) {
	kind, err := kindOf(args[0])
	if err != nil {
		return nil, apiclient.EntityKey{}, err
	}
	client, scope, err := n.caller.connect()
	key := apiclient.EntityKey{Scope: scope, Kind: kind, Env: env}
	if len(args) > 1 {
		key.ID = args[1]
		if before, id, found := strings.Cut(key.ID, "/"); found { // dev/cluster, as get prints it
			key.Env, key.ID = cmp.Or(key.Env, before), id
		}
	}
	if parent := ref.Parent(kind); err == nil && key.ID != "" && parent != "" && key.Env == "" {
		err = fault.New(fault.Invalid, "%s %s is named with its %s: %s/%s", kind, key.ID, parent, strings.ToUpper(string(parent)), key.ID)
	}
	return client, key, err
}

// completeKinds completes KIND, and ID from the server.
func (n *naming) completeKinds(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return kindNames(), cobra.ShellCompDirectiveNoFileComp
	}
	return n.completeIDs(c, args[0], len(args) > 1)
}

// completePipelines completes the ID of a pipeline.
func (n *naming) completePipelines(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return n.completeIDs(c, string(ref.Pipeline), len(args) > 0)
}

func (n *naming) completeIDs(c *cobra.Command, kind string, done bool) ([]string, cobra.ShellCompDirective) {
	client, key, err := n.entityArgs([]string{kind}, "")
	if err != nil || done {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _, err := client.Entities(c.Context(), key, apiclient.Page{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	for _, e := range list {
		ids = append(ids, shownID(e.EntityKey))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// scopeName is a scope for people, who don't think of the account's id.
func scopeName(s ref.Scope) string {
	switch {
	case s.Org == "":
		return "the account"
	case s.Project == "":
		return "organization " + s.Org
	}
	return "project " + s.Org + "/" + s.Project
}
