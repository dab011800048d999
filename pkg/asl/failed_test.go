package asl_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// When a commit fails, memory is ahead of the disk: whoever opened the engine
// is told, and it does nothing more.
func TestAFailedCommitIsTold(t *testing.T) {
	t.Parallel()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := asl.Parse("m", []byte(`{"StartAt": "Do", "States": {"Do": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke",
		"Parameters": {"FunctionName": "f"}, "TimeoutSeconds": 5, "End": true}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	machines, err := asl.Open(t.Context(), asl.Config{
		DB: db, Machines: map[string]*asl.Machine{"m": m}, Concurrency: 1,
		Functions: map[string]asl.Handler{"f": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{}`), db.Close() // what follows can't be committed
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := machines.StartExecution(t.Context(), "m", "r", json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-machines.Failed():
		if !errors.Is(err, sqlitedb.ErrClosed) {
			t.Errorf("failed with %v", err)
		}
	case <-t.Context().Done():
		t.Fatal("nobody was told")
	}
	if err := machines.StartExecution(t.Context(), "m", "r2", json.RawMessage(`{}`)); err == nil {
		t.Error("the engine still starts runs")
	}
}
