package instances_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/instances"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// writes is an executor of scripts that writes one document after the other;
// none: the script fails.
func writes(docs ...string) executor.Executor {
	run := 0
	return func(_ context.Context, a task.Assignment, _ executor.Env) (task.Result, error) {
		var p task.Shell
		if err := json.Unmarshal(a.Payload, &p); err != nil {
			return task.Result{}, err
		}
		doc := docs[min(run, len(docs)-1)]
		run++
		if doc == "" {
			return executor.Fail([]fault.FailureType{fault.Unknown}, "the script ended with exit code 1"), nil
		}
		return task.Result{Status: task.Succeeded}, os.WriteFile(p.Env["INSTANCE_OUTPUT_PATH"], []byte(doc), 0o600)
	}
}

// place is as the ledger has it since an earlier release, which kept the names
// of clusters and of what is deployed in it, too.
const place = `{"cluster": {}, "release": "hall", "pods": null, "script": {"target": {"service": "web"}, "stage": "s", "script": {}, "list": "$", "name": "name"}}`

// A watch runs the script every ten minutes and tells what has changed, and
// once an hour that nothing has, until it is somebody else's.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var told []string
		refused := errors.New("out of reach")
		report := func(_ context.Context, o task.Observed) error {
			text := fmt.Sprint(time.Since(began), " ", o.Trouble)
			for _, i := range o.Instances {
				text += i.Name + i.Images[0]
			}
			told = append(told, text)
			switch len(told) {
			case 2:
				return refused
			case 6:
				return fault.New(fault.LeaseLost, "it is somebody else's")
			}
			return nil
		}
		script := writes(`[{"name": "a"}]`, `[{"name": "a"}]`, `[]`, `[]`, "", `no JSON`, `[{"name": "b"}]`)
		w := task.Watch{Target: task.Target{Image: ":1"}, Place: json.RawMessage(place)}
		if err := instances.Watch(script)(t.Context(), w, report); !fault.Is(err, fault.LeaseLost) {
			t.Errorf("the watch ended with %v", err)
		}
		want := []string{
			"0s a:1", "20m0s ", "30m0s ", "40m0s the script ended with exit code 1", "50m0s what the script wrote isn't JSON: invalid character 'o' in literal null (expecting 'u')", "1h0m0s b:1",
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
	})
}
