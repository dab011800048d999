package e2e_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// Every invocation of the engine comes twice, one in ten isn't reached and of
// one in ten the answer is lost; the table refuses one call in twenty; sockets
// drop all the time; results come late and twice. All pipelines end right, and
// no step's effect happens twice.
func TestFaultsOnAWS(t *testing.T) {
	t.Parallel()
	pipelines := max(30, *faults) // each meets some ten faults, of all sorts
	a := e2e.StartAWS(t)
	file := filepath.Join(t.TempDir(), "marks")
	a.Apply(t, fmt.Sprintf(`pipeline: {identifier: p, name: p, variables: [{name: id, type: String, value: <+input>}], stages: [
  {stage: {identifier: one, name: one, type: Custom, spec: {execution: {steps: [%s]}}}},
  {stage: {identifier: two, name: two, type: Custom, spec: {execution: {steps: [{parallel: [%s, %s]}]}}}}]}`,
		shell("a", "echo <+pipeline.variables.id>.a >> "+file), shell("b", "echo <+pipeline.variables.id>.b >> "+file),
		shell("c", "echo <+pipeline.variables.id>.c >> "+file)))
	a.Throttle(0.05)
	a.RepeatResults()
	a.Host.Fail("engine", testaws.Faults{Before: 0.1, After: 0.1, Twice: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dropped := make(chan struct{})
	go func() {
		defer close(dropped)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				a.Sockets.Drop()
			}
		}
	}()
	var all sync.WaitGroup
	free := make(chan struct{}, 20) // more at once only wait for each other on two cores, and keep other tests waiting
	for i := range pipelines {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			id, err := a.TryBegin(ctx, "p", map[string]string{"variables.id": fmt.Sprint("x", i)})
			var e e2e.Execution
			if err == nil {
				e, err = a.Every(ctx, 5*time.Second, id, e2e.Ended)
			}
			if err != nil || e.Status != "Success" {
				t.Errorf("pipeline %d: %v, %s: %s", i, err, e.Status, e.Message)
			}
		})
	}
	all.Wait()
	cancel()
	<-dropped
	got := marks(t, file)
	for i := range pipelines {
		for _, step := range []string{"a", "b", "c"} {
			if mark := fmt.Sprintf("x%d.%s", i, step); got[mark] != 1 {
				t.Errorf("step %s had its effect %d times", mark, got[mark])
			}
		}
	}
}
