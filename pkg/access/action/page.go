package action

import (
	"fmt"
	"strings"
)

// Page is docs/permissions.md, but for what people wrote above its tables.
func Page() string {
	var b strings.Builder
	b.WriteString("## Actions\n\nWhat endpoints do, and what it takes. Where there are several permissions, any of them is enough.\n\n")
	b.WriteString("| action | permission | |\n| --- | --- | --- |\n")
	for _, e := range Catalogue() {
		takes := make([]string, len(e.Any))
		for i, p := range e.Any {
			takes[i] = "`" + p.Name + "`"
		}
		text := strings.Join(takes, " or ")
		switch {
		case e.Verb != "":
			text = "that of the document's kind, below"
		case text == "":
			text = "none of its own"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Action, text, e.Doc)
	}
	b.WriteString("\n## Permissions\n\nBy type of resource, with where roles can have them: in an account (A), an organization (O), a project (P).\n\n")
	b.WriteString("| type | permissions | |\n| --- | --- | --- |\n")
	all := Permissions()
	for i := 0; i < len(all); {
		t, levels, names := all[i].Type, all[i].Levels, []string(nil)
		for ; i < len(all) && all[i].Type == t; i++ {
			names = append(names, "`"+all[i].Name+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", t, strings.Join(names, ", "), levels)
	}
	return b.String()
}
