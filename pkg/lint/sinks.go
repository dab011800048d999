package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// sink is a text in which what comes from outside is more than a value.
type sink struct {
	what string // as people call it
	out  string // what to write instead
}

func script() sink {
	return sink{"the script", `whoever writes it can write commands; give it by environmentVariables and read "$NAME", which no shell takes for code`}
}

// stepScript is the script of a ShellScript step, which may be given all of
// them so.
func stepScript() sink {
	k := script()
	k.out += "; or let the step do so with every expression (expressions: Environment in its spec)"
	return k
}

func flag() sink {
	return sink{"the command's flag", "whoever writes it can add to the flag; let a condition or a script compare it with what is allowed first"}
}

func file() sink {
	return sink{"the inline file", "whoever writes it can add keys and documents; let a condition or a script compare it with what is allowed first"}
}

// beside says whether a step's script gets the values of its expressions beside
// it, where they are never code.
func beside(spec *yamldoc.Node) bool { return text(spec.Get("expressions")) == "Environment" }

// walk looks at the texts below a value that are run or applied.
func (u *untrusted) walk(v yamldoc.Value, s spot) {
	switch {
	case v.Is(yamldoc.Mapping):
		for _, e := range v.Node.Entries {
			path := e.Key
			if v.Path != "" {
				path = v.Path + "." + e.Key
			}
			part := yamldoc.Sub(e.Value, path)
			u.sink(e.Key, v, part, s)
			u.walk(part, s.below(e.Key, e.Value))
		}
	case v.Is(yamldoc.Sequence):
		for i, item := range v.Node.Items {
			u.walk(yamldoc.Sub(item, fmt.Sprintf("%s[%d]", v.Path, i)), s)
		}
	}
}

// sink looks at the value of a key, if that is run or applied.
func (u *untrusted) sink(key string, around, v yamldoc.Value, s spot) {
	inline := text(v.Node.Get("type")) == "Inline"
	inner := func(key string) yamldoc.Value {
		return yamldoc.Sub(v.Node.At("spec", key), v.Path+".spec."+key)
	}
	switch {
	case key == "source" && inline && beside(around.Node):
	case key == "source" && inline && strings.HasSuffix(around.Path, ".step.spec") && around.Node.Get("approvalCriteria") == nil:
		u.found(inner("script"), stepScript(), s)
	case key == "source" && inline:
		u.found(inner("script"), script(), s)
		u.found(inner("content"), file(), s)
	case key == "store" && inline && strings.HasSuffix(around.Path, "fetchInstancesScript"):
		u.found(inner("content"), script(), s)
	case key == "store" && inline && !strings.Contains(v.Path, "configFile"):
		u.found(inner("content"), file(), s)
	case key == "extractionScript":
		u.found(v, script(), s)
	case key == "commandFlags" && v.Is(yamldoc.Sequence):
		for i, item := range v.Node.Items {
			u.found(yamldoc.Sub(item.Get("flag"), fmt.Sprintf("%s[%d].flag", v.Path, i)), flag(), s)
		}
	}
}

// found reports each expression of a text that comes from outside, once.
func (u *untrusted) found(v yamldoc.Value, k sink, s spot) {
	if !v.Is(yamldoc.Scalar) {
		return
	}
	var told []string
	for _, path := range expr.References(v.Node.Value) {
		name := "<+" + strings.Join(path, ".") + ">"
		from := u.source(path, s)
		if from == "" || slices.Contains(told, name) {
			continue
		}
		told = append(told, name)
		if from != name {
			name += ", which takes " + from
		}
		u.report.Doubtf(v, UntrustedInScript, "%s takes %s, which comes from outside: %s", k.what, name, k.out)
	}
}
