package main

import (
	"os"
	"strings"
	"testing"
)

const page = "| what | durable commits |\n| --- | --- |\n| `BenchmarkNoOp/empty`, `p50-ms` | 50 |\n| `BenchmarkThroughput`, `pipelines/s` | 20 |\n"

func TestCompare(t *testing.T) {
	t.Parallel()
	const (
		unit = "BenchmarkCommit-2   \t    4000\t    250000 ns/op\n"
		one  = "BenchmarkNoOp/empty-2 \t 100\t 13000000 ns/op\t        12.5 p50-ms\t        29.0 p99-ms\n"
		many = "BenchmarkThroughput 400\t 5000000 ns/op\t       200 pipelines/s\n"
	)
	for name, tt := range map[string]struct{ in, want string }{
		"as the page says":                     {"goos: linux\n" + unit + one + many + "PASS\n", ""},
		"a fifth slower":                       {unit + strings.Replace(one, "12.5 p50", "15.0 p50", 1) + strings.Replace(many, "200 pipe", "167 pipe", 1), ""},
		"more":                                 {unit + strings.Replace(one, "12.5 p50", "15.1 p50", 1) + many, "BenchmarkNoOp/empty takes 60.4 durable commits; want 60.0 at most"},
		"fewer a second":                       {unit + one + strings.Replace(many, "200 pipe", "160 pipe", 1), "BenchmarkThroughput takes 25.0 durable commits; want 24.0 at most"},
		"on a machine that is slower by half":  {strings.Replace(unit, "250000", "500000", 1) + strings.Replace(one, "12.5 p50", "25 p50", 1) + strings.Replace(many, "200 pipe", "100 pipe", 1), ""},
		"without the unit":                     {one + many, "the output has no BenchmarkCommit"},
		"a benchmark that has failed, or none": {unit + one, "the output has no pipelines/s of BenchmarkThroughput"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := compare(&out, strings.NewReader(tt.in), page)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v; want %q", err, tt.want)
			}
			if !strings.HasPrefix(out.String(), tt.in) {
				t.Errorf("the output isn't shown:\n%s", out.String())
			}
		})
	}
}

func TestThePageHasFigures(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := figures(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rows {
		if f.commits <= 0 {
			t.Errorf("%s takes %v durable commits", f.benchmark, f.commits)
		}
	}
}
