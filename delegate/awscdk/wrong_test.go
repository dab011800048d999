package awscdk_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/awsdoc/awsdoctest"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	"github.com/slipway-cd/slipway/pkg/task"
)

// What cdk has made that can't be read, and options that are wrong, are refused by what
// is wrong in them.
func TestWrongDocuments(t *testing.T) {
	t.Parallel()
	l := pretend(t, nil)
	awsdoctest.Refused(t, "testdata/wrong.txtar", *update, func(t *testing.T, documents map[string]string) string {
		t.Helper()
		l.Reopen()
		files, op := map[string]string{"cdk.json": "{}"}, steps.OpCompare
		var options []string
		for name, text := range documents {
			switch name {
			case "manifest":
				files["cdk.out/manifest.json"] = text
			case "template":
				files["cdk.out/Base.json"] = text
			case "outputs":
				files["cdk-outputs.json"], op = text, steps.OpDeploy
			case "options":
				options = []string{strings.TrimSuffix(text, "\n")}
			case "synth":
				op = steps.OpSynth
			}
		}
		if documents["template"] != "" {
			files["cdk.out/manifest.json"] = `{"artifacts": {"Base": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "Base.json"}}}}`
		}
		l.put(files)
		return l.do(op, task.Failed, func(s *steps.Spec) { s.Options, s.Export = options, true }).Message
	})
}
