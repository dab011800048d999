package syncing

import "strings"

// The options of a sync, which stand in an application's policy and, for one
// object, in its annotation (semantics/gitops §7).
const (
	OptionPrune           = "Prune"
	OptionPruneLast       = "PruneLast"
	OptionPropagation     = "PrunePropagationPolicy"
	OptionDelete          = "Delete"
	OptionValidate        = "Validate"
	OptionSkipDryRun      = "SkipDryRunOnMissingResource"
	OptionReplace         = "Replace"
	OptionForce           = "Force"
	OptionMigration       = "ClientSideApplyMigration"
	OptionOutOfSyncOnly   = "ApplyOutOfSyncOnly"
	OptionCreateNamespace = "CreateNamespace"
	OptionRespectIgnored  = "RespectIgnoreDifferences"
	OptionFailOnShared    = "FailOnSharedResource"
)

// Options are those of an application, or of one object.
type Options map[string]string

// ParseOptions reads options as applications list them, Name=value each. What
// isn't of this form says nothing.
func ParseOptions(list []string) Options {
	o := Options{}
	for _, one := range list {
		if name, value, ok := strings.Cut(strings.TrimSpace(one), "="); ok {
			o[name] = value
		}
	}
	return o
}

// With are the options of an object: those of its annotation, then o's.
func (o Options) With(annotation string) Options {
	if annotation == "" {
		return o
	}
	all := Options{}
	for name, value := range o {
		all[name] = value
	}
	for name, value := range ParseOptions(strings.Split(annotation, ",")) {
		all[name] = value
	}
	return all
}

// On says whether an option is switched on.
func (o Options) On(name string) bool { return o[name] == "true" }

// Off says whether an option is switched off.
func (o Options) Off(name string) bool { return o[name] == "false" }
