package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// instancesFlags are what "slipway instances" is asked for.
type instancesFlags struct {
	environment string
	pods        bool
	history     bool
	limit       int
}

func instancesCommand(a *app) *cobra.Command {
	var f instancesFlags
	c := &cobra.Command{
		Use: "instances [SERVICE]", Aliases: []string{"instance"}, Short: "List what runs where", GroupID: groupRun, Args: cobra.MaximumNArgs(1),
		Long: "Instances lists where services run: the version of the artifact, how many instances there are, and whether what runs is still\n" +
			"what was deployed. --pods lists the instances one by one, --history what changed in the last 30 days.",
		Example: "  slipway instances\n  slipway instances web --env prod --pods\n  slipway instances web --history",
		RunE: func(c *cobra.Command, args []string) error {
			service := ""
			if len(args) > 0 {
				service = args[0]
			}
			if f.history {
				return a.instanceHistory(c.Context(), service, f)
			}
			return a.instances(c.Context(), service, f)
		},
	}
	c.Flags().StringVar(&f.environment, "env", "", "only in this environment")
	c.Flags().BoolVar(&f.pods, "pods", false, "list every instance")
	c.Flags().BoolVar(&f.history, "history", false, "list how a service's instances changed, newest first")
	c.Flags().IntVar(&f.limit, "limit", 0, "at most so many; 0 lists all")
	return c
}

func (a *app) instances(ctx context.Context, service string, f instancesFlags) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.All(f.limit, func(p apiclient.Page) ([]api.Placement, string, error) {
		return client.Instances(ctx, scope, service, f.environment, p)
	})
	if err != nil {
		return err
	}
	return a.shows.print(all, func() error {
		if f.pods {
			return a.shows.podTable(all, time.Now())
		}
		var rows [][]string
		for _, p := range all {
			rows = append(rows, []string{
				p.Service, p.Environment, cmp.Or(p.Infrastructure, "-"), versionsText(p.Versions), fmt.Sprint(p.Count), placementState(p), age(p.Deployed.At, time.Now()), p.Deployed.Execution,
			})
		}
		if err := a.shows.table("SERVICE ENVIRONMENT INFRASTRUCTURE VERSION INSTANCES STATE DEPLOYED EXECUTION", rows); err != nil {
			return err
		}
		for _, p := range all {
			for _, difference := range p.Drift {
				fmt.Fprintf(a.shows.people(), "%s in %s drifted: %s\n", p.Service, p.Environment, difference)
			}
			if p.Trouble != "" {
				fmt.Fprintf(a.shows.people(), "%s in %s: %s\n", p.Service, p.Environment, p.Trouble)
			}
		}
		return nil
	})
}

// placementState says in a word how good what is known is.
func placementState(p api.Placement) string {
	switch {
	case p.Trouble != "":
		return "unreachable"
	case !p.Watched:
		return "unwatched"
	case len(p.Drift) > 0:
		return "drifted"
	}
	return "watched"
}

// versionsText is the artifact's versions, with their counts if there are several.
func versionsText(versions []api.Version) string {
	if len(versions) == 1 {
		return cmp.Or(versions[0].Image, "-")
	}
	var out []string
	for _, v := range versions {
		out = append(out, fmt.Sprintf("%dx%s", v.Instances, cmp.Or(v.Image, "-")))
	}
	return cmp.Or(strings.Join(out, ","), "-")
}

func (o *output) podTable(all []api.Placement, now time.Time) error {
	var rows [][]string
	for _, p := range all {
		for _, i := range p.Instances {
			rows = append(rows, []string{
				p.Service, p.Environment, strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"), cmp.Or(i.Version, "-"), stateOf(i), cmp.Or(i.IP, "-"), age(i.Since, now), i.DeployedBy,
			})
		}
	}
	return o.table("SERVICE ENVIRONMENT INSTANCE VERSION STATE IP AGE BY", rows)
}

// stateOf is an instance's state for people. One that isn't a pod has none.
func stateOf(i api.ServiceInstance) string {
	if i.Phase == "" {
		return "-"
	}
	state := i.Phase
	if !i.Ready {
		state += ",unready"
	}
	if i.Canary {
		state += ",canary"
	}
	if i.Color != "" {
		state += "," + i.Color
	}
	return state
}

func (a *app) instanceHistory(ctx context.Context, service string, f instancesFlags) error {
	if service == "" {
		return fault.New(fault.Invalid, "--history is of one service; say which")
	}
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.All(f.limit, func(p apiclient.Page) ([]api.Moment, string, error) {
		return client.InstanceHistory(ctx, scope, service, f.environment, p)
	})
	if err != nil {
		return err
	}
	return a.shows.print(all, func() error {
		var rows [][]string
		for _, m := range all {
			rows = append(rows, []string{m.At.Local().Format(time.DateTime), m.Environment, m.Cause, fmt.Sprint(m.Count), versionsText(m.Versions), cmp.Or(m.Execution, "-")})
		}
		return a.shows.table("AT ENVIRONMENT CAUSE INSTANCES VERSION EXECUTION", rows)
	})
}
