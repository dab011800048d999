package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// steps is a pipeline of n steps in one Custom stage.
func steps(id string, n int, script string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline:\n  identifier: %s\n  name: %s\n  stages:\n    - stage:\n        identifier: s\n        name: s\n        type: Custom\n        spec:\n          execution:\n            steps:\n", id, id)
	for i := range n {
		fmt.Fprintf(&b, "              - step:\n                  identifier: s%d\n                  name: s%d\n                  type: ShellScript\n                  timeout: 10m\n                  spec:\n                    shell: Bash\n                    onDelegate: true\n                    source: {type: Inline, spec: {script: %q}}\n", i, i, script)
	}
	return b.String()
}

// BenchmarkNoOpPipeline is one pipeline of ten steps that do nothing, from
// the request to its end; p50 and p99 over all rounds.
func BenchmarkNoOpPipeline(b *testing.B) {
	for name, script := range map[string]string{"empty": "# nothing", "process": "true"} {
		b.Run(name, func(b *testing.B) {
			s := e2e.Start(b, wire.ServeConfig{EmbeddedDelegate: true})
			s.Apply(b, steps("noop", 10, script))
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				if e, err := s.End(b.Context(), s.Begin(b, "noop", nil)); err != nil || e.Status != "Success" {
					b.Fatalf("%+v, %v", e, err)
				}
				took = append(took, time.Since(begin))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkThroughput keeps 64 such pipelines going at once.
func BenchmarkThroughput(b *testing.B) {
	s := e2e.Start(b, wire.ServeConfig{EmbeddedDelegate: true, Capacity: 64})
	s.Apply(b, steps("noop", 10, "# nothing"))
	work := make(chan struct{})
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range work {
				id, err := s.TryBegin(b.Context(), "noop", nil)
				if err == nil {
					_, err = s.End(b.Context(), id)
				}
				if err != nil && context.Cause(b.Context()) == nil {
					b.Error(err)
				}
			}
		})
	}
	begin := time.Now()
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	all.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "pipelines/s")
}

// BenchmarkMemory is what a server and a delegate, each in a process of its
// own, hold after 64 pipelines at once of ten steps, each a bash process.
func BenchmarkMemory(b *testing.B) {
	p := spawn(b, serveEnv+"="+b.TempDir(), addrEnv+"="+freeAddr(b))
	s := client(p)
	d := spawn(b, delegateEnv+"=outside", addrEnv+"="+s.URL, tokenEnv+"="+delegateToken(b, s))
	s.Apply(b, steps("noop", 10, "true"))
	for b.Loop() {
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				id, err := s.TryBegin(b.Context(), "noop", nil)
				if err == nil {
					_, err = s.End(b.Context(), id)
				}
				if err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(memory(b, strconv.Itoa(p.cmd.Process.Pid)), "server-MB")
	b.ReportMetric(memory(b, strconv.Itoa(d.cmd.Process.Pid)), "delegate-MB")
}
