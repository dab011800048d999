package wire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/inprocess"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// brink is a database with a commit that isn't on disk before reached says
// that it is; each way out has to wait for that.
func brink(t *testing.T) (db *sqlitedb.DB, reached *atomic.Bool) {
	t.Helper()
	reached = new(atomic.Bool)
	started := new(atomic.Bool)
	db, err := sqlitedb.OpenOn(t.Context(), filepath.Join(t.TempDir(), "db"), func(f *os.File) error {
		err := f.Sync()
		if started.Load() {
			reached.Store(true)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context(), "test", []string{`CREATE TABLE t (k INTEGER PRIMARY KEY)`}); err != nil {
		t.Fatal(err)
	}
	started.Store(true)
	return db, reached
}

func apply(t *testing.T, db *sqlitedb.DB) {
	t.Helper()
	err := db.Apply(t.Context(), func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`INSERT INTO t VALUES (NULL)`)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// outside says at each part of an answer whether the disk has what it tells.
type outside struct {
	http.ResponseWriter
	t       *testing.T
	reached *atomic.Bool
	parts   int
}

func (o *outside) part() {
	o.parts++
	if !o.reached.Load() {
		o.t.Error("part of an answer left before the disk had what it tells")
	}
}

func (o *outside) WriteHeader(status int) {
	o.part()
	o.ResponseWriter.WriteHeader(status)
}

func (o *outside) Write(p []byte) (int, error) {
	o.part()
	return o.ResponseWriter.Write(p)
}

func (o *outside) FlushError() error {
	o.part()
	return nil
}

func TestNoPartOfAnAnswerLeavesBeforeTheDiskHasIt(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"a status": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"a text":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, "done") },
		"a flush":  func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, reached := brink(t)
			h := settled{db}.handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				apply(t, db)
				answer(w)
			}))
			o := &outside{ResponseWriter: httptest.NewRecorder(), t: t, reached: reached}
			h.ServeHTTP(o, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			if o.parts == 0 {
				t.Error("nothing was answered")
			}
		})
	}
	t.Run("an empty answer", func(t *testing.T) {
		t.Parallel()
		db, reached := brink(t)
		h := settled{db}.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { apply(t, db) }))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if !reached.Load() {
			t.Error("the handler returned before the disk had what it had done")
		}
	})
	t.Run("a connection that is taken over", func(t *testing.T) {
		t.Parallel()
		db, reached := brink(t)
		c := http.Client{Transport: inprocess.RoundTripper(settled{db}.handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			apply(t, db)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil || !reached.Load() {
				t.Errorf("%v; the disk has it: %v", err, reached.Load())
			}
			_ = conn.Close()
		})))}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/", nil)
		req.RequestURI = ""
		req.Header.Set("Upgrade", "websocket")
		if resp, err := c.Do(req); err != nil {
			t.Error(err)
		} else {
			_ = resp.Body.Close()
		}
	})
}

func TestNoWordOrEventLeavesBeforeTheDiskHasIt(t *testing.T) {
	t.Parallel()
	t.Run("a cancel", func(t *testing.T) {
		t.Parallel()
		db, reached := brink(t)
		apply(t, db)
		settled{db}.waker(api.NewHub()).Cancel(t.Context(), "a", "d", "t")
		if !reached.Load() {
			t.Error("a delegate hears of a cancelled task before the disk has it")
		}
	})
	t.Run("an event", func(t *testing.T) {
		t.Parallel()
		db, reached := brink(t)
		apply(t, db)
		heard := false
		s := settled{db}.subscriber(feed.Subscriber{Handle: func(context.Context, feed.Event) error {
			heard = reached.Load()
			return nil
		}})
		if err := s.Handle(t.Context(), feed.Event{}); err != nil || !heard {
			t.Errorf("%v; a subscriber hears before the disk has it: %v", err, !heard)
		}
	})
}

// A server whose disk fails gives no answer that may be wrong, and ends: a new
// start goes on from what is there.
func TestAServerWhoseDiskFails(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	dir := t.TempDir()
	db, err := sqlitedb.OpenOn(t.Context(), filepath.Join(dir, "slipway.db"), func(f *os.File) error {
		if broken.Load() {
			return syscall.EIO
		}
		return f.Sync()
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := ServeConfig{Addr: "127.0.0.1:0", Data: dir, Log: slog.New(slog.DiscardHandler)}
	cfg.defaults()
	m, err := newMachine(t.Context(), db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	token, err := m.firstToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listener, _, err := listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.run(t.Context(), listener) }()
	broken.Store(true)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listener.Addr().String()+"/v1/tokens", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	_ = db.Apply(t.Context(), func(*sqlitedb.Tx) error { return nil })
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Errorf("it was answered with %s", resp.Status)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server goes on")
	}
}
