// Command slower reads the output of benchmarks and fails if one is more than a
// fifth slower than docs/performance.md says. Machines differ, so figures are
// compared as multiples of a durable commit that was measured in the same run.
// What the benchmarks do is internal/e2e's and pkg/sqlitedb's.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// tolerated is how much slower a benchmark may be than the page says.
const tolerated = 1.2

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -bench ... | slower docs/performance.md")
		os.Exit(2)
	}
	page, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = compare(os.Stdout, os.Stdin, string(page))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// figure is a row of the page.
type figure struct {
	benchmark, metric string
	commits           float64 // how many durable commits it takes
}

var (
	row    = regexp.MustCompile("(?m)^\\| `(Benchmark[^` ]+)`, `([^`]+)` \\| ([0-9.]+) \\|$")
	result = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
)

const commit = "BenchmarkCommit"

// compare copies the output of benchmarks and says of each row of the page
// what was measured.
func compare(out io.Writer, in io.Reader, page string) error {
	measured := map[string]float64{} // by benchmark and metric
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fmt.Fprintln(out, lines.Text())
		m := result.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		words := strings.Fields(m[2])
		for i := 0; i+1 < len(words); i += 2 {
			if n, err := strconv.ParseFloat(words[i], 64); err == nil {
				measured[m[1]+" "+words[i+1]] = n
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the output of benchmarks: %w", err)
	}
	rows, err := figures(page)
	if err != nil {
		return err
	}
	unit, ok := measured[commit+" ns/op"]
	if !ok || unit <= 0 {
		return fmt.Errorf("the output has no %s, by which all others are measured", commit)
	}
	var slower []error
	for _, f := range rows {
		n, ok := measured[f.benchmark+" "+f.metric]
		if !ok {
			slower = append(slower, fmt.Errorf("the output has no %s of %s", f.metric, f.benchmark))
			continue
		}
		got := nanoseconds(n, f.metric) / unit
		fmt.Fprintf(out, "%s: %.1f durable commits; the page says %.1f\n", f.benchmark, got, f.commits)
		if got > tolerated*f.commits {
			slower = append(slower, fmt.Errorf("%s takes %.1f durable commits; want %.1f at most, a fifth more than the page says", f.benchmark, got, tolerated*f.commits))
		}
	}
	return errors.Join(slower...)
}

// figures are the rows of the page.
func figures(page string) ([]figure, error) {
	var out []figure
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		n, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, fmt.Errorf("%s of the page: %w", m[1], err)
		}
		out = append(out, figure{m[1], m[2], n})
	}
	if len(out) == 0 {
		return nil, errors.New("the page has no rows such as | `BenchmarkX`, `ns/op` | 12 |")
	}
	return out, nil
}

// nanoseconds is how long one takes by a metric: a time, or how many a second.
func nanoseconds(n float64, metric string) float64 {
	switch {
	case strings.HasSuffix(metric, "-ms"):
		return n * 1e6
	case strings.HasSuffix(metric, "/s"):
		return 1e9 / n
	}
	return n
}
