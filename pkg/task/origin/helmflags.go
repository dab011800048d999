package origin

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// The commands of Helm that flags can be for (semantics/entities §2.3).
const (
	HelmAdd       = "Add"
	HelmDelete    = "Delete" // what Uninstall was called before
	HelmFetch     = "Fetch"
	HelmHistory   = "History"
	HelmInstall   = "Install"
	HelmList      = "List"
	HelmPull      = "Pull"
	HelmRollback  = "Rollback"
	HelmTemplate  = "Template"
	HelmTest      = "Test"
	HelmUninstall = "Uninstall"
	HelmUpdate    = "Update" // of repositories
	HelmUpgrade   = "Upgrade"
	HelmVersion   = "Version"
)

// HelmFlags is what flags of one command ask for. Helm is a library here, so a
// flag counts if the library can do what it means; each is as in Helm 4, and
// those that Helm 3 called otherwise have both names.
type HelmFlags struct {
	Values, Set, SetString, SetFile, SetJSON, SetLiteral []string

	Timeout     time.Duration // of each operation; zero: the rest of the step's
	Wait        string        // watcher, legacy or hookOnly
	WaitForJobs bool
	NoHooks     bool
	Description string
	Labels      map[string]string
	ServerSide  string // true, false or auto; empty: what helmVersion says

	RollbackOnFailure, Force, ForceConflicts, TakeOwnership bool
	CreateNamespace, SkipCRDs, Replace, CleanupOnFail       bool
	ResetValues, ReuseValues, ResetThenReuseValues          bool
	DependencyUpdate, EnableDNS                             bool
	SkipOpenAPI, SkipSchema                                 bool
	SubchartNotes, HideNotes                                bool
	HistoryMax                                              int
	HistoryMaxGiven                                         bool // by a flag

	IgnoreNotFound, KeepHistory, DryRun bool
	Cascade                             string

	IncludeCRDs, SkipTests, IsUpgrade bool
	ShowOnly, APIVersions             []string
	KubeVersion                       string

	Logs   bool
	Filter []string

	NameFilter, Selector   string   // of the releases that are listed
	Statuses               []string // of those; none: all
	Max, Offset            int
	Short, ByDate, Reverse bool

	Version                                       string
	Devel, InsecureTLS, PlainHTTP, PassEverywhere bool
}

// historyMax is how many revisions Helm keeps unless it is told otherwise.
const historyMax = 10

// listMax is how many releases Helm lists unless it is told otherwise.
const listMax = 256

// CheckHelmFlag says what is wrong with one entry of commandFlags.
func CheckHelmFlag(command, flag string) error {
	_, err := ParseHelmFlags(command, []CommandFlag{{Command: command, Flag: flag}})
	return err
}

// ParseHelmFlags reads all flags of one command.
func ParseHelmFlags(command string, list []CommandFlag) (HelmFlags, error) {
	var out HelmFlags
	set := pflag.NewFlagSet(command, pflag.ContinueOnError)
	set.Usage = func() {}
	set.SortFlags = true
	if !out.define(set, command) {
		if len(list) == 0 {
			return out, nil
		}
		return out, fault.New(fault.Unsupported, "flags of the command %s can't be honoured: no such command is run", command)
	}
	var words []string
	for _, f := range list {
		more, err := splitWords(f.Flag)
		if err != nil {
			return out, fault.New(fault.Invalid, "the flag %q of the command %s: %w", f.Flag, command, err)
		}
		if len(more) == 0 {
			return out, fault.New(fault.Invalid, "a flag for the command %s is empty", command)
		}
		words = append(words, more...)
	}
	if err := set.Parse(words); err != nil {
		if strings.HasPrefix(err.Error(), "unknown") {
			return out, fault.New(fault.Unsupported, "%w of the command %s can't be honoured; want one of %s", err, command, known(set))
		}
		return out, fault.New(fault.Invalid, "a flag of the command %s: %w", command, err)
	}
	out.HistoryMaxGiven = set.Changed("history-max")
	if rest := set.Args(); len(rest) > 0 {
		return out, fault.New(fault.Invalid, "%q isn't a flag; want flags of the command %s only", rest[0], command)
	}
	if !slices.Contains([]string{"", "watcher", "legacy", "hookOnly"}, out.Wait) {
		return out, fault.New(fault.Invalid, "--wait has the value %q; want watcher, legacy or hookOnly", out.Wait)
	}
	if _, err := regexp.Compile(out.NameFilter); err != nil {
		return out, fault.New(fault.Invalid, "--filter %q: %w", out.NameFilter, err)
	}
	if !slices.Contains([]string{"", "true", "false", "auto"}, out.ServerSide) {
		return out, fault.New(fault.Invalid, "--server-side has the value %q; want true, false or auto", out.ServerSide)
	}
	return out, nil
}

func known(set *pflag.FlagSet) string {
	var names []string
	set.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return strings.Join(names, ", ")
}

// define adds a command's flags; false if nothing runs such a command.
func (f *HelmFlags) define(set *pflag.FlagSet, command string) bool {
	set.Bool("debug", false, "") // the log has what there is to say
	switch command {
	case HelmInstall:
		f.values(set)
		f.change(set)
		f.rendering(set)
		set.BoolVar(&f.Replace, "replace", false, "")
		set.BoolVar(&f.CreateNamespace, "create-namespace", false, "")
	case HelmUpgrade:
		f.values(set)
		f.change(set)
		f.rendering(set)
		f.upgrade(set)
	case HelmRollback:
		f.operation(set)
		f.force(set)
		set.BoolVar(&f.CleanupOnFail, "cleanup-on-fail", false, "")
		set.IntVar(&f.HistoryMax, "history-max", historyMax, "")
		set.Bool("recreate-pods", false, "") // Helm 3 took it and did nothing
	case HelmUninstall, HelmDelete:
		f.waiting(set)
		set.BoolVar(&f.NoHooks, "no-hooks", false, "")
		set.BoolVar(&f.IgnoreNotFound, "ignore-not-found", false, "")
		set.BoolVar(&f.KeepHistory, "keep-history", false, "")
		set.BoolVar(&f.DryRun, "dry-run", false, "")
		set.StringVar(&f.Cascade, "cascade", "background", "")
		set.StringVar(&f.Description, "description", "", "")
	case HelmTest:
		set.DurationVar(&f.Timeout, "timeout", 0, "")
		set.BoolVar(&f.Logs, "logs", false, "")
		set.StringSliceVar(&f.Filter, "filter", nil, "")
	case HelmHistory:
		set.Int("max", 0, "") // the newest revisions are read in any case
	case HelmTemplate:
		f.values(set)
		f.rendering(set)
		f.template(set)
	case HelmPull, HelmFetch:
		f.download(set)
	case HelmAdd:
		f.connection(set)
		set.Bool("force-update", false, "") // repositories are no state here
	case HelmUpdate:
		set.Bool("fail-on-repo-update-fail", false, "") // it always fails
		set.DurationVar(&f.Timeout, "timeout", 0, "")
	case HelmList:
		f.list(set)
	case HelmVersion:
		set.BoolVar(&f.Short, "short", false, "")
		set.BoolP("client", "c", false, "") // there is no other part since Helm 3
	default:
		return false
	}
	return true
}

// list are the flags about which releases are listed.
func (f *HelmFlags) list(set *pflag.FlagSet) {
	set.StringVarP(&f.NameFilter, "filter", "f", "", "")
	set.StringVarP(&f.Selector, "selector", "l", "", "")
	set.IntVarP(&f.Max, "max", "m", listMax, "")
	set.IntVar(&f.Offset, "offset", 0, "")
	set.BoolVarP(&f.Short, "short", "q", false, "")
	set.BoolVarP(&f.ByDate, "date", "d", false, "")
	set.BoolVarP(&f.Reverse, "reverse", "r", false, "")
	set.BoolP("all", "a", false, "") // as it always is since Helm 4
	for _, status := range []string{"deployed", "failed", "pending", "superseded", "uninstalled", "uninstalling"} {
		set.BoolFunc(status, "", func(string) error { f.Statuses = append(f.Statuses, status); return nil })
	}
}

func (f *HelmFlags) values(set *pflag.FlagSet) {
	set.StringSliceVarP(&f.Values, "values", "f", nil, "")
	set.StringArrayVar(&f.Set, "set", nil, "")
	set.StringArrayVar(&f.SetString, "set-string", nil, "")
	set.StringArrayVar(&f.SetFile, "set-file", nil, "")
	set.StringArrayVar(&f.SetJSON, "set-json", nil, "")
	set.StringArrayVar(&f.SetLiteral, "set-literal", nil, "")
}

func (f *HelmFlags) waiting(set *pflag.FlagSet) {
	set.DurationVar(&f.Timeout, "timeout", 0, "")
	set.StringVar(&f.Wait, "wait", "", "")
	set.Lookup("wait").NoOptDefVal = "watcher"
}

// operation are the flags of what changes a release.
func (f *HelmFlags) operation(set *pflag.FlagSet) {
	f.waiting(set)
	set.BoolVar(&f.WaitForJobs, "wait-for-jobs", false, "")
	set.BoolVar(&f.NoHooks, "no-hooks", false, "")
	set.StringVar(&f.Description, "description", "", "")
	set.StringVar(&f.ServerSide, "server-side", "", "")
	set.Lookup("server-side").NoOptDefVal = "true"
}

func (f *HelmFlags) force(set *pflag.FlagSet) {
	set.BoolVar(&f.Force, "force", false, "")
	set.BoolVar(&f.Force, "force-replace", false, "")
	set.BoolVar(&f.ForceConflicts, "force-conflicts", false, "")
}

// change are the flags of installs and upgrades.
func (f *HelmFlags) change(set *pflag.FlagSet) {
	f.operation(set)
	f.force(set)
	set.StringToStringVarP(&f.Labels, "labels", "l", nil, "")
	set.BoolVar(&f.RollbackOnFailure, "atomic", false, "")
	set.BoolVar(&f.RollbackOnFailure, "rollback-on-failure", false, "")
	set.BoolVar(&f.TakeOwnership, "take-ownership", false, "")
	set.BoolVar(&f.SubchartNotes, "render-subchart-notes", false, "")
	set.BoolVar(&f.HideNotes, "hide-notes", false, "")
}

func (f *HelmFlags) upgrade(set *pflag.FlagSet) {
	set.BoolP("install", "i", false, "") // a release that isn't there is installed in any case
	set.BoolVar(&f.CreateNamespace, "create-namespace", false, "")
	set.BoolVar(&f.ResetValues, "reset-values", false, "")
	set.BoolVar(&f.ReuseValues, "reuse-values", false, "")
	set.BoolVar(&f.ResetThenReuseValues, "reset-then-reuse-values", false, "")
	set.BoolVar(&f.CleanupOnFail, "cleanup-on-fail", false, "")
	set.IntVar(&f.HistoryMax, "history-max", historyMax, "")
}

// rendering are the flags about what becomes of templates.
func (f *HelmFlags) rendering(set *pflag.FlagSet) {
	set.BoolVar(&f.SkipCRDs, "skip-crds", false, "")
	set.BoolVar(&f.SkipOpenAPI, "disable-openapi-validation", false, "")
	set.BoolVar(&f.SkipSchema, "skip-schema-validation", false, "")
	set.BoolVar(&f.EnableDNS, "enable-dns", false, "")
	set.BoolVar(&f.DependencyUpdate, "dependency-update", false, "")
}

func (f *HelmFlags) template(set *pflag.FlagSet) {
	set.BoolVar(&f.NoHooks, "no-hooks", false, "")
	set.BoolVar(&f.IncludeCRDs, "include-crds", false, "")
	set.BoolVar(&f.SkipTests, "skip-tests", false, "")
	set.BoolVar(&f.IsUpgrade, "is-upgrade", false, "")
	set.StringArrayVarP(&f.ShowOnly, "show-only", "s", nil, "")
	set.StringVar(&f.KubeVersion, "kube-version", "", "")
	set.StringSliceVarP(&f.APIVersions, "api-versions", "a", nil, "")
}

// download are the flags about how a chart is got.
func (f *HelmFlags) download(set *pflag.FlagSet) {
	set.StringVar(&f.Version, "version", "", "")
	set.BoolVar(&f.Devel, "devel", false, "")
	f.connection(set)
}

func (f *HelmFlags) connection(set *pflag.FlagSet) {
	set.BoolVar(&f.InsecureTLS, "insecure-skip-tls-verify", false, "")
	set.BoolVar(&f.PlainHTTP, "plain-http", false, "")
	set.BoolVar(&f.PassEverywhere, "pass-credentials", false, "")
}

// splitWords splits as a shell would: blanks separate, quotes and backslashes
// hold together. Nothing is expanded.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	started, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			started, escaped = true, true
		case quote != 0:
			if r == quote {
				quote = 0
				continue
			}
			word.WriteRune(r)
		case r == '\'' || r == '"':
			started, quote = true, r
		case strings.ContainsRune(" \t\r\n", r):
			if started {
				words = append(words, word.String())
				word.Reset()
				started = false
			}
		default:
			started = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, fault.New(fault.Invalid, "a quote isn't closed")
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}
