package testaws

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Bill counts what deployments ask of an account, for the table of a page of the
// docs.
type Bill struct {
	calls func() []string // so far, by their operations
	page  string
	write bool

	mu    sync.Mutex
	looks []int // how many calls there were before each look of a wait but its first
}

// Bill begins to count. The page's table is written anew where the test was told to
// update what it compares with.
func (w *World) Bill(page string, update bool) *Bill {
	return NewBill(page, update, func() []string { return names(w.Calls()) })
}

// NewBill begins to count the calls of somebody else.
func NewBill(page string, update bool, calls func() []string) *Bill {
	return &Bill{calls: calls, page: page, write: update}
}

// Pace is that of waits (awswait.Pace). It is asked between two looks.
func (b *Bill) Pace(time.Duration) time.Duration {
	calls := len(b.calls())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks = append(b.looks, calls)
	return 10 * time.Millisecond
}

// Costs does what the row of the table is about, and compares its calls with it: of
// what a wait looks at again and again one look counts, since how often it looks
// depends on how long that takes.
func (b *Bill) Costs(tb testing.TB, row string, do func()) {
	tb.Helper()
	began := len(b.calls())
	b.looks = nil
	do()
	calls := b.calls()
	var all []string
	for i, from := range append([]int{began}, b.looks...) {
		until := len(calls)
		if i < len(b.looks) {
			until = b.looks[i]
		}
		all = folded(all, calls[from:until])
	}
	count := map[string]int{}
	for _, name := range all {
		count[name]++
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		part := "`" + name + "`"
		if count[name] > 1 {
			part += fmt.Sprint(" ", count[name])
		}
		parts = append(parts, part)
	}
	b.compare(tb, row, fmt.Sprintf("| %s | %d | %s |", row, len(all), strings.Join(parts, ", ")))
}

// names are the operations of calls.
func names(calls []Call) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Operation)
	}
	return out
}

// folded adds the calls from a look on to those until its wait looked before, without
// looking twice.
func folded(all, more []string) []string {
	for n := 1; n <= min(len(all), len(more)); n++ {
		if slices.Equal(all[len(all)-n:], more[:n]) {
			return append(all, more[n:]...)
		}
	}
	return append(all, more...)
}

// pages is held while a page is read and written.
var pages sync.Mutex

func (b *Bill) compare(tb testing.TB, row, line string) {
	tb.Helper()
	pages.Lock()
	defer pages.Unlock()
	text, err := os.ReadFile(b.page)
	if err != nil {
		tb.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "| "+row+" |") })
	switch {
	case i >= 0 && lines[i] == line:
		return
	case i < 0:
		tb.Fatalf("%s has no row %q; add it empty, and run the test with -update", b.page, row)
	case !b.write:
		tb.Errorf("%s says\n%s\nand it asks\n%s", b.page, lines[i], line)
		return
	}
	lines[i] = line
	if err := os.WriteFile(b.page, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		tb.Fatal(err)
	}
}
