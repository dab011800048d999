package asl_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// opened is an engine over a database file of its own.
type opened struct {
	*asl.Engine
	db   *sqlitedb.DB
	file string
}

// open makes an engine with one machine, "m".
func open(tb testing.TB, definition string, cfg asl.Config) opened {
	tb.Helper()
	return openAt(tb, filepath.Join(tb.TempDir(), "db"), definition, cfg)
}

func openAt(tb testing.TB, file, definition string, cfg asl.Config) opened {
	tb.Helper()
	m, err := asl.Parse("m", []byte(definition), nil)
	if err != nil {
		tb.Fatal(err)
	}
	db, err := sqlitedb.Open(tb.Context(), file)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.DB, cfg.Concurrency = db, max(cfg.Concurrency, 1)
	if cfg.Machines == nil {
		cfg.Machines = map[string]*asl.Machine{"m": m}
	}
	e, err := asl.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	o := opened{Engine: e, db: db, file: file}
	tb.Cleanup(func() { _ = o.close() })
	return o
}

func (o opened) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(o.Close(ctx), o.db.Close())
}

func (o opened) start(tb testing.TB, name, input string) {
	tb.Helper()
	if err := o.StartExecution(tb.Context(), "m", name, json.RawMessage(input)); err != nil {
		tb.Fatal(err)
	}
}

func functions(f asl.Handler) map[string]asl.Handler { return map[string]asl.Handler{"f": f} }

// task is a state that calls f with its input; more are fields of it.
func task(more string) string {
	return `{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f","Payload.$":"$"},"ResultPath":null,` + more + `}`
}

func machine(first, states string) string {
	return `{"StartAt":"` + first + `","States":{` + states + `}}`
}
