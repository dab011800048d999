package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/display"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// inventory is a command about one sort of what agents keep, in argocd's words.
type inventory struct {
	use, short, names string
	aliases           []string
	kinds             []ref.Kind
	header            string
	// rows are a document's, each with the names that get takes.
	rows func(display.Document) []inventoryRow
}

type inventoryRow struct {
	names []string
	cells []string
}

// inventories are those commands.
func inventories() []inventory {
	repositories := func(d display.Document) []inventoryRow {
		r := d.Repository
		return []inventoryRow{{[]string{d.ID, r.Name, r.URL}, []string{
			d.Agent + "/" + d.ID, r.Type, dash(r.Name), r.URL, strconv.FormatBool(r.Insecure), strconv.FormatBool(r.EnableOCI), strconv.FormatBool(r.EnableLFS),
			strconv.FormatBool(r.Credentials), dash(r.Project),
		}}}
	}
	const repositoryHeader = "DOCUMENT TYPE NAME REPO INSECURE OCI LFS CREDS PROJECT"
	return []inventory{
		{
			use: "repo", short: "repositories", names: "ID, NAME or URL", aliases: []string{"repos"}, kinds: []ref.Kind{ref.GitOpsRepository}, header: repositoryHeader, rows: repositories,
		},
		{
			use: "repocreds", short: "templates of credentials for repositories", names: "ID or URL", kinds: []ref.Kind{ref.GitOpsRepoCredentials}, header: repositoryHeader, rows: repositories,
		},
		{
			use: "cluster", short: "clusters that applications may go to", names: "ID, NAME or SERVER", aliases: []string{"clusters"}, kinds: []ref.Kind{ref.GitOpsCluster},
			header: "DOCUMENT SERVER NAME PROJECT NAMESPACES | LABELS",
			rows: func(d display.Document) []inventoryRow {
				c := d.Cluster
				return []inventoryRow{{[]string{d.ID, c.Name, c.Server}, []string{d.Agent + "/" + d.ID, c.Server, c.Name, dash(c.Project), dash(strings.Join(c.Namespaces, ",")), dash(pairs(c.Labels))}}}
			},
		},
		{
			use: "cert", short: "certificates of HTTPS hosts and keys of SSH hosts", names: "HOSTNAME", aliases: []string{"certs"}, kinds: []ref.Kind{ref.GitOpsSettings, ref.GitOpsCertificate},
			header: "HOSTNAME TYPE SUBTYPE INFO DOCUMENT",
			rows: func(d display.Document) []inventoryRow {
				var out []inventoryRow
				for _, c := range d.Certificates {
					out = append(out, inventoryRow{[]string{c.ServerName}, []string{c.ServerName, c.Type, dash(c.SubType), dash(c.Info), d.Agent + "/" + d.ID}})
				}
				return out
			},
		},
		{
			use: "gpg", short: "keys that commits are signed with", names: "KEYID", kinds: []ref.Kind{ref.GitOpsSettings, ref.GitOpsGPGKey}, header: "KEYID DOCUMENT",
			rows: func(d display.Document) []inventoryRow {
				var out []inventoryRow
				for _, k := range d.Keys {
					out = append(out, inventoryRow{[]string{k.KeyID}, []string{k.KeyID, d.Agent + "/" + d.ID}})
				}
				return out
			},
		},
		{
			use: "settings", short: "settings of agents: argocd-cm and its like", names: "NAME", kinds: []ref.Kind{ref.GitOpsSettings}, header: "DOCUMENT KEY VALUE",
			rows: func(d display.Document) []inventoryRow {
				if d.Settings == nil {
					return nil
				}
				var out []inventoryRow
				for _, key := range slices.Sorted(maps.Keys(d.Settings.Data)) {
					value, _, more := strings.Cut(d.Settings.Data[key], "\n")
					if more {
						value += " …"
					}
					out = append(out, inventoryRow{[]string{d.ID, key}, []string{d.Agent + "/" + d.ID, key, value}})
				}
				return out
			},
		},
		{
			use: "proj", short: "projects of Argo CD", names: "NAME", aliases: []string{"projects"}, kinds: []ref.Kind{ref.GitOpsProject},
			header: "NAME DESCRIPTION DESTINATIONS SOURCES CLUSTER-RESOURCE-WHITELIST ROLES WINDOWS",
			rows: func(d display.Document) []inventoryRow {
				s := d.ArgoProject.Spec
				var to, kinds []string
				for _, one := range s.Destinations {
					server := one.Server
					if server == "" {
						server = one.Name
					}
					to = append(to, server+","+one.Namespace)
				}
				for _, k := range s.ClusterResourceWhitelist {
					kinds = append(kinds, k.Group+"/"+k.Kind)
				}
				return []inventoryRow{{[]string{d.ID}, []string{
					d.Agent + "/" + d.ID, dash(s.Description), dash(strings.Join(to, " ")), dash(strings.Join(s.SourceRepos, " ")), dash(strings.Join(kinds, " ")),
					strconv.Itoa(len(s.Roles)), strconv.Itoa(len(s.SyncWindows)),
				}}}
			},
		},
	}
}

// inventoryCommand is list and get of a sort.
func (g *gitOps) inventoryCommand(of inventory) *cobra.Command {
	c := &cobra.Command{Use: of.use, Aliases: of.aliases, Short: "List " + of.short}
	var agent string
	list := &cobra.Command{
		Use: "list", Short: "List " + of.short, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return g.inventory(c.Context(), of, agent, "") },
	}
	get := &cobra.Command{
		Use: "get " + strings.ReplaceAll(strings.ReplaceAll(of.names, ", ", "|"), " or ", "|"), Short: "Show one of the " + of.short + ", by " + of.names, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return g.inventory(c.Context(), of, agent, args[0]) },
	}
	for _, one := range []*cobra.Command{list, get} {
		one.Flags().StringVar(&agent, "agent", "", "those of an agent, e.g. eu1 or account.eu1; without it those of all agents of the project")
		c.AddCommand(one)
	}
	return c
}

// inventory shows documents, or the one of a name.
func (g *gitOps) inventory(ctx context.Context, of inventory, agent, name string) error {
	client, scope, err := g.connect()
	if err != nil {
		return err
	}
	shown, rows := []display.Document{}, [][]string{}
	for _, kind := range of.kinds {
		all, err := apiclient.All(0, func(p apiclient.Page) ([]display.Document, string, error) {
			return client.Documents(ctx, scope, kind, agent, p)
		})
		if err != nil {
			return err
		}
		for _, d := range all {
			before := len(rows)
			for _, r := range of.rows(d) {
				if name == "" || r.named(name) {
					rows = append(rows, r.cells)
				}
			}
			if len(rows) > before {
				shown = append(shown, d)
			}
		}
	}
	if name != "" && len(rows) == 0 {
		return fault.New(fault.NotFound, "there is none of the %s by the name %q in %s", of.short, name, scopeName(scope))
	}
	return g.shows.print(shown, func() error { return g.shows.table(of.header, rows) })
}

// named says whether a name means a row: as AGENT/ID, too.
func (r inventoryRow) named(name string) bool {
	for _, one := range append(r.names, r.cells[0]) {
		if one != "" && one == name {
			return true
		}
	}
	return false
}

// pairs are texts by name on one line.
func pairs(m map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s=%s", key, m[key]))
	}
	return strings.Join(out, ",")
}
