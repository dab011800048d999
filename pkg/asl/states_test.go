package asl_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// outcome runs a definition to its end and gives its output, or its error.
func outcome(t *testing.T, definition, input string, functions map[string]asl.Handler) (string, time.Duration) {
	t.Helper()
	m, err := asl.Parse("m", []byte(definition), nil)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := asl.Open(t.Context(), asl.Config{DB: db, Machines: map[string]*asl.Machine{"m": m}, Functions: functions, Concurrency: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(e.Close(context.Background()), db.Close()) })
	begun := time.Now()
	if err := e.StartExecution(t.Context(), "m", "r", json.RawMessage(input)); err != nil {
		t.Fatal(err)
	}
	x := ended(t, e, "r")
	if x.Status == "SUCCEEDED" {
		return string(x.Output), time.Since(begun)
	}
	return x.Status + " " + x.Error, time.Since(begun)
}

// ended waits for a run's end.
func ended(t *testing.T, e *asl.Engine, name string) asl.Execution {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		x, err := e.DescribeExecution(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if x.Status != "RUNNING" {
			return x
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the run doesn't end")
		case <-tick.C:
		}
	}
}

func invoke(name string) string {
	return `{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","TimeoutSeconds":30,"Parameters":{"FunctionName":"` + name + `","Payload.$":"$"},
		"ResultSelector":{"v.$":"$.Payload"},"OutputPath":"$.v","End":true}`
}

func TestStates(t *testing.T) {
	t.Parallel()
	echo := func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }
	broken := func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, &asl.Failure{Name: "My.Error", Cause: "no"}
	}
	functions := map[string]asl.Handler{"echo": echo, "broken": broken}
	wait := func(how string) string {
		return `{"StartAt":"W","States":{"W":{"Type":"Wait",` + how + `,"End":true}}}`
	}
	const end, caught = `,"End":true}}`, `,"Catch":[{"ErrorEquals":["My.Error"],"ResultPath":"$.e","Next":"C"}],"End":true},"C":{"Type":"Pass","End":true}}`
	parallel := func(second, more string) string {
		return `{"StartAt":"P","States":{"P":{"Type":"Parallel","Branches":[{"StartAt":"A","States":{"A":` + invoke("echo") + `}},
			{"StartAt":"B","States":{"B":` + invoke(second) + `}}]` + more + `}`
	}
	tests := []struct {
		name, definition, input, want string
		least, most                   time.Duration // 0: not looked at
	}{
		{"Wait for seconds", wait(`"Seconds":1`), `{"a":1}`, `{"a":1}`, time.Second, 0},
		{"Wait for seconds of the input", wait(`"SecondsPath":"$.s"`), `{"s":1}`, `{"s":1}`, time.Second, 0},
		{"Wait until a time that has passed", wait(`"Timestamp":"2020-01-01T00:00:00Z"`), `{}`, `{}`, 0, 5 * time.Second},
		{"Wait until a time of the input", wait(`"TimestampPath":"$.t"`), `{"t":"2020-01-01T00:00:00Z"}`, `{"t":"2020-01-01T00:00:00Z"}`, 0, 5 * time.Second},
		{"Parallel gives the branches' outputs in their order", parallel("echo", end), `{"x":1}`, `[{"x":1},{"x":1}]`, 0, 0},
		{"a branch that fails ends all", parallel("broken", end), `{}`, `FAILED My.Error`, 0, 0},
		{"a failed branch is caught", parallel("broken", caught),
			`{"x":1}`, `{"e":{"Cause":"no","Error":"My.Error"},"x":1}`, 0, 0},
		{"Fail", `{"StartAt":"F","States":{"F":{"Type":"Fail","Error":"E","Cause":"c"}}}`, `{}`, `FAILED E`, 0, 0},
		{"a task's time-out", `{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",
			"TimeoutSecondsPath":"$.s","Parameters":{"FunctionName":"echo","Payload":{"t.$":"$$.Task.Token"}},"End":true}}}`, `{"s":1}`, `FAILED States.Timeout`, time.Second, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, took := outcome(t, tt.definition, tt.input, functions)
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if took < tt.least || tt.most > 0 && took > tt.most {
				t.Errorf("it took %s, want %s to %s", took, tt.least, tt.most)
			}
		})
	}
}

// A Map never runs more items at once than it may, and keeps their order.
func TestMapBoundsItsItems(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now, most := 0, 0
	work := func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		defer func() {
			mu.Lock()
			now--
			mu.Unlock()
		}()
		time.Sleep(time.Millisecond) //nolint:forbidigo // so that items meet
		return in, nil
	}
	got, _ := outcome(t, `{"StartAt":"M","States":{"M":{"Type":"Map","ItemsPath":"$.items","MaxConcurrency":3,"End":true,
		"ItemProcessor":{"ProcessorConfig":{"Mode":"INLINE"},"StartAt":"A","States":{"A":`+invoke("work")+`}}}}}`,
		`{"items":[9,8,7,6,5,4,3,2,1,0]}`, map[string]asl.Handler{"work": work})
	if got != `[9,8,7,6,5,4,3,2,1,0]` {
		t.Errorf("outputs %s", got)
	}
	if most > 3 || most < 2 {
		t.Errorf("%d items ran at once, want at most 3 and more than one", most)
	}
}
