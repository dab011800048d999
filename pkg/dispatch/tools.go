package dispatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/store"
)

// there says whether a delegate is on the machine that a task needs.
func there(t store.Task, d store.Delegate) bool { return t.Machine == "" || t.Machine == d.Machine }

// missing says for people which tools of a task a delegate doesn't have.
func missing(t store.Task, d store.Delegate) []string {
	var out []string
	for _, want := range t.Tools {
		if Has(d, want) {
			continue
		}
		name, _, _ := strings.Cut(want, "=")
		found := "no " + strings.ReplaceAll(name, "|", " or ")
		for _, tool := range d.Tools {
			if is, version, _ := strings.Cut(tool, "="); slices.Contains(strings.Split(name, "|"), is) {
				found = is + " " + version + " instead of " + strings.TrimPrefix(want, name+"=")
			}
		}
		out = append(out, found)
	}
	return out
}

// Has says whether a delegate has a tool: NAME, or NAME=VERSION, where a version
// of fewer parts stands for all that begin with it, and ~1.2 for 1.2 and what
// comes after it in 1. Of alternatives, NAME|OTHER, one is enough. A delegate of
// before they told what their machines are is on some Linux.
func Has(d store.Delegate, want string) bool {
	names, version, _ := strings.Cut(want, "=")
	if (want == "os=linux" || names == "arch") && !slices.ContainsFunc(d.Tools, func(tool string) bool { return strings.HasPrefix(tool, "os=") }) {
		return true
	}
	return slices.ContainsFunc(d.Tools, func(tool string) bool {
		name, found, _ := strings.Cut(tool, "=")
		return slices.Contains(strings.Split(names, "|"), name) && satisfies(found, version)
	})
}

// satisfies says whether a version is one that is wanted.
func satisfies(found, want string) bool {
	least, near := strings.CutPrefix(want, "~")
	have, need := strings.Split(found, "."), strings.Split(strings.TrimPrefix(least, "v"), ".")
	if want == "" {
		return true
	}
	if !near {
		return len(have) >= len(need) && slices.Equal(have[:len(need)], need)
	}
	fixed := max(len(need)-1, 1)
	if len(have) < len(need) || !slices.Equal(have[:fixed], need[:fixed]) {
		return false
	}
	for i := fixed; i < len(need); i++ {
		h, err := strconv.Atoi(have[i])
		n, wrong := strconv.Atoi(need[i])
		if err != nil || wrong != nil || h != n {
			return err == nil && wrong == nil && h > n
		}
	}
	return true
}

// Untooled says which tool of a task no delegate has, among those that are
// connected and could take it otherwise; empty if there is none such, or nobody
// who could.
func Untooled(t store.Task, delegates []store.Delegate, now time.Time) string {
	var fit []store.Delegate
	for _, d := range delegates {
		if Fits(d, t.Scope, t.Selectors, now) && there(t, d) && slices.Contains(d.Kinds, t.Kind) {
			fit = append(fit, d)
		}
	}
	for _, want := range t.Tools {
		if len(fit) == 0 || slices.ContainsFunc(fit, func(d store.Delegate) bool { return Has(d, want) }) {
			continue
		}
		if name, value, _ := strings.Cut(want, "="); name == "os" || name == "arch" {
			return fmt.Sprintf("No connected delegate tells that its machine's %s is %s; give the group a delegate of such a machine. ", name, value)
		}
		return fmt.Sprintf("No connected delegate has %s; install it, or give the step a delegate that has (delegateSelectors). ",
			strings.NewReplacer("=", " ", "|", " or ").Replace(want))
	}
	return ""
}
