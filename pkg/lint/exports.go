package lint

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// export is a name under which steps publish their outputs
// (semantics/pipeline §7.4).
type export struct {
	scope string // pipeline, stage or stepGroup
	alias string
	stage *stage // nil of the scope pipeline
}

// published is one of them where a step names it.
type published struct {
	export
	looped bool
	at     *yamldoc.Node // of the key
}

func (s *stage) export(scope, alias string) export {
	e := export{scope: strings.ToLower(scope), alias: alias, stage: s}
	if e.scope == "pipeline" {
		e.stage = nil
	}
	return e
}

// published adds what a step publishes.
func (s *stage) published(step *entity.Step, looped bool) {
	if key, scope := entity.OutputAlias(step.Doc); key != nil {
		s.exports = append(s.exports, published{s.export(scope, key.Value), looped || step.Loop.Repeats(), key})
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
		e := in.export(m[1], m[2])
		open := c.pipeline.open || e.scope == "pipeline" && c.pipeline.nodes.open || e.stage != nil && e.stage.open
		if !c.pipeline.exports[e] && !open {
			why = append(why, fmt.Sprintf("no step publishes its outputs as %q in its %s", m[2], m[1]))
		}
	}
	return why
}
