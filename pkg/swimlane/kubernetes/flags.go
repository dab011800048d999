package kubernetes

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// The commands that have flags.
const (
	CommandApply   = "Apply"
	CommandDelete  = "Delete"
	CommandPatch   = "Patch"
	CommandRollout = "Rollout"
)

// Flags is what command flags ask for. There is no kubectl behind
// it: a flag counts if requests to the cluster can do what it means.
type Flags struct {
	Conflicts    bool   // Apply: fields of other owners are an error; else they are taken over
	Validation   string // Apply: Strict, Warn, Ignore; empty is Strict
	FieldManager string // Apply, Patch: the owner of the fields, if not Slipway
	Record       bool   // Apply, Patch: annotate with the cause of the change
	Recreate     bool   // Apply: delete what can't be changed and make it anew
	DryRun       bool   // change nothing
	GracePeriod  *int64 // Delete: seconds; nil leaves it to each object
	Cascade      string // Delete: Background, Foreground, Orphan; empty is Background
	NoWait       bool   // Delete, Rollout: don't wait until the objects are gone, or steady
	Revision     int64  // Rollout: the revision to show or to go back to; 0 is the last one
	// WaitLimit bounds that wait; zero leaves it to the step's timeout.
	WaitLimit time.Duration
}

// CheckFlag says what is wrong with an entry of a step's commandFlags: the
// command has no flags in this step, or a flag has no meaning here.
func CheckFlag(op Op, command, flag string) error {
	_, err := ParseFlags(op, []origin.CommandFlag{{Command: command, Flag: flag}})
	return err
}

// ParseFlags reads a step's commandFlags. Of a flag that is there twice, the
// last counts, as for kubectl.
func ParseFlags(op Op, list []origin.CommandFlag) (Flags, error) {
	var p flagParser
	for _, c := range list {
		rules, err := rulesOf(op, c.Command)
		if err != nil {
			return Flags{}, err
		}
		if err := p.read(c, rules); err != nil {
			return Flags{}, err
		}
	}
	if p.force && p.GracePeriod != nil && *p.GracePeriod > 0 {
		return Flags{}, fault.New(fault.Invalid, "--force and --grace-period=%d exclude each other; want --grace-period=0", *p.GracePeriod)
	}
	p.Conflicts = p.serverSide
	if p.forceConflicts != nil {
		p.Conflicts = !*p.forceConflicts
	}
	return p.Flags, nil
}

// flagParser gathers flags; what some mean depends on others.
type flagParser struct {
	Flags
	serverSide     bool
	forceConflicts *bool
	force          bool // of Delete
}

// flagRule is what a flag may be. Without "=", it has the value of bare, or
// takes the next word if that is empty.
type flagRule struct {
	bare string
	set  func(p *flagParser, value string) error
}

func rulesOf(op Op, command string) (map[string]flagRule, error) {
	switch op {
	case OpDelete:
		if command == CommandDelete {
			return deleteRules(), nil
		}
		return nil, fault.New(fault.Invalid, "%s has no flags for the command %q; want Delete", op, command)
	case OpRolling, OpCanary, OpBlueGreen, OpApply, OpRollingRollback, OpProgressiveRollback:
		if command != CommandApply {
			return nil, fault.New(fault.Invalid, "%s has no flags for the command %q; want Apply", op, command)
		}
		rules := applyRules()
		if op != OpApply { // a deployment that deploys nothing would be waited for in vain
			delete(rules, "--dry-run")
		}
		return rules, nil
	case OpPatch:
		if command == CommandPatch {
			return patchRules(), nil
		}
		return nil, fault.New(fault.Invalid, "%s has no flags for the command %q; want Patch", op, command)
	case OpRollout:
		if command == CommandRollout {
			return rolloutRules(), nil
		}
		return nil, fault.New(fault.Invalid, "%s has no flags for the command %q; want Rollout", op, command)
	case OpCanaryDelete, OpSwap, OpScale, OpDryRun, OpDiff, OpStageScaleDown, OpStageScaleUp, OpTrafficRouting:
	}
	return nil, fault.New(fault.Invalid, "%s has no command flags", op)
}

func applyRules() map[string]flagRule {
	return map[string]flagRule{
		"--server-side":     boolean(func(p *flagParser, on bool) { p.serverSide = on }),
		"--force-conflicts": boolean(func(p *flagParser, on bool) { p.forceConflicts = &on }),
		"--force":           boolean(func(p *flagParser, on bool) { p.Recreate = on }),
		"--record":          boolean(func(p *flagParser, on bool) { p.Record = on }),
		"--overwrite":       always(),
		"--validate": choice("strict", map[string]string{
			"true": "Strict", "strict": "Strict", "warn": "Warn", "false": "Ignore", "ignore": "Ignore",
		}, func(p *flagParser, to string) { p.Validation = to }),
		"--dry-run":       dryRunRule(),
		"--field-manager": {set: func(p *flagParser, value string) error { p.FieldManager = value; return nil }},
	}
}

func patchRules() map[string]flagRule {
	all := applyRules()
	return map[string]flagRule{"--dry-run": all["--dry-run"], "--field-manager": all["--field-manager"], "--record": all["--record"]}
}

func rolloutRules() map[string]flagRule {
	return map[string]flagRule{
		"--dry-run":       dryRunRule(),
		"--field-manager": applyRules()["--field-manager"],
		"--revision":      {set: revision},
		"--to-revision":   {set: revision},
		"--timeout":       {set: waitLimit},
		"--watch":         boolean(func(p *flagParser, on bool) { p.NoWait = !on }),
	}
}

// CheckRollout says whether a command of K8sRollout has the flags that are set.
func CheckRollout(command string, f Flags) error {
	changes := command != RolloutHistory && command != RolloutStatus
	switch {
	case !slices.Contains([]string{RolloutHistory, RolloutPause, RolloutRestart, RolloutResume, RolloutStatus, RolloutUndo}, command):
		return fault.New(fault.Invalid, "the command is %q; want history, pause, restart, resume, status or undo", command)
	case f.Revision != 0 && command != RolloutHistory && command != RolloutUndo:
		return fault.New(fault.Invalid, "%s has no flag for a revision; history and undo have", command)
	case (f.NoWait || f.WaitLimit != 0) && command != RolloutStatus:
		return fault.New(fault.Invalid, "%s has no flags --watch and --timeout; status has", command)
	case (f.DryRun || f.FieldManager != "") && !changes:
		return fault.New(fault.Invalid, "%s has no flags --dry-run and --field-manager: it changes nothing", command)
	}
	return nil
}

func deleteRules() map[string]flagRule {
	return map[string]flagRule{
		"--cascade": choice("background", map[string]string{
			"background": "Background", "true": "Background", "foreground": "Foreground", "orphan": "Orphan", "false": "Orphan",
		}, func(p *flagParser, to string) { p.Cascade = to }),
		"--dry-run": dryRunRule(),
		"--force": boolean(func(p *flagParser, on bool) {
			if p.force = on; on && p.GracePeriod == nil {
				p.GracePeriod = new(int64)
			}
		}),
		"--grace-period":     {set: gracePeriod},
		"--ignore-not-found": always(),
		"--now": boolean(func(p *flagParser, on bool) {
			if on {
				second := int64(1)
				p.GracePeriod = &second
			}
		}),
		"--timeout": {set: waitLimit},
		"--wait":    boolean(func(p *flagParser, on bool) { p.NoWait = !on }),
	}
}

// read reads the flags of one entry.
func (p *flagParser) read(c origin.CommandFlag, rules map[string]flagRule) error {
	words := strings.Fields(c.Flag)
	if len(words) == 0 {
		return fault.New(fault.Invalid, "a flag for the command %s is empty", c.Command)
	}
	for i := 0; i < len(words); i++ {
		name, value, given := strings.Cut(words[i], "=")
		rule, known := rules[name]
		if !known {
			return fault.New(fault.Unsupported, "the flag %s of the command %s can't be honoured; want one of %s",
				name, c.Command, strings.Join(slices.Sorted(maps.Keys(rules)), ", "))
		}
		switch {
		case given:
			value = strings.Trim(value, `"'`)
		case rule.bare != "":
			value = rule.bare
		case i+1 < len(words):
			i++
			value = strings.Trim(words[i], `"'`)
		}
		if value == "" {
			return fault.New(fault.Invalid, "the flag %s needs a value", name)
		}
		if err := rule.set(p, value); err != nil {
			return fault.Wrap(err, "the flag %s", name)
		}
	}
	return nil
}

func boolean(set func(p *flagParser, on bool)) flagRule {
	return flagRule{bare: "true", set: func(p *flagParser, value string) error {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fault.New(fault.Invalid, "%q isn't true or false", value)
		}
		set(p, on)
		return nil
	}}
}

// always is a flag for what is done anyway, and can't be switched off.
func always() flagRule {
	return flagRule{bare: "true", set: func(_ *flagParser, value string) error {
		if on, err := strconv.ParseBool(value); err != nil || !on {
			return fault.New(fault.Unsupported, "%q can't be honoured; want true", value)
		}
		return nil
	}}
}

func choice(bare string, of map[string]string, set func(p *flagParser, to string)) flagRule {
	return flagRule{bare: bare, set: func(p *flagParser, value string) error {
		to, ok := of[strings.ToLower(value)]
		if !ok {
			return fault.New(fault.Invalid, "%q isn't one of %s", value, strings.Join(slices.Sorted(maps.Keys(of)), ", "))
		}
		set(p, to)
		return nil
	}}
}

func dryRunRule() flagRule {
	return choice("client", map[string]string{"client": "yes", "server": "yes", "none": ""}, func(p *flagParser, to string) { p.DryRun = to != "" })
}

func gracePeriod(p *flagParser, value string) error {
	seconds, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil || seconds < -1:
		return fault.New(fault.Invalid, "%q isn't a number of seconds", value)
	case seconds == -1: // kubectl's word for each object's own
		p.GracePeriod = nil
	default:
		p.GracePeriod = &seconds
	}
	return nil
}

func revision(p *flagParser, value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return fault.New(fault.Invalid, "%q isn't a number of a revision", value)
	}
	p.Revision = n
	return nil
}

func waitLimit(p *flagParser, value string) error {
	limit, err := time.ParseDuration(value)
	if seconds, numErr := strconv.Atoi(value); numErr == nil {
		limit, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || limit < 0 {
		return fault.New(fault.Invalid, "%q isn't a duration such as 30s", value)
	}
	p.WaitLimit = limit
	return nil
}
