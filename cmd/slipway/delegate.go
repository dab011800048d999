package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	gitops "github.com/slipway-cd/slipway/delegate/gitops/agent"
	"github.com/slipway-cd/slipway/delegate/pullsecret"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
	"github.com/slipway-cd/slipway/pkg/wire"
)

func delegateCommand(a *app) *cobra.Command {
	var cfg agent.Config
	var logs logFlags
	var fetch fetchFlags
	var accounts awsFlags
	var gitOps gitOpsFlags
	var cache string
	c := &cobra.Command{
		Use: "delegate", Short: "Run a delegate on this machine", GroupID: groupAdmin, Args: cobra.NoArgs,
		Long: "Delegate connects outward to a server, claims work and does it here, until it is told to stop; then it lets\n" +
			"running tasks end. Its token comes from \"slipway token create --delegate NAME\".",
		Example: "  slipway delegate --server https://slipway.example.com --token-file /run/secrets/slipway --tags my-cluster",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := conceal(); err != nil {
				return err
			}
			s, err := a.caller.settings()
			if err != nil {
				return err
			}
			if !strings.HasPrefix(s.Token, "dlg.") {
				return fault.New(fault.Invalid, "a delegate needs a token that begins with dlg.; \"slipway token create --delegate NAME\" makes one, and --token-file or SLIPWAY_TOKEN gives it")
			}
			if cfg.TLS, err = s.tls(); err != nil {
				return err
			}
			if least := 1 - min(1, len(gitOps.agent)); cfg.Capacity < least || cfg.Capacity > protocol.MaxTasks {
				return fault.New(fault.Invalid, "--capacity is %d; want 1 to %d, or 0 for a GitOps agent (--gitops) that is nothing else", cfg.Capacity, protocol.MaxTasks)
			}
			if cache == "" {
				if err := a.caller.homed("what is kept between tasks", "give --cache", "XDG_CACHE_HOME"); err != nil {
					return err
				}
			}
			memory, keys, err := fetch.read()
			if err != nil {
				return err
			}
			kinds := delegate.Config{RenderMemory: memory, Workspace: int64(fetch.workspace) << 20, HostKeys: keys}
			if kinds.AWS, err = accounts.read(); err != nil {
				return err
			}
			cache = cmp.Or(cache, filepath.Join(a.caller.cachePath(), "delegate", cfg.Name))
			cfg.URL, cfg.Token, cfg.Version = s.Server, s.Token, currentVersion()
			kinds.Cache = cache
			cfg.Kinds = delegate.Kinds(kinds)
			cfg.PullSecret, cfg.Git = pullsecret.New(), gitfetch.New(filepath.Join(cache, "files"), keys)
			cfg.Journal = filepath.Join(cache, "journal")
			if cfg.Log, err = logs.logger(a); err != nil {
				return err
			}
			keeps, err := gitOps.read(ref.Scope{Org: s.Org, Project: s.Project})
			if err != nil {
				return err
			}
			wire.SoftMemory(a.env)
			g, ctx := errgroup.WithContext(c.Context())
			var works *agent.Agent
			if cfg.Capacity > 0 {
				works = agent.New(cfg)
				g.Go(func() error { return works.Run(ctx) })
			}
			if keeps != nil {
				keeps.Delegate = works
				keeps.Client = agent.NewClient(agent.ClientConfig{URL: cfg.URL, Token: cfg.Token, TLS: cfg.TLS})
				keeps.Cache, keeps.Memory, keeps.HostKeys, keeps.Log = filepath.Join(cache, "gitops"), memory, keys, cfg.Log
				g.Go(func() error {
					if err := gitops.Run(ctx, *keeps); ctx.Err() == nil {
						return err
					}
					return nil // it was told to stop
				})
			}
			err = g.Wait()
			if fault.Is(err, fault.Unauthenticated) {
				return fault.New(fault.Invalid, "%w; \"slipway token create --delegate NAME\" makes another", err)
			}
			return err
		},
	}
	host, _ := os.Hostname() // a machine without a name gets the default
	if host == "" {
		host = "delegate"
	}
	f := c.Flags()
	f.StringVar(&cfg.Name, "name", host, "its name; replicas share one")
	f.StringSliceVar(&cfg.Tags, "tags", nil, "what delegate selectors match, e.g. a cluster's name")
	f.IntVar(&cfg.Capacity, "capacity", 10, "tasks that it runs at once; 0: none, for a GitOps agent that is nothing else")
	f.StringVar(&cache, "cache", "", "folder for what is kept between tasks, such as fetched repositories (default ~/.cache/slipway/delegate/NAME)")
	f.DurationVar(&cfg.Drain, "drain", 5*time.Minute, "how long running tasks may go on when it is told to stop")
	fetch.add(f)
	accounts.add(f)
	gitOps.add(f)
	logs.add(f)
	return c
}
