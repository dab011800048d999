package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// export is a name under which a step publishes its outputs (pipeline spec
// §7.4).
type export struct {
	scope  string // pipeline, stage or stepGroup
	alias  string
	stage  *stage
	looped bool
	at     *yamldoc.Node // of the key
}

// published adds what a step publishes.
func (s *stage) published(step *yamldoc.Node, looped bool) {
	alias := step.At("spec", "outputAlias")
	if key := alias.Get("key"); key != nil {
		s.exports = append(s.exports, export{
			scope: strings.ToLower(text(alias.Get("scope"))), alias: key.Value, stage: s, looped: looped || step.Get("strategy") != nil, at: key,
		})
	}
}

// exports reports names that are published in a loop: each iteration would
// publish the same one.
func (c *checker) exports() {
	for _, s := range c.pipeline.stages {
		for _, e := range s.exports {
			if e.looped {
				c.report.Errorf(yamldoc.Sub(e.at, ""), "LOOPED_ALIAS", "%q is published in a loop; every iteration would publish the same name", e.alias)
			}
		}
	}
}

var exportCall = regexp.MustCompile(`exportedVariables\.getValue\(\s*["'](\w+)\.([^."'<>]+)`)

// exported gives the reasons why exports that a text asks for aren't there.
func (c *checker) exported(text string, in *stage) []string {
	var why []string
	for _, m := range exportCall.FindAllStringSubmatch(text, -1) {
		scope, open := strings.ToLower(m[1]), c.pipeline.open
		found := false
		for _, s := range c.pipeline.stages {
			if scope != "pipeline" && s != in {
				continue
			}
			open = open || s.open
			found = found || slices.ContainsFunc(s.exports, func(e export) bool { return e.alias == m[2] && e.scope == scope })
		}
		if !found && !open {
			why = append(why, fmt.Sprintf("no step publishes its outputs as %q in its %s", m[2], m[1]))
		}
	}
	return why
}
