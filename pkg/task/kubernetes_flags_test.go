package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestParseFlags(t *testing.T) {
	t.Parallel()
	seconds := func(n int64) *int64 { return &n }
	tests := []struct {
		op    task.KubernetesOp
		flags string // all of the command that the operation has
		want  task.KubernetesFlags
	}{
		{task.OpRolling, "--force-conflicts", task.KubernetesFlags{}},
		{task.OpRolling, "--server-side", task.KubernetesFlags{Conflicts: true}},
		{task.OpRolling, "--force-conflicts --server-side", task.KubernetesFlags{}},
		{task.OpRolling, "--force-conflicts=false", task.KubernetesFlags{Conflicts: true}},
		{task.OpCanary, "--server-side=false --overwrite", task.KubernetesFlags{}},
		{task.OpBlueGreen, "--validate=false", task.KubernetesFlags{Validation: "Ignore"}},
		{task.OpRollingRollback, "--validate", task.KubernetesFlags{Validation: "Strict"}},
		{task.OpApply, "--validate=warn --validate=true", task.KubernetesFlags{Validation: "Strict"}},
		{task.OpApply, "--dry-run", task.KubernetesFlags{DryRun: true}},
		{task.OpApply, "--dry-run=server  --record", task.KubernetesFlags{DryRun: true, Record: true}},
		{task.OpApply, "--dry-run=none --force", task.KubernetesFlags{Recreate: true}},
		{task.OpApply, "--field-manager team-a", task.KubernetesFlags{FieldManager: "team-a"}},
		{task.OpApply, `--field-manager="team-a"`, task.KubernetesFlags{FieldManager: "team-a"}},
		{task.OpDelete, "--grace-period 0 --cascade=orphan", task.KubernetesFlags{GracePeriod: seconds(0), Cascade: "Orphan"}},
		{task.OpDelete, "--grace-period=-1 --cascade", task.KubernetesFlags{Cascade: "Background"}},
		{task.OpDelete, "--force", task.KubernetesFlags{GracePeriod: seconds(0)}},
		{task.OpDelete, "--now --ignore-not-found", task.KubernetesFlags{GracePeriod: seconds(1)}},
		{task.OpDelete, "--wait=false --timeout 90s --dry-run=client", task.KubernetesFlags{NoWait: true, WaitLimit: 90 * time.Second, DryRun: true}},
		{task.OpDelete, "--timeout=5", task.KubernetesFlags{WaitLimit: 5 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(string(tt.op)+" "+tt.flags, func(t *testing.T) {
			t.Parallel()
			command := task.CommandApply
			if tt.op == task.OpDelete {
				command = task.CommandDelete
			}
			got, err := task.ParseFlags(tt.op, []task.CommandFlag{{Command: command, Flag: tt.flags}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckFlag(t *testing.T) {
	t.Parallel()
	tests := []struct {
		op            task.KubernetesOp
		command, flag string
		code          fault.Code
		err           string
	}{
		{task.OpRolling, "Apply", "--prune", fault.Unsupported, "--prune of the command Apply can't be honoured; want one of --field-manager, --force, "},
		{task.OpRolling, "Apply", "--force-conflicts --kubeconfig=/tmp/x", fault.Unsupported, "--kubeconfig"},
		{task.OpRolling, "Apply", "--dry-run=client", fault.Unsupported, "--dry-run"},
		{task.OpRolling, "Apply", "apply", fault.Unsupported, "the flag apply"},
		{task.OpRolling, "Apply", " ", fault.Invalid, "is empty"},
		{task.OpRolling, "Delete", "--force", fault.Invalid, `"Delete"; want Apply`},
		{task.OpRolling, "Apply", "--validate=perhaps", fault.Invalid, `"perhaps" isn't one of false, ignore, strict, true, warn`},
		{task.OpApply, "Apply", "--field-manager", fault.Invalid, "--field-manager needs a value"},
		{task.OpApply, "Apply", "--overwrite=false", fault.Unsupported, "--overwrite"},
		{task.OpApply, "Apply", "--record=1x", fault.Invalid, "true or false"},
		{task.OpDelete, "Apply", "--force", fault.Invalid, `"Apply"; want Delete`},
		{task.OpDelete, "Delete", "--grace-period=soon", fault.Invalid, "seconds"},
		{task.OpDelete, "Delete", "--force --grace-period=5", fault.Invalid, "exclude each other"},
		{task.OpDelete, "Delete", "--timeout=x", fault.Invalid, "duration"},
		{task.OpDelete, "Delete", "--all", fault.Unsupported, "--all"},
		{task.OpScale, "Apply", "--force", fault.Invalid, "K8sScale has no command flags"},
	}
	for _, tt := range tests {
		t.Run(string(tt.op)+" "+tt.command+" "+tt.flag, func(t *testing.T) {
			t.Parallel()
			err := task.CheckFlag(tt.op, tt.command, tt.flag)
			if err == nil || fault.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v; want %s about %s", err, tt.code, tt.err)
			}
		})
	}
}

// What is read as flags once is read so again as one entry of them all.
func FuzzParseFlags(f *testing.F) {
	f.Add("--force-conflicts=false --validate=warn", "--record")
	f.Add("--grace-period 0", "--timeout=5")
	f.Add("=", "--dry-run= x")
	f.Fuzz(func(t *testing.T, first, second string) {
		for op, command := range map[task.KubernetesOp]string{task.OpApply: task.CommandApply, task.OpDelete: task.CommandDelete} {
			one, err := task.ParseFlags(op, []task.CommandFlag{{Command: command, Flag: first}, {Command: command, Flag: second}})
			if err != nil {
				continue
			}
			both, err := task.ParseFlags(op, []task.CommandFlag{{Command: command, Flag: first + " " + second}})
			if diff := cmp.Diff(one, both); err != nil || diff != "" {
				t.Errorf("%q and %q together: %v (-apart +together):\n%s", first, second, err, diff)
			}
		}
	})
}
