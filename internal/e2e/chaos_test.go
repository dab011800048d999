package e2e_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/chaos"
	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/task"
)

var (
	faults = flag.Int("faults", 50, "how many faults TestChaos makes")
	seed   = flag.Uint64("seed", 0, "of TestChaos; 0: any")
)

// A pipeline of three steps runs again and again, several at once, while one
// random fault on one machine follows another. In the end none is stuck or failed, every step
// that is told of as good had its effect, none had more effects than attempts,
// and no attempt was counted that never began: neither did its script say so,
// nor had a delegate that was killed noted it. No lease ends meanwhile.
func TestChaos(t *testing.T) {
	t.Parallel()
	n := *seed
	if n == 0 {
		n = rand.Uint64()
	}
	chaosOnOneMachine(t, n, *faults)
}

// atOnce is how many executions there are at the same time.
const atOnce = 3

// ordeal is a run of faults on a host.
type ordeal struct {
	seed   uint64
	kinds  []chaos.Kind
	client *e2e.Server // as its users reach it, faults between
	make   func(chaos.Fault)
	ledger *chaos.Ledger
	noted  *noted
}

// newOrdeal saves the pipeline that runs.
func newOrdeal(t *testing.T, seed uint64, s *e2e.Server) *ordeal {
	t.Helper()
	o := &ordeal{seed: seed, client: s, noted: &noted{begun: map[task.ID]bool{}}, ledger: &chaos.Ledger{File: filepath.Join(t.TempDir(), "ledger")}}
	step := func(id string) string {
		return shell(id, o.ledger.Script("<+pipeline.variables.id>."+id, "0.2"))
	}
	s.Apply(t, fmt.Sprintf(`pipeline: {identifier: chaos, name: chaos, variables: [{name: id, type: String, value: <+input>}], stages: [
  {stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [%s, {parallel: [%s, %s]}]}},
  failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: Abort}}}, {onFailure: {errors: [DelegateRestart], action: {type: Retry, spec: {retryCount: 100, retryIntervals: [1s], onRetryFailure: {action: {type: Abort}}}}}}]}}]}`,
		step("a"), step("b"), step("c")))
	return o
}

// run makes n faults and judges what came of them.
func (o *ordeal) run(t *testing.T, n int) {
	t.Helper()
	schedule := chaos.Schedule(o.seed, n, o.kinds...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d; the faults were:\n%s", o.seed, chaos.Lines(schedule))
		}
	})
	over := make(chan struct{})
	var all sync.WaitGroup
	for w := range atOnce {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				case <-t.Context().Done():
					return
				default:
					o.execution(t, fmt.Sprintf("x%d-%d", w, i))
				}
			}
		})
	}
	for _, f := range schedule {
		pause(t, f.After)
		o.make(f)
	}
	close(over)
	all.Wait()
	o.judge(t, schedule)
}

func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// execution starts one, as often as it takes until the answer comes, waits for
// its end and notes it.
func (o *ordeal) execution(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	var e e2e.Execution
	id, err := o.start(ctx, name)
	if err == nil {
		e, err = o.client.Every(ctx, 200*time.Millisecond, id, e2e.Ended)
	}
	if err != nil {
		o.ledger.Ended("stuck")
		t.Errorf("execution %s: %v", name, err)
		return
	}
	var steps []chaos.Step
	for _, s := range []string{"a", "b", "c"} {
		if n := e.Root.Find(s); n != nil {
			steps = append(steps, chaos.Step{Name: name + "." + s, Attempts: n.Attempt, Noted: o.noted.of(e.ID, n), Good: n.Status == "Success"})
		}
	}
	o.ledger.Ended(e.Status, steps...)
	if e.Status != "Success" {
		doc, _ := json.MarshalIndent(e, "", " ") //nolint:errchkjson // for the message only
		t.Errorf("execution %s ended %s\n%s", name, e.Status, doc)
	}
}

// start asks for an execution with a key, until there is an answer.
func (o *ordeal) start(ctx context.Context, key string) (string, error) {
	for {
		id, err := o.ask(ctx, key)
		if err == nil {
			return id, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("it can't be started: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (o *ordeal) ask(ctx context.Context, key string) (string, error) {
	at := o.client.URL + "/v1/pipelines/chaos/executions?" + url.Values{"org": {o.client.Org}, "project": {o.client.Project}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(fmt.Sprintf(`{"inputs":{"variables.id":%q}}`, key)))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+o.client.Token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return "", fmt.Errorf("%s: %s", resp.Status, body)
	}
	var e e2e.Execution
	err = json.Unmarshal(body, &e)
	return e.ID, err
}

// judge prints the table of ends, and fails for what must not be.
func (o *ordeal) judge(t *testing.T, schedule []chaos.Fault) {
	t.Helper()
	sum, err := o.ledger.Sum()
	if err != nil {
		t.Fatal(err)
	}
	count := map[chaos.Kind]int{}
	for _, f := range schedule {
		count[f.Kind]++
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&b, "%-22s %4d\n", k, count[k])
	}
	for _, how := range slices.Sorted(maps.Keys(sum.Ends)) {
		fmt.Fprintf(&b, "executions %-11s %4d\n", how, sum.Ends[how])
	}
	fmt.Fprintf(&b, "steps lost %d, doubled %d, counted that never ran %d", len(sum.Lost), len(sum.Doubled), len(sum.NeverRan))
	t.Logf("seed %d, %d faults\n%s", o.seed, len(schedule), b.String())
	if len(sum.Lost)+len(sum.Doubled) > 0 {
		t.Errorf("lost: %q\ndoubled: %q", sum.Lost, sum.Doubled)
	}
	if len(sum.NeverRan) > 0 {
		t.Errorf("attempts that never began: %q", sum.NeverRan)
	}
	if sum.Ends["Success"] == 0 {
		t.Error("no execution ended well")
	}
}
