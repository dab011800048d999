package kubernetes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

func TestParseFlags(t *testing.T) {
	t.Parallel()
	seconds := func(n int64) *int64 { return &n }
	tests := []struct {
		op    Op
		flags string // all of the command that the operation has
		want  Flags
	}{
		{OpRolling, "--force-conflicts", Flags{}},
		{OpRolling, "--server-side", Flags{Conflicts: true}},
		{OpRolling, "--force-conflicts --server-side", Flags{}},
		{OpRolling, "--force-conflicts=false", Flags{Conflicts: true}},
		{OpCanary, "--server-side=false --overwrite", Flags{}},
		{OpBlueGreen, "--validate=false", Flags{Validation: "Ignore"}},
		{OpRollingRollback, "--validate", Flags{Validation: "Strict"}},
		{OpApply, "--validate=warn --validate=true", Flags{Validation: "Strict"}},
		{OpApply, "--dry-run", Flags{DryRun: true}},
		{OpApply, "--dry-run=server  --record", Flags{DryRun: true, Record: true}},
		{OpApply, "--dry-run=none --force", Flags{Recreate: true}},
		{OpApply, "--field-manager team-a", Flags{FieldManager: "team-a"}},
		{OpApply, `--field-manager="team-a"`, Flags{FieldManager: "team-a"}},
		{OpDelete, "--grace-period 0 --cascade=orphan", Flags{GracePeriod: seconds(0), Cascade: "Orphan"}},
		{OpDelete, "--grace-period=-1 --cascade", Flags{Cascade: "Background"}},
		{OpDelete, "--force", Flags{GracePeriod: seconds(0)}},
		{OpDelete, "--now --ignore-not-found", Flags{GracePeriod: seconds(1)}},
		{OpDelete, "--wait=false --timeout 90s --dry-run=client", Flags{NoWait: true, WaitLimit: 90 * time.Second, DryRun: true}},
		{OpDelete, "--timeout=5", Flags{WaitLimit: 5 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(string(tt.op)+" "+tt.flags, func(t *testing.T) {
			t.Parallel()
			command := CommandApply
			if tt.op == OpDelete {
				command = CommandDelete
			}
			got, err := ParseFlags(tt.op, []origin.CommandFlag{{Command: command, Flag: tt.flags}})
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
		op            Op
		command, flag string
		code          fault.Code
		err           string
	}{
		{OpRolling, "Apply", "--prune", fault.Unsupported, "--prune of the command Apply can't be honoured; want one of --field-manager, --force, "},
		{OpRolling, "Apply", "--force-conflicts --kubeconfig=/tmp/x", fault.Unsupported, "--kubeconfig"},
		{OpRolling, "Apply", "--dry-run=client", fault.Unsupported, "--dry-run"},
		{OpRolling, "Apply", "apply", fault.Unsupported, "the flag apply"},
		{OpRolling, "Apply", " ", fault.Invalid, "is empty"},
		{OpRolling, "Delete", "--force", fault.Invalid, `"Delete"; want Apply`},
		{OpRolling, "Apply", "--validate=perhaps", fault.Invalid, `"perhaps" isn't one of false, ignore, strict, true, warn`},
		{OpApply, "Apply", "--field-manager", fault.Invalid, "--field-manager needs a value"},
		{OpApply, "Apply", "--overwrite=false", fault.Unsupported, "--overwrite"},
		{OpApply, "Apply", "--record=1x", fault.Invalid, "true or false"},
		{OpDelete, "Apply", "--force", fault.Invalid, `"Apply"; want Delete`},
		{OpDelete, "Delete", "--grace-period=soon", fault.Invalid, "seconds"},
		{OpDelete, "Delete", "--force --grace-period=5", fault.Invalid, "exclude each other"},
		{OpDelete, "Delete", "--timeout=x", fault.Invalid, "duration"},
		{OpDelete, "Delete", "--all", fault.Unsupported, "--all"},
		{OpScale, "Apply", "--force", fault.Invalid, "K8sScale has no command flags"},
	}
	for _, tt := range tests {
		t.Run(string(tt.op)+" "+tt.command+" "+tt.flag, func(t *testing.T) {
			t.Parallel()
			err := CheckFlag(tt.op, tt.command, tt.flag)
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
		for op, command := range map[Op]string{OpApply: CommandApply, OpDelete: CommandDelete} {
			one, err := ParseFlags(op, []origin.CommandFlag{{Command: command, Flag: first}, {Command: command, Flag: second}})
			if err != nil {
				continue
			}
			both, err := ParseFlags(op, []origin.CommandFlag{{Command: command, Flag: first + " " + second}})
			if diff := cmp.Diff(one, both); err != nil || diff != "" {
				t.Errorf("%q and %q together: %v (-apart +together):\n%s", first, second, err, diff)
			}
		}
	})
}
