package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/executor"
	gitops "github.com/slipway-cd/slipway/delegate/gitops/agent"
	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/rate"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
	"github.com/slipway-cd/slipway/pkg/wire"
)

func serveCommand(a *app) *cobra.Command {
	var cfg wire.ServeConfig
	var logs logFlags
	var fetch fetchFlags
	var accounts awsFlags
	var gitOps gitOpsFlags
	var retention string
	var proxies []string
	c := &cobra.Command{
		Use: "serve", Short: "Run the whole control plane on this machine", GroupID: groupAdmin, Args: cobra.NoArgs,
		Long: "Serve runs the API, the engine and a delegate in one process, over one database file. The first start makes an\n" +
			"API token and writes it with the server's address to the config file, so that the other commands need no flags.\n" +
			"Whoever has lost that token starts once with --new-token. Where other machines reach it, it speaks TLS: give\n" +
			"--tls-cert and --tls-key, or --acme-host, or --insecure behind a proxy that does.",
		RunE: func(c *cobra.Command, _ []string) error {
			err := checkServe(cfg)
			if err != nil {
				return err
			}
			if cfg.AuditRetention, err = audit.Retention(retention); err != nil {
				return fault.New(fault.Invalid, "--audit-retention: %w", err)
			}
			for _, text := range proxies {
				block, err := allowlist.Parse(text)
				if err != nil {
					return fault.New(fault.Invalid, "--trusted-proxy: %w", err)
				}
				cfg.Proxies = append(cfg.Proxies, block)
			}
			if cfg.Insecure, err = a.caller.insecure(); err != nil {
				return err
			}
			memory, keys, err := fetch.read()
			if err != nil {
				return err
			}
			kinds := delegate.Config{RenderMemory: memory, Workspace: int64(fetch.workspace) << 20, HostKeys: keys}
			if kinds.AWS, err = accounts.read(); err != nil {
				return err
			}
			cfg.HostKeys = keys
			cfg.Kinds = func(cache string) map[task.Kind]executor.Kind {
				own := kinds
				own.Cache = cache
				return delegate.Kinds(own)
			}
			if cfg.Log, err = logs.logger(a); err != nil {
				return err
			}
			var scope ref.Scope
			if gitOps.agent != "" { // all else goes without the config file
				if scope, err = a.caller.localScope(); err != nil {
					return err
				}
			}
			keeps, err := gitOps.read(scope)
			if err != nil {
				return err
			}
			if keeps != nil {
				if !cfg.EmbeddedDelegate {
					return fault.New(fault.Invalid, "--gitops needs the delegate of this process, and --delegate is false")
				}
				keeps.Memory, keeps.HostKeys, keeps.Log = memory, keys, cfg.Log
				cfg.GitOps = func(ctx context.Context, client agent.Client, cache string) error {
					own := *keeps
					own.Client, own.Cache = client, cache
					return gitops.Run(ctx, own)
				}
			}
			return a.serve(c.Context(), cfg)
		},
	}
	f := c.Flags()
	f.StringVar(&cfg.Addr, "addr", "127.0.0.1:8484", "address to listen at; port 0 takes a free one")
	f.StringVar(&cfg.TLSCert, "tls-cert", "", "file of the certificate with its chain, in PEM; it is read again when it changes")
	f.StringVar(&cfg.TLSKey, "tls-key", "", "file of its key, in PEM")
	f.StringVar(&cfg.ACME.Host, "acme-host", "", "name by which others reach this server, at port 443: get a certificate for it from Let's Encrypt, whose terms you accept by this")
	f.StringVar(&cfg.ACME.Email, "acme-email", "", "whom the authority tells when something is wrong with it")
	f.StringVar(&cfg.ACME.Directory, "acme-directory", "", "directory of another authority that speaks ACME, such as https://ca.example.com/acme/directory")
	f.StringVar(&cfg.URL, "url", "", "URL at which clouds reach this server, such as https://slipway.example.com: the issuer of tokens for connectors of the type OidcAuthentication")
	f.StringVar(&cfg.Data, "data", "", "folder of the database and the key of secrets (default ~/.local/share/slipway)")
	f.StringSliceVar(&proxies, "trusted-proxy", nil, "address or block, such as 10.0.0.5 or 10.0.0.0/24, of proxies that are believed for whom they ask (X-Forwarded-For)")
	f.BoolVar(&cfg.LetAllIn, "no-ip-allowlists", false, "let in whom the IP allow lists keep out, too, to mend them")
	f.BoolVar(&cfg.NewToken, "new-token", false, "make an API token as the first start does, for whoever has lost theirs")
	f.BoolVar(&cfg.EmbeddedDelegate, "delegate", true, "run a delegate in this process")
	f.StringSliceVar(&cfg.Tags, "tags", nil, "tags of that delegate")
	f.IntVar(&cfg.Capacity, "capacity", 10, "tasks that it runs at once")
	f.DurationVar(&cfg.Heartbeat, "heartbeat", 30*time.Second, "how long a running task may give no sign of life")
	f.DurationVar(&cfg.NoDelegateAfter, "no-delegate-after", 5*time.Minute, "how long a task waits for a delegate that may take it")
	f.IntVar(&cfg.Limits.Account, "max-executions", 0, "executions at the same time, others are queued; 0: no limit")
	f.IntVar(&cfg.Limits.Pipeline, "max-pipeline-executions", 0, "the same for each pipeline")
	f.IntVar(&cfg.Rates.Requests, "request-rate", rate.DefaultRequests, "requests a second of one user, service account or token, and four times as many at once; 0: no limit")
	f.IntVar(&cfg.Rates.Logins, "login-rate", rate.DefaultLogins, "requests a second of one address to log in, and ten times as many at once; 0: no limit")
	f.StringVar(&cfg.Mail.URL, "smtp-server", "", "mail server: smtp://[user@]host (becomes TLS), smtps://[user@]host or smtp+plain://host")
	f.StringVar(&cfg.Mail.From, "smtp-from", "", "sender of mail, such as 'Slipway <slipway@example.com>'")
	f.StringVar(&cfg.Mail.Password, "smtp-password", "", "secret that is the mail server's password, such as account.smtp")
	f.StringVar(&retention, "audit-retention", audit.TwoYears, "days for which audit records are kept; 0: for ever")
	f.BoolVar(&cfg.Traces, "traces", false, "send traces to the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT")
	f.StringVar(&cfg.Events, "events", "", "URL to post events to, as events/README.md describes them")
	fetch.add(f)
	accounts.add(f)
	gitOps.add(f)
	logs.add(f)
	return c
}

// checkServe says which flag has a number that nobody can run with.
func checkServe(cfg wire.ServeConfig) error {
	for _, f := range []struct {
		flag  string
		value any
		wrong bool
		want  string
	}{
		{"capacity", cfg.Capacity, cfg.Capacity < 1 || cfg.Capacity > protocol.MaxTasks, fmt.Sprintf("1 to %d", protocol.MaxTasks)},
		{"max-executions", cfg.Limits.Account, cfg.Limits.Account < 0, "at least 0"},
		{"max-pipeline-executions", cfg.Limits.Pipeline, cfg.Limits.Pipeline < 0, "at least 0"},
		{"request-rate", cfg.Rates.Requests, cfg.Rates.Requests < 0 || cfg.Rates.Requests > rate.Most, fmt.Sprintf("0 to %d", rate.Most)},
		{"login-rate", cfg.Rates.Logins, cfg.Rates.Logins < 0 || cfg.Rates.Logins > rate.Most, fmt.Sprintf("0 to %d", rate.Most)},
		{"heartbeat", cfg.Heartbeat, cfg.Heartbeat <= 0, "more than 0s"},
		{"no-delegate-after", cfg.NoDelegateAfter, cfg.NoDelegateAfter <= 0, "more than 0s"},
	} {
		if f.wrong {
			return fault.New(fault.Invalid, "--%s is %v; want %s", f.flag, f.value, f.want)
		}
	}
	return nil
}

func (a *app) serve(ctx context.Context, cfg wire.ServeConfig) error {
	if err := conceal(); err != nil {
		return err
	}
	if cfg.Data == "" {
		if err := a.caller.homed("the database", "give --data", "XDG_DATA_HOME"); err != nil {
			return err
		}
		cfg.Data = a.caller.dataPath()
	}
	cfg.Version = currentVersion()
	cfg.Ready = func(i wire.Info) {
		a.introduce(i)
		cfg.Log.InfoContext(ctx, "slipway serves", "url", i.URL, "data", cfg.Data, "delegate", cfg.EmbeddedDelegate)
	}
	if limit := wire.SoftMemory(a.env); limit > 0 {
		cfg.Log.InfoContext(ctx, "the soft limit of memory is set", "bytes", limit)
	}
	err := wire.Serve(ctx, cfg)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fault.New(fault.Conflict, "the address %s is taken, perhaps by a Slipway that runs already; --addr chooses another", cfg.Addr)
	}
	if fault.CodeOf(err) == fault.Internal {
		err = fmt.Errorf("serve from %s: %w", cfg.Data, err)
	}
	return err
}

// introduce tells the other commands of a new server. A config file that
// tells of another server, or can't be read or written, is left alone; the
// token is shown then, because nothing could show it later.
func (a *app) introduce(i wire.Info) {
	if i.Token == "" {
		return
	}
	file, err := a.caller.readConfig()
	switch {
	case err != nil:
		fmt.Fprintln(a.err, "The config file can't be used:", err)
	case file.Server != "" && file.Server != i.URL:
		fmt.Fprintf(a.err, "The config file %s tells of another server.\n", a.caller.configPath())
	default:
		file.Server, file.Token = i.URL, i.Token
		file.Org, file.Project = cmp.Or(file.Org, defaultOrg), cmp.Or(file.Project, defaultProject)
		if err = a.caller.writeConfig(file); err == nil {
			fmt.Fprintf(a.err, "Made an API token; it is in %s.\n", a.caller.configPath())
			return
		}
		fmt.Fprintln(a.err, "The config file can't be used:", err)
	}
	fmt.Fprintf(a.err, "To use this server:\n  export SLIPWAY_SERVER=%s SLIPWAY_TOKEN=%s\n", i.URL, i.Token)
}

// logFlags say how a long-running command logs.
type logFlags struct{ level, format string }

func (l *logFlags) add(f interface {
	StringVar(p *string, name, value, usage string)
}) {
	f.StringVar(&l.level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&l.format, "log-format", "text", "text or json")
}

func (l *logFlags) logger(a *app) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, fault.New(fault.Invalid, "the log level %q isn't one of debug, info, warn and error", l.level)
	}
	o := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(a.err, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.err, o)), nil
	}
	return nil, fault.New(fault.Invalid, "the log format %q isn't text or json", l.format)
}
