package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// UntrustedInScript is the code of a finding about a script, a command's flag
// or a file of a deployment that takes what anybody outside may have written.
const UntrustedInScript = "UNTRUSTED_IN_SCRIPT"

// Untrusted reports where a document, given below its root key, puts texts from
// outside into what is run or applied: of a trigger's event, of an answer to an
// Http step, of an event or a ticket, and of the variables that are made of
// them. Expressions are replaced before a shell reads the script, so whoever
// writes such a text writes a part of the script.
func Untrusted(doc *yamldoc.Node, types step.Types, r *yamldoc.Report) {
	u := &untrusted{report: r, types: types, names: map[string]string{}, steps: map[string]string{}}
	root := yamldoc.Sub(doc, "")
	for before := -1; before != len(u.names); { // a variable may be made of another
		before = len(u.names)
		u.learn(root, spot{})
	}
	u.walk(root, spot{})
}

// untrusted knows what comes from outside.
type untrusted struct {
	report *yamldoc.Report
	types  step.Types
	names  map[string]string // variables and outputs, see spot.name, with what they take
	steps  map[string]string // types of steps whose outputs come from outside, by identifier
}

// spot is where a value stands.
type spot struct {
	stage string // the stage's identifier
	owner string // whose variables a list of that name has
}

// below is where the value of a key stands.
func (s spot) below(key string, n *yamldoc.Node) spot {
	switch key {
	case "stage":
		s.stage, s.owner = text(n.Get("identifier")), "stage "+text(n.Get("identifier"))
	case "stepGroup":
		s.owner = "stepGroup"
	case "serviceInputs", "serviceDefinition", "service":
		s.owner = "service"
	case "environmentInputs":
		s.owner = "env"
	}
	return s
}

// learn notes the variables, the loops and the steps below a value that come
// from outside.
func (u *untrusted) learn(v yamldoc.Value, s spot) {
	if v.Is(yamldoc.Sequence) {
		for i, item := range v.Node.Items {
			u.learn(yamldoc.Sub(item, fmt.Sprintf("%s[%d]", v.Path, i)), s)
		}
		return
	}
	if !v.Is(yamldoc.Mapping) {
		return
	}
	for _, e := range v.Node.Entries {
		switch e.Key {
		case "variables":
			u.variables(e.Value, s.owner, s)
		case "environmentVariables", "inputVariables":
			u.variables(e.Value, "own", s)
		case "matrix":
			for _, axis := range e.Value.Pairs() {
				u.note("matrix/"+axis.Key, axis.Value, s)
			}
		case "repeat":
			u.note("repeat/item", e.Value.Get("items"), s)
		case "step":
			u.step(e.Value, s)
		}
		u.learn(yamldoc.Sub(e.Value, e.Key), s.below(e.Key, e.Value))
	}
}

func (u *untrusted) variables(list *yamldoc.Node, owner string, s spot) {
	if list == nil {
		return
	}
	for _, item := range list.Items {
		u.note(owner+"/"+text(item.Get("name")), item.Get("value"), s)
	}
}

// note keeps a name whose value, or a part of it, comes from outside.
func (u *untrusted) note(name string, value *yamldoc.Node, s spot) {
	if _, known := u.names[name]; known {
		return
	}
	if from := u.within(value, s); from != "" {
		u.names[name] = from
	}
}

// within finds what comes from outside in any text below a value.
func (u *untrusted) within(n *yamldoc.Node, s spot) string {
	if n == nil {
		return ""
	}
	if n.Kind == yamldoc.Scalar {
		for _, path := range expr.References(n.Value) {
			if from := u.source(path, s); from != "" {
				return from
			}
		}
	}
	for _, item := range n.Items {
		if from := u.within(item, s); from != "" {
			return from
		}
	}
	for _, e := range n.Entries {
		if from := u.within(e.Value, s); from != "" {
			return from
		}
	}
	return ""
}

// step notes a step whose outputs come from outside: what it asks is outside, or
// it is a script that is given something from there.
func (u *untrusted) step(n *yamldoc.Node, s spot) {
	typ, id := text(n.Get("type")), text(n.Get("identifier"))
	switch {
	case u.types.Of(typ).Outside:
		u.steps[id] = typ
	case u.types.Of(typ).Script:
		from := u.within(n.At("spec", "environmentVariables"), s)
		if from == "" && beside(n.Get("spec")) {
			from = u.within(n.At("spec", "source"), s)
		}
		if from != "" {
			u.names["output/"+id] = from
		}
	}
}

// plain are the names of an event and of a step's outputs that no sender chooses
// freely: numbers, hashes and words.
func plain(root, name string) bool {
	if root == "trigger" {
		return slices.Contains([]string{"type", "event", "sourceRepo", "prNumber", "commitSha", "baseCommitSha", "repoUrl"}, name)
	}
	return slices.Contains([]string{"httpResponseCode", "httpMethod", "httpUrl", "status", "exitCode"}, name)
}

// source says from where outside a path's value comes; empty if it doesn't.
func (u *untrusted) source(path []string, s spot) string {
	whole := "<+" + strings.Join(path, ".") + ">"
	switch path[0] {
	case "trigger":
		if len(path) > 1 && plain("trigger", path[1]) {
			return ""
		}
		return whole
	case "eventPayload":
		return whole
	}
	if i := slices.Index(path, "output"); i > 0 && (len(path) == i+1 || !plain("output", path[i+1])) {
		if u.steps[path[i-1]] != "" {
			return whole
		}
		if from := u.names["output/"+path[i-1]]; from != "" {
			return from
		}
	}
	owner, rest := u.owner(path, s)
	for i := len(rest); i > 0; i-- { // a name may have dots in it
		if from := u.names[owner+"/"+strings.Join(rest[:i], ".")]; from != "" {
			return from
		}
	}
	return ""
}

// owner says whose variable a path names, and the rest of the path.
func (u *untrusted) owner(path []string, s spot) (string, []string) {
	for i, part := range path {
		switch part {
		case "environmentVariables", "inputVariables":
			return "own", path[i+1:]
		case "serviceVariables":
			return "service", path[i+1:]
		case "matrix", "repeat":
			return part, path[i+1:]
		case "variables":
			return ownerBefore(path[:i], s), path[i+1:]
		}
	}
	return "", nil
}

// ownerBefore says whose the variables are that stand behind a path.
func ownerBefore(path []string, s spot) string {
	last := ""
	if len(path) > 0 {
		last = path[len(path)-1]
	}
	switch {
	case last == "pipeline":
		return ""
	case last == "stage":
		return "stage " + s.stage
	case len(path) > 1 && path[len(path)-2] == "stages":
		return "stage " + last
	}
	return last
}

func text(n *yamldoc.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}
