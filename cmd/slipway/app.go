package main

import (
	"cmp"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// process is how a command was called.
type process struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	stop     func() // lets a second Ctrl-C end the process at once
}

// app is what the commands share, and what each of them does.
type app struct {
	process
	caller    *caller
	shows     *output
	naming    *naming
	reader    *reader
	linter    *linter
	follower  *follower
	fileStore *files
	installer *installer
	decider   *decider
}

func newApp(p process) *app {
	c, o := &caller{env: p.env}, &output{out: p.out, err: p.err}
	r := &reader{in: p.in, shows: o}
	return &app{
		process: p, caller: c, shows: o, reader: r,
		naming:    &naming{err: p.err, caller: c},
		linter:    &linter{caller: c, shows: o, reader: r},
		follower:  &follower{env: p.env, out: p.out, err: p.err, stop: p.stop, shows: o},
		fileStore: &files{out: p.out, err: p.err, caller: c, shows: o, reader: r},
		installer: &installer{in: p.in, err: p.err, shows: o},
		decider:   &decider{in: p.in, err: p.err, caller: c, shows: o},
	}
}

// groups of commands in the help.
const (
	groupWrite = "write"
	groupRun   = "run"
	groupAdmin = "admin"
)

func root(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:           "slipway",
		Short:         "Continuous delivery with Harness NG YAML",
		Version:       currentVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return a.shows.checkOutput() // before anything is done
		},
	}
	c.SetIn(a.in)
	c.SetOut(a.out)
	c.SetErr(a.err)
	c.SetVersionTemplate("slipway {{.Version}}\n")
	f := c.PersistentFlags()
	f.StringVar(&a.caller.flags.Server, "server", "", "address of the server (SLIPWAY_SERVER)")
	f.StringVar(&a.caller.flags.Token, "token", "", "API token (SLIPWAY_TOKEN)")
	f.StringVar(&a.caller.tokenFile, "token-file", "", "file with the token, which --token would show to every user of the machine (SLIPWAY_TOKEN_FILE)")
	f.StringVar(&a.caller.flags.Org, "org", "", "organization; \"\" is the account itself (SLIPWAY_ORG)")
	f.StringVar(&a.caller.flags.Project, "project", "", "project; \"\" is the organization itself (SLIPWAY_PROJECT)")
	f.BoolVar(&a.caller.flags.Insecure, "insecure", false, "let tokens go over plain HTTP to other machines, and serve listen for them (SLIPWAY_INSECURE)")
	f.StringVar(&a.caller.flags.CAFile, "ca-file", "", "certificates, in PEM, that the server's is checked with besides the system's (SLIPWAY_CA_FILE)")
	f.StringVarP(&a.shows.output, "output", "o", "table", "table, wide, name, json, yaml or jsonpath=TEMPLATE, as kubectl has them")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "wide", "name", "json", "yaml", jsonPath}, cobra.ShellCompDirectiveNoFileComp))
	a.caller.changed = f.Changed
	c.AddGroup(
		&cobra.Group{ID: groupWrite, Title: "What you write:"},
		&cobra.Group{ID: groupRun, Title: "What runs:"},
		&cobra.Group{ID: groupAdmin, Title: "The server:"},
	)
	c.AddCommand(
		applyCommand(a), lintCommand(a), convertCommand(a), schemaCommand(a), getCommand(a), describeCommand(a), deleteCommand(a), editCommand(a), filesCommand(a), templateCommand(a), connectorCommand(a), policyCommand(a),
		planCommand(a), runCommand(a), inputsCommand(a), executionsCommand(a), logsCommand(a), approveCommand(a), rejectCommand(a), linkCommand(a), attestCommand(a),
		interveneCommand(a), abortCommand(a), pauseCommand(a), resumeCommand(a), markCommand(a), retryCommand(a), rollbackCommand(a), triggerCommand(a), freezeCommand(a), instancesCommand(a), provisionerCommand(a), gitOpsCommand(a), artifactsCommand(a),
		serveCommand(a), delegateCommand(a), delegatesCommand(a), tokenCommand(a), settingCommand(a), userCommand(a), canICommand(a), oidcCommand(a), auditCommand(a), doctorCommand(a), eventCommand(a), costCommand(a), deployCommand(a), loginCommand(a), consoleCommand(a), versionCommand(a),
	)
	guide(c)
	return c
}

// settings is where the server is, who calls, and the scope.
type settings struct {
	Server  string `yaml:"server"`
	Token   string `yaml:"token"`
	Org     string `yaml:"org"`
	Project string `yaml:"project"`
	// Insecure lets the token go over plain HTTP to another machine.
	Insecure bool `yaml:"insecure,omitempty"`
	// CAFile has certificates that are trusted besides the system's.
	CAFile string `yaml:"caFile,omitempty"`
}

// The scope of someone who says nothing.
const (
	defaultOrg     = "default"
	defaultProject = "default_project"
)

// caller says where the server is and who calls it: flags, the environment and
// the config file.
type caller struct {
	env       func(string) string
	flags     settings
	tokenFile string
	changed   func(flag string) bool // whether a flag was given
}

// settings are what a command needs to call the server: the flags, else the environment, else the config file.
func (c *caller) settings() (settings, error) {
	file, err := c.readConfig()
	if err != nil {
		return settings{}, err
	}
	s := settings{
		Server: cmp.Or(c.flags.Server, c.env("SLIPWAY_SERVER"), file.Server),
		Token:  file.Token,
		CAFile: cmp.Or(c.flags.CAFile, c.env("SLIPWAY_CA_FILE"), file.CAFile),
	}
	if s.Insecure, err = c.insecure(); err != nil {
		return settings{}, err
	}
	token, err := c.token()
	if err != nil {
		return settings{}, err
	}
	s.Token = cmp.Or(token, s.Token)
	s.Insecure = s.Insecure || file.Insecure
	scope := c.scope(file)
	s.Org, s.Project = scope.Org, scope.Project
	return s, s.check()
}

// maxTokenFile bounds the file of a token, in bytes.
const maxTokenFile = 4 << 10

// token is the token that the caller gives, itself or by its file; empty if
// none is. What stands on a command line, every user of the machine can read.
func (c *caller) token() (string, error) {
	for _, given := range [][2]string{{c.flags.Token, c.tokenFile}, {c.env("SLIPWAY_TOKEN"), c.env("SLIPWAY_TOKEN_FILE")}} {
		token, path := given[0], given[1]
		switch {
		case token != "" && path != "":
			return "", fault.New(fault.Invalid, "a token is given and a file of one, %s; want one of the two", path)
		case path != "":
			return readToken(path)
		case token != "":
			return token, nil
		}
	}
	return "", nil
}

func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fault.New(fault.Invalid, "read the token's file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	token := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", fault.New(fault.Invalid, "read the token's file: %w", err)
	case len(text) > maxTokenFile || token == "" || strings.ContainsAny(token, " \t\r\n"):
		return "", fault.New(fault.Invalid, "the file %s has %d bytes; want a token in one line, and nothing else", path, len(text))
	}
	return token, nil
}

// check says whether there is a server, by an address that can be one.
func (s settings) check() error {
	if s.Server == "" {
		return fault.New(fault.Invalid, "no server is set; start one with \"slipway serve\", or give --server or SLIPWAY_SERVER")
	}
	u, err := url.Parse(s.Server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fault.New(fault.Invalid, "the server's address %q is wrong; want one such as http://127.0.0.1:8484 or https://slipway.example.com", s.Server)
	}
	if u.Scheme == "http" && !s.Insecure && !here(u.Hostname()) {
		return fault.New(fault.Invalid, "%s isn't on this machine, and over plain HTTP whoever is on the way reads the token; use an https:// address, or give --insecure where the network is safe", s.Server)
	}
	return nil
}

// scope is where commands look. A flag that is given counts even if it is
// empty: that is how the account and the organization are named. An --org
// alone means the organization.
func (c *caller) scope(file settings) ref.Scope {
	s := ref.Scope{
		Org:     cmp.Or(c.env("SLIPWAY_ORG"), file.Org, defaultOrg),
		Project: cmp.Or(c.env("SLIPWAY_PROJECT"), file.Project, defaultProject),
	}
	if c.changed("org") {
		s.Org, s.Project = c.flags.Org, ""
	}
	if c.changed("project") {
		s.Project = c.flags.Project
	}
	return s
}

// localScope is the scope of a command that needs no server.
func (c *caller) localScope() (ref.Scope, error) {
	file, err := c.readConfig()
	return c.scope(file), err
}

// connect gives the API and the scope that commands look in.
func (c *caller) connect() (*apiclient.Client, ref.Scope, error) {
	s, err := c.settings()
	if err != nil {
		return nil, ref.Scope{}, err
	}
	check, err := s.tls()
	if err != nil {
		return nil, ref.Scope{}, err
	}
	return apiclient.New(s.Server, s.Token).Checking(check), ref.Scope{Org: s.Org, Project: s.Project}, nil
}
