package agent_test

import (
	"slices"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// BenchmarkTasks: what the agent adds to a task that does nothing, many at once.
func BenchmarkTasks(b *testing.B) {
	p := newPlane(b)
	p.done = make(chan task.ID, b.N)
	s := p.start(succeed, func(c *agent.Config) { c.Capacity = 100 })
	<-p.opened
	p.offer(ids(b.N)...)
	b.ResetTimer()
	p.say(protocol.Wake{Type: "work"})
	for range b.N {
		<-p.done
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	s.finish()
}

// BenchmarkLatency: from the wake-up to the result, one task at a time.
func BenchmarkLatency(b *testing.B) {
	p := newPlane(b)
	s := p.start(succeed, nil)
	<-p.opened
	took := make([]time.Duration, 0, b.N)
	all := ids(b.N)
	b.ResetTimer()
	for i := range b.N {
		at := time.Now()
		p.offer(all[i])
		p.say(protocol.Wake{Type: "work"})
		<-p.done
		took = append(took, time.Since(at))
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	s.finish()
}
