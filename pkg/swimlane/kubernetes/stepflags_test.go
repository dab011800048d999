package kubernetes

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestStepFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, findings string
		op                   Op
		want                 []origin.CommandFlag
	}{
		{"none", "[]", "[]", OpRolling, nil},
		{"one that has a meaning", "[{commandType: Apply, flag: --server-side}]", "[]", OpRolling, []origin.CommandFlag{{Command: "Apply", Flag: "--server-side"}}},
		{"one that has none", "[{commandType: Apply, flag: --prune}]",
			"[1:23 commandFlags[0].flag: the flag --prune of the command Apply can't be honoured; want one of --dry-run, --field-manager, --force, --force-conflicts, --overwrite, --record, --server-side, --validate [UNSUPPORTED]]",
			OpApply, []origin.CommandFlag{{Command: "Apply", Flag: "--prune"}}},
		{"an expression", "[{commandType: Apply, flag: <+input>}]", "[]", OpApply, []origin.CommandFlag{{Command: "Apply", Flag: "<+input>"}}},
		{"another step's command", "[{commandType: Apply, flag: --force}]", `[1:16 commandFlags[0].commandType: found "Apply"; want one of Delete [WRONG_VALUE]]`, OpDelete,
			[]origin.CommandFlag{{Command: "Apply", Flag: "--force"}}},
		{"two that exclude each other", "[{commandType: Delete, flag: --force}, {commandType: Delete, flag: --grace-period=5}]",
			"[1:1 commandFlags: --force and --grace-period=5 exclude each other; want --grace-period=0 [WRONG_VALUE]]", OpDelete,
			[]origin.CommandFlag{{Command: "Delete", Flag: "--force"}, {Command: "Delete", Flag: "--grace-period=5"}}},
		{"no list", "--force", `[1:1 commandFlags: found "--force"; want a list [WRONG_TYPE]]`, OpDelete, nil},
		{"keys", "[{command: Apply}]",
			`[1:2 commandFlags[0]: key "commandType" is missing [MISSING_KEY] 1:2 commandFlags[0]: key "flag" is missing [MISSING_KEY] 1:3 commandFlags[0].command: warning: unknown key "command" [UNKNOWN_KEY]]`, OpApply, []origin.CommandFlag{{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := yamldoc.NewReport("")
			got := stepFlags(document.New(r), yamldoc.Sub(mapping(t, tt.text).Node, "commandFlags"), tt.op)
			if diff := cmp.Diff(tt.findings, fmt.Sprint(r.Findings())); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}
