package secret_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

func token() ref.Ref {
	return ref.Ref{Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}, ID: "token"}
}

func tokenKey() store.EntityKey {
	return store.EntityKey{Scope: token().Scope, Kind: ref.Secret, ID: token().ID}
}

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func loadKey(t *testing.T, path string) secret.Key {
	t.Helper()
	key, err := secret.LoadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// setup gives a Keeper over a real store.
func setup(t *testing.T) (*secret.Keeper, store.Store) {
	t.Helper()
	dir := t.TempDir()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(dir, "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return secret.New(loadKey(t, filepath.Join(dir, "key")), s, now), s.Store
}

func TestRevealGivesWhatWasPut(t *testing.T) {
	t.Parallel()
	k, s := setup(t)
	for _, value := range []string{"hunter2", "", "line 1\nline 2\n", strings.Repeat("\x00\xff", 50_000)} {
		if err := k.Put(t.Context(), token(), value); err != nil {
			t.Fatal(err)
		}
		got, err := k.Reveal(t.Context(), secret.Name(token()))
		if err != nil || got != value {
			t.Fatalf("revealed %d bytes and %v, want %d bytes", len(got), err, len(value))
		}
	}
	kept, err := s.Secret(t.Context(), tokenKey())
	if err != nil {
		t.Fatal(err)
	}
	if !kept.UpdatedAt.Equal(now()) {
		t.Errorf("kept at %v, want %v", kept.UpdatedAt, now())
	}
}

func TestStoreHoldsNoValue(t *testing.T) {
	t.Parallel()
	k, s := setup(t)
	if err := k.Put(t.Context(), token(), "hunter2"); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Secret(t.Context(), tokenKey())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(kept.Ciphertext, []byte("hunter2")) {
		t.Errorf("the value can be read in %q", kept.Ciphertext)
	}
}

func TestKeepGivesANameForReveal(t *testing.T) {
	t.Parallel()
	k, _ := setup(t)
	name, err := k.Keep(t.Context(), token().Scope, "x1/n:1/output.outputVariables.token", "hunter2")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.Reveal(t.Context(), name); err != nil || got != "hunter2" {
		t.Errorf("revealed %q and %v", got, err)
	}
	// An output can't be read as a secret of the same id.
	if name, err = k.Keep(t.Context(), token().Scope, token().ID, "hunter3"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Reveal(t.Context(), secret.Name(token())); !fault.Is(err, fault.NotFound) {
		t.Errorf("%s is found under %s: %v", name, secret.Name(token()), err)
	}
}

func TestRevealExplains(t *testing.T) {
	t.Parallel()
	k, s := setup(t)
	_, err := k.Reveal(t.Context(), secret.Name(token()))
	if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "doesn't exist") {
		t.Errorf("a secret that isn't there: %v", err)
	}
	e := store.Entity{Key: tokenKey(), Name: "Token", YAML: []byte("secret: {}\n")}
	if _, err := s.SaveEntity(t.Context(), e, audit.Record{Scope: token().Scope}); err != nil {
		t.Fatal(err)
	}
	_, err = k.Reveal(t.Context(), secret.Name(token()))
	if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "harnessSecretManager") {
		t.Errorf("a secret of another manager: %v", err)
	}
	for _, name := range []string{"", "token", "secret:acme", "secret:acme:", "secret:a/b/c/d:x", "pipeline:acme:x"} {
		if _, err := k.Reveal(t.Context(), name); err == nil {
			t.Errorf("name %q is accepted", name)
		}
	}
}

func TestOpenRefusesEveryChangedByte(t *testing.T) {
	t.Parallel()
	k := secret.New(loadKey(t, filepath.Join(t.TempDir(), "key")), nil, now)
	sealed, err := k.Seal(t.Context(), tokenKey(), []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := k.Open(t.Context(), tokenKey(), changed); err == nil {
			t.Errorf("byte %d of %d was changed and the value still opens", i, len(sealed))
		}
		if _, err := k.Open(t.Context(), tokenKey(), sealed[:i]); err == nil {
			t.Errorf("the first %d of %d bytes open", i, len(sealed))
		}
	}
}

func TestOpenRefusesAnotherOwner(t *testing.T) {
	t.Parallel()
	k := secret.New(loadKey(t, filepath.Join(t.TempDir(), "key")), nil, now)
	sealed, err := k.Seal(t.Context(), tokenKey(), []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*store.EntityKey){
		"account": func(k *store.EntityKey) { k.Scope.Account = "evil" },
		"org":     func(k *store.EntityKey) { k.Scope.Org = "" },
		"project": func(k *store.EntityKey) { k.Scope.Project = "other" },
		"kind":    func(k *store.EntityKey) { k.Kind = "output" },
		"id":      func(k *store.EntityKey) { k.ID = "other" },
		"env":     func(k *store.EntityKey) { k.Env = "dev" },
	} {
		key := tokenKey()
		change(&key)
		if _, err := k.Open(t.Context(), key, sealed); err == nil {
			t.Errorf("the value opens for another %s", name)
		}
	}
}

func TestOpenNamesTheMissingKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine, other := loadKey(t, filepath.Join(dir, "mine")), loadKey(t, filepath.Join(dir, "other"))
	sealed, err := secret.New(mine, nil, now).Seal(t.Context(), tokenKey(), []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = secret.New(other, nil, now).Open(t.Context(), tokenKey(), sealed)
	if err == nil || !strings.Contains(err.Error(), mine.String()) || !strings.Contains(err.Error(), other.String()) {
		t.Errorf("the error doesn't name %s and %s: %v", mine, other, err)
	}
}

func TestSealTwiceGivesDifferentBytes(t *testing.T) {
	t.Parallel()
	k := secret.New(loadKey(t, filepath.Join(t.TempDir(), "key")), nil, now)
	one, err1 := k.Seal(t.Context(), tokenKey(), []byte("hunter2"))
	two, err2 := k.Seal(t.Context(), tokenKey(), []byte("hunter2"))
	if err1 != nil || err2 != nil || bytes.Equal(one, two) {
		t.Errorf("sealed twice: equal %t, errors %v and %v", bytes.Equal(one, two), err1, err2)
	}
}

func TestLoadKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	var wg sync.WaitGroup
	ids := make([]string, 16)
	for i := range ids { // several at the first start: one key stays
		wg.Go(func() {
			if key, err := secret.LoadKey(path); err == nil {
				ids[i] = key.String()
			}
		})
	}
	wg.Wait()
	want := loadKey(t, path).String()
	for _, id := range ids {
		if id != want {
			t.Errorf("one start got %q, later ones get %q", id, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Errorf("the key file: %v, %v; want 32 bytes of mode 0600", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".key-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestLoadKeyRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
	}{
		"readable by others": {strings.Repeat("k", 32), 0o644},
		"too short":          {"k", 0o600},
		"empty":              {"", 0o600},
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(c.content), c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secret.LoadKey(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a key file that is %s: %v", name, err)
		}
	}
	if _, err := secret.LoadKey(filepath.Join(t.TempDir(), "none", "key")); err == nil {
		t.Error("a key file in a directory that isn't there is made")
	}
}

func TestPrintingShowsNoKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	raw := []byte(strings.Repeat("K", 32))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	k := secret.New(loadKey(t, path), nil, now)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{k, *k, loadKey(t, path)} {
			got := fmt.Sprintf(verb, v)
			for _, bad := range []string{"KKKK", "4b4b4b4b", "75 75 75 75"} {
				if strings.Contains(got, bad) {
					t.Errorf("%s prints the key: %s", verb, got)
				}
			}
		}
	}
}

// A secret of another project isn't opened, whatever an execution asks for.
func TestSecretsOfOtherScopesStayShut(t *testing.T) {
	t.Parallel()
	k, _ := setup(t)
	if err := k.Put(t.Context(), token(), "value"); err != nil {
		t.Fatal(err)
	}
	name := secret.Name(token())
	got, err := k.RevealAll(t.Context(), token().Scope, map[string]string{"⟦1⟧": name})
	if err != nil || got["⟦1⟧"] != "value" {
		t.Errorf("in its own scope: %v, %v", got, err)
	}
	for _, from := range []ref.Scope{{Account: "acme", Org: "default", Project: "other"}, {Account: "acme", Org: "default"}, {Account: "evil"}} {
		if _, err := k.RevealAll(t.Context(), from, map[string]string{"⟦1⟧": name}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("from %s: %v", from, err)
		}
	}
}
