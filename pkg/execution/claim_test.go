package execution

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// moody is a master key that opens nothing while it has an error.
type moody struct {
	secret.Key
	err error
}

func (m *moody) Unwrap(ctx context.Context, wrapped, bound []byte) ([]byte, error) {
	if m.err != nil {
		return nil, m.err
	}
	return m.Key.Unwrap(ctx, wrapped, bound)
}

// answers is a Runner that takes answers in, or can't.
type answers struct {
	statemachine.Runner
	err error
}

func (a answers) Succeed(context.Context, string, json.RawMessage) error { return a.err }

// bells is a Waker that counts.
type bells struct {
	engine.Waker
	rung int
}

func (b *bells) Wake(context.Context, ref.Scope) { b.rung++ }

// A secret that can't be opened at the moment costs no step, and nothing that
// was claimed with it is lost.
func TestAClaimWhoseSecretsCannotBeOpened(t *testing.T) {
	t.Parallel()
	throttled := errors.New("ThrottlingException: rate exceeded")
	tests := []struct {
		name   string
		key    error // of the master key
		claims int   // earlier ones of the task
		runner error // when a result is told
		alone  bool  // no other task is claimed with it
		status store.TaskStatus
		code   fault.Code // of the claim's error
		rung   int
	}{
		{name: "what may pass gives it back", key: throttled, status: store.TaskOpen, rung: 1},
		{name: "so does what can't be reached", key: fault.New(fault.Unavailable, "no answer"), status: store.TaskOpen, rung: 1},
		{name: "a delegate that gets nothing waits", key: throttled, alone: true, status: store.TaskOpen, code: fault.Unavailable},
		{name: "it isn't tried for ever", key: throttled, claims: mostClaims - 1, status: store.TaskDone},
		{name: "a damaged secret ends it", key: secret.ErrDamaged, status: store.TaskDone},
		{name: "one that mustn't be read ends it", key: fault.New(fault.Forbidden, "no"), alone: true, status: store.TaskDone},
		{name: "its end can't be told", key: secret.ErrDamaged, runner: errors.New("no answer"), status: store.TaskDone},
		{name: "all is well", status: store.TaskClaimed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, key, rung := claiming(t, tt.runner)
			scope := ref.Scope{Account: "acme", Org: "default", Project: "web"}
			d := store.Delegate{ID: "d1", Name: "d1", Scope: ref.Scope{Account: "acme"}, Kinds: []task.Kind{task.KindShell}}
			name, err := s.Secret.Keep(t.Context(), scope, "x", "s3cr3t")
			must(t, err)
			for _, open := range []store.Task{{ID: "locked", Secrets: map[string]string{"p": name}}, {ID: "plain"}} {
				if open.ID == "plain" && tt.alone {
					continue
				}
				open.Scope, open.Kind, open.CreatedAt, open.Payload, open.Token = scope, task.KindShell, s.Now(), []byte(`{}`), "token"
				_, err := s.Store.CreateTask(t.Context(), open)
				must(t, err)
			}
			for fence := range tt.claims {
				_, err := s.Store.ClaimTasks(t.Context(), d.ID, 1, []task.ID{"locked"}, s.Now().Add(s.Lease))
				must(t, err)
				must(t, s.Store.ReleaseTask(t.Context(), "locked", d.ID, int64(fence)+1))
			}
			key.err = tt.key

			got, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 5})
			if tt.code == "" && err != nil || tt.code != "" && !fault.Is(err, tt.code) {
				t.Errorf("the claim's error is %v, want the code %q", err, tt.code)
			}
			want := []string{"plain"}
			switch {
			case tt.alone:
				want = nil
			case tt.status == store.TaskClaimed:
				want = []string{"locked", "plain"}
			}
			var ids []string
			for _, a := range got {
				ids = append(ids, string(a.ID))
			}
			if diff := cmp.Diff(want, ids); diff != "" {
				t.Errorf("the delegate gets (-want +got):\n%s", diff)
			}
			locked, err := s.Store.Task(t.Context(), "locked")
			must(t, err)
			if locked.Status != tt.status || rung.rung != tt.rung {
				t.Errorf("the task is %s and %d were woken; want %s and %d", locked.Status, rung.rung, tt.status, tt.rung)
			}
			if tt.status == store.TaskDone && !strings.Contains(locked.Result.Message, tt.key.Error()) {
				t.Errorf("its result says %q, want %q in it", locked.Result.Message, tt.key)
			}
		})
	}
}

// claiming is a Tasks with what a claim needs.
func claiming(t *testing.T, runner error) (*Tasks, *moody, *bells) {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	kept, err := sqlite.New(t.Context(), db)
	must(t, err)
	key, err := secret.LoadKey(filepath.Join(t.TempDir(), "key"))
	must(t, err)
	master, rung := &moody{Key: key}, &bells{}
	noon := func() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }
	return NewTasks(TasksConfig{
		Store: kept.Store, Secret: secret.New(master, kept, noon), Lease: time.Minute, Now: noon,
		Ledger: ledger.New(ledger.Config{Store: kept.Store, Now: noon}), Log: slog.New(slog.DiscardHandler),
		Engine: engine.NewHandler(engine.Config{Store: kept.Store, Runner: answers{err: runner}, Waker: rung, Now: noon}),
	}), master, rung
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
