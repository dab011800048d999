package journal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// roleEnv makes the test binary a process that keeps a journal in a folder
// until it is killed.
const roleEnv = "JOURNAL_TEST_FOLDER"

const server = "http://slipway"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "" {
		os.Exit(m.Run())
	}
	j, err := Open(os.Getenv(roleEnv), "killed", server)
	for _, id := range []task.ID{"one", "two", "three"} {
		if err == nil {
			err = j.Begin(entry(id))
		}
	}
	if err == nil {
		err = j.End(entry("two").Held)
	}
	fmt.Println("ready", err)
	_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
}

func entry(id task.ID) Entry {
	return Entry{Held: protocol.Held{ID: id, Fence: 3}, Mark: "MARK" + strings.ToUpper(string(id))}
}

// What a killed process had begun is known, until it is told; a process that
// lives is never taken for one that has gone.
func TestAKilledProcessLeavesWhatItBegan(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+folder)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	said := make([]byte, 100)
	n, err := out.Read(said)
	must(t, err)
	if got := string(said[:n]); got != "ready <nil>\n" {
		t.Fatalf("the process says %q", got)
	}
	if got := Left(folder, server, 10); len(got) > 0 {
		t.Errorf("while it lives %v has gone", got)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	got := Left(folder, server, 10)
	if len(got) != 1 || got[0].ID != "killed" {
		t.Fatalf("after its end there is %v", got)
	}
	if diff := cmp.Diff([]Entry{entry("one"), entry("three")}, got[0].Begun); diff != "" {
		t.Errorf("it had begun (-want +got):\n%s", diff)
	}
	if again := Left(folder, server, 10); len(again) > 0 {
		t.Errorf("another process tells of it, too: %v", again)
	}
	got[0].Forget()
	if left := names(t, folder); len(left) > 0 {
		t.Errorf("there is still %q", left)
	}
}

// What a file says holds for its machine since its start and for its server.
func TestWhatIsNotKnownForSureIsLeftToTheLeases(t *testing.T) {
	t.Parallel()
	boot, err := bootID()
	must(t, err)
	of := func(id, boot, server string) string {
		return fmt.Sprintf(`{"id":%q,"boot":%q,"server":%q}`, id, boot, server)
	}
	begun := `{"begun":{"id":"t1","fence":1,"mark":"M"}}`
	for name, tt := range map[string]struct {
		text string
		want string
	}{
		"whole":              {of("x", boot, server) + "\n" + begun + "\n", "x [{{t1 1} M}]"},
		"nothing begun":      {of("x", boot, server) + "\n", "x []"},
		"the last line cut":  {of("x", boot, server) + "\n" + begun + "\n" + begun[:20], "x [{{t1 1} M}]"},
		"another boot":       {of("x", "before", server) + "\n" + begun + "\n", ""},
		"another server":     {of("x", boot, "http://other") + "\n" + begun + "\n", ""},
		"another's name":     {of("y", boot, server) + "\n" + begun + "\n", ""},
		"the first line cut": {of("x", boot, server)[:20], ""},
		"empty":              {"", ""},
		"a broken line":      {of("x", boot, server) + "\n{\n" + begun + "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			must(t, os.WriteFile(filepath.Join(folder, "x"), []byte(tt.text), 0o600))
			got := ""
			for _, g := range Left(folder, server, 10) {
				got += fmt.Sprint(g.ID, " ", g.Begun)
				g.Forget()
			}
			if got != tt.want {
				t.Errorf("there has gone %q, want %q", got, tt.want)
			}
		})
	}
}

// A file that nobody can tell of goes after a week.
func TestOldFilesGo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	old, young := filepath.Join(folder, "old"), filepath.Join(folder, "young")
	for _, name := range []string{old, young} {
		must(t, os.WriteFile(name, nil, 0o600))
	}
	ago := time.Now().Add(-forgotten - time.Hour)
	must(t, os.Chtimes(old, ago, ago))
	Left(folder, server, 10)
	if diff := cmp.Diff([]string{"young"}, names(t, folder)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A long life makes no long file, and loses nothing of what is under way.
func TestALongJournalIsWrittenAnew(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	j, err := Open(folder, "x", server)
	must(t, err)
	must(t, j.Begin(entry("first")))
	most := 0
	for i := range 20_000 {
		e := entry(task.ID(fmt.Sprint("t", i)))
		must(t, j.Begin(e))
		must(t, j.End(e.Held))
		most = max(most, j.size)
	}
	if most > longest || most < longest-1000 {
		t.Errorf("the file had %d bytes, want some %d at most", most, longest)
	}
	if got := Left(folder, server, 10); len(got) > 0 {
		t.Errorf("while it lives %v has gone", got)
	}
	must(t, j.file.Close()) // that gives up the lock, as a kill does
	got := Left(folder, server, 10)
	if len(got) != 1 || len(got[0].Begun) != 1 || got[0].Begun[0] != entry("first") {
		t.Errorf("after its end there is %v", got)
	}
}

// If it can't be noted that a task begins, nobody may take it for one that
// hasn't.
func TestAJournalThatCannotBeWrittenGoes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	j, err := Open(folder, "x", server)
	must(t, err)
	broken, err := os.Open(j.name) // it can't be written to
	must(t, err)
	must(t, j.file.Close())
	j.file = broken
	must(t, j.Begin(entry("one")))
	if left := names(t, folder); len(left) > 0 {
		t.Errorf("there is still %q", left)
	}
	must(t, j.Begin(entry("two")))
	must(t, j.Remove())

	j, err = Open(folder, "y", server)
	must(t, err)
	must(t, os.Remove(j.name))
	must(t, os.MkdirAll(filepath.Join(j.name, "full"), 0o700)) // a file that can't be removed
	must(t, j.file.Close())
	if err := j.Begin(entry("one")); err == nil {
		t.Error("a task begins of which the journal says that it doesn't")
	}
}

// At most so many are told of, the latest first.
func TestTheLatestAreToldOf(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for i := range 5 {
		j, err := Open(folder, fmt.Sprint("p", i), server)
		must(t, err)
		must(t, j.file.Close())
		at := time.Now().Add(time.Duration(i-10) * time.Minute)
		must(t, os.Chtimes(j.name, at, at))
	}
	var got []string
	for _, g := range Left(folder, server, 2) {
		got = append(got, g.ID)
	}
	if diff := cmp.Diff([]string{"p4", "p3"}, got); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	list, err := os.ReadDir(folder)
	must(t, err)
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
