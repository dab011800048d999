package chaos_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/chaos"
)

func TestTheLedgerFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	l := &chaos.Ledger{File: filepath.Join(t.TempDir(), "ledger")}
	noted := "began good\nended good\nbegan twice\nbegan twice\nended twice\nended twice\nbegan again\nbegan again\nended again\nbegan cut\n"
	if err := os.WriteFile(l.File, []byte(noted), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Ended("Success", chaos.Step{Name: "good", Attempts: 1, Good: true}, chaos.Step{Name: "again", Attempts: 2, Good: true})
	l.Ended("Success", chaos.Step{Name: "twice", Attempts: 1, Good: true}, chaos.Step{Name: "cut", Attempts: 1, Good: true})
	l.Ended("Failed", chaos.Step{Name: "never", Attempts: 1}, chaos.Step{Name: "killed", Attempts: 2, Noted: 2}, chaos.Step{Name: "once", Attempts: 2, Noted: 1})
	got, err := l.Sum()
	if err != nil {
		t.Fatal(err)
	}
	want := chaos.Sum{
		Ends: map[string]int{"Success": 2, "Failed": 1}, Lost: []string{"cut (1 attempts, began 1 times, ended 0 times, killed 0 times)"},
		Doubled: []string{"twice (1 attempts, began 2 times, ended 2 times, killed 0 times)"},
		NeverRan: []string{
			"never (1 attempts, began 0 times, ended 0 times, killed 0 times)", "once (2 attempts, began 0 times, ended 0 times, killed 1 times)",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASeedHasOneSchedule(t *testing.T) {
	t.Parallel()
	kinds := []chaos.Kind{chaos.Cut, chaos.Lost, chaos.FullDisk}
	one, same, other := chaos.Schedule(1, 30, kinds...), chaos.Schedule(1, 30, kinds...), chaos.Schedule(2, 30, kinds...)
	if !cmp.Equal(one, same) || cmp.Equal(one, other) {
		t.Errorf("schedules of one seed:\n%s\n%s\nof another:\n%s", chaos.Lines(one), chaos.Lines(same), chaos.Lines(other))
	}
	count := map[chaos.Kind]int{}
	for _, f := range one {
		count[f.Kind]++
	}
	if count[chaos.Cut] != 10 || count[chaos.Lost] != 10 || count[chaos.FullDisk] != 10 {
		t.Errorf("kinds: %v", count)
	}
}
