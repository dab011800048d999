package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// TestView compares what is drawn with testdata/view/*.txtar. A section
// "view WIDTH HEIGHT" has what the outline before it looks like on a terminal of
// that size, 64 seconds after its start; one named "lines" has what a narrator
// tells of it, after all outlines before. With UPDATE_SCRIPTS set they are
// written anew.
func TestView(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/view/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checkViews(t, a)
			if os.Getenv("UPDATE_SCRIPTS") == "" {
				return
			}
			if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func checkViews(t *testing.T, a *txtar.Archive) {
	t.Helper()
	told := &narrator{}
	tree := outline(t, "Running")
	for i, section := range a.Files {
		var got []string
		v := view{now: outlineStart().Add(64 * time.Second)}
		switch section.Name {
		case "outline":
			tree = outline(t, string(section.Data))
			continue
		case "lines":
			got = told.lines(tree)
		default:
			if _, err := fmt.Sscanf(section.Name, "view %d %d", &v.width, &v.height); err != nil {
				t.Fatalf("section %q: %v", section.Name, err)
			}
			got = v.lines(tree)
			if v.height > 0 && len(got) > v.height {
				t.Errorf("%s has %d lines", section.Name, len(got))
			}
		}
		text := strings.Join(got, "\n") + "\n"
		if diff := cmp.Diff(string(section.Data), text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", section.Name, diff)
		}
		a.Files[i].Data = []byte(text)
	}
}

func TestColoursAreOnTheSymbolsOnly(t *testing.T) {
	t.Parallel()
	tree := outline(t, "Running\nstage a Success 0-1\nstage b Running 1-")
	plain := view{now: outlineStart(), width: 20}
	coloured := plain
	coloured.color = true
	strip := strings.NewReplacer("\x1b[32m", "", "\x1b[36m", "", "\x1b[0m", "")
	got := strings.Join(coloured.lines(tree), "\n")
	if !strings.Contains(got, "\x1b[32m✓\x1b[0m") || !strings.Contains(got, "\x1b[36m●\x1b[0m") {
		t.Errorf("got %q; want a green ✓ and a cyan ●", got)
	}
	if diff := cmp.Diff(strings.Join(plain.lines(tree), "\n"), strip.Replace(got)); diff != "" {
		t.Errorf("without colours (-want +got):\n%s", diff)
	}
}

func TestEveryStatusHasASymbol(t *testing.T) {
	t.Parallel()
	for _, s := range plan.Statuses() {
		if got := symbol(s); (got == "○") != (s == plan.NotStarted) {
			t.Errorf("%s: %s", s, got)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 1400 * time.Millisecond: "1s", 59 * time.Second: "59s", 64 * time.Second: "1m04s",
		time.Hour + 4*time.Minute: "1h04m", 47 * time.Hour: "47h00m", 72 * time.Hour: "3d",
	} {
		if got := span(d); got != want {
			t.Errorf("%s is %q; want %q", d, got, want)
		}
	}
}
