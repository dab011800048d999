package sqlitedb_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// power is a disk that keeps what a loss of power would leave of the
// write-ahead log: what was there when the last sync that has returned began.
type power struct {
	mu   sync.Mutex
	log  []byte
	told []int // rows that somebody was told of
	most int   // then it is lost
	lost func(log []byte, told []int)
}

func (p *power) bring(log *os.File) error {
	content, err := os.ReadFile(log.Name())
	if err != nil {
		return err
	}
	if err := log.Sync(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = content
	return nil
}

func (p *power) tell(row int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told = append(p.told, row); len(p.told) == p.most {
		p.lost(bytes.Clone(p.log), slices.Clone(p.told))
	}
}

// After a loss of power all is there that Write has answered, or Settle after
// Apply, and what isn't there is the end of the order of commits.
func TestNothingThatWasToldIsLostWithThePower(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 100
	dir := t.TempDir()
	path, after := filepath.Join(dir, "db"), filepath.Join(dir, "after")
	var told []int
	p := &power{most: 300, lost: func(log []byte, rows []int) {
		told = rows
		if err := os.WriteFile(after+"-wal", log, 0o600); err != nil {
			t.Error(err)
		}
	}}
	db, err := sqlitedb.OpenOn(t.Context(), path, p.bring)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), "power", []string{`CREATE TABLE row (n INTEGER PRIMARY KEY)`}); err != nil {
		t.Fatal(err)
	}
	main, err := os.ReadFile(path) // as it stays until the first checkpoint
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				n := i*writers + w
				insert := func(tx *sqlitedb.Tx) error {
					_, err := tx.Exec(`INSERT INTO row VALUES (?)`, n)
					return err
				}
				var err error
				switch i % 4 {
				case 0:
					err = db.Write(t.Context(), insert)
				case 1:
					err = db.Queue(insert)()
				case 2:
					err = db.Apply(t.Context(), insert)
				default:
					if err = db.Apply(t.Context(), insert); err == nil {
						err = db.Settle()
					}
				}
				if err != nil {
					t.Error(err)
				} else if i%4 == 0 || i%4 == 3 {
					p.tell(n)
				}
			}
		})
	}
	all.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(after, main, 0o600); err != nil || told == nil {
		t.Fatalf("%v; the power was lost after %d rows", err, len(told))
	}
	if db, err = sqlitedb.Open(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Read(t.Context(), func(tx *sqlitedb.Tx) error {
		var sound string
		if err := tx.QueryRow(`PRAGMA integrity_check`).Scan(&sound); err != nil || sound != "ok" {
			t.Errorf("the database is %q: %v", sound, err)
		}
		for _, n := range told {
			var found int
			if err := tx.QueryRow(`SELECT count(*) FROM row WHERE n = ?`, n).Scan(&found); err != nil || found == 0 {
				t.Errorf("row %d was told of and is lost: %v", n, err)
			}
		}
		var gaps int // each writer's rows come one after the other
		err := tx.QueryRow(`SELECT count(*) FROM row r WHERE n >= ? AND NOT EXISTS (SELECT 1 FROM row b WHERE b.n = r.n - ?)`, writers, writers).Scan(&gaps)
		if gaps > 0 {
			t.Errorf("%d rows are there without the one before", gaps)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// When what was committed can't be brought to the disk, everybody who waits for
// it hears so, nothing is committed after it, and the owner is told.
func TestADiskThatFails(t *testing.T) {
	t.Parallel()
	var broken error
	db, err := sqlitedb.OpenOn(t.Context(), filepath.Join(t.TempDir(), "db"), func(*os.File) error { return broken })
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), "test", []string{`CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)`}); err != nil {
		t.Fatal(err)
	}
	if err := db.Settle(); err != nil {
		t.Fatal(err)
	}
	row := func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`INSERT INTO t VALUES (NULL, '')`)
		return err
	}
	broken = syscall.EIO
	if err := db.Write(t.Context(), row); !errors.Is(err, syscall.EIO) {
		t.Errorf("a write gives %v", err)
	}
	if err := <-db.Failed(); !errors.Is(err, syscall.EIO) {
		t.Errorf("the owner hears %v", err)
	}
	broken = nil // what it says now means nothing: what it has lost it doesn't try again
	if err := db.Settle(); !errors.Is(err, syscall.EIO) {
		t.Errorf("settling gives %v", err)
	}
	before := count(t, db)
	if err := db.Apply(t.Context(), row); err == nil || count(t, db) != before {
		t.Errorf("a commit after it gives %v, and there are %d rows after %d", err, count(t, db), before)
	}
	if err := db.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("closing gives %v", err)
	}
}

// What is committed and not on disk yet is read, and settled for who asks.
func TestApplyIsReadBeforeItIsOnDisk(t *testing.T) {
	t.Parallel()
	var held chan struct{} // closed when syncs may end
	var mu sync.Mutex
	db, err := sqlitedb.OpenOn(t.Context(), filepath.Join(t.TempDir(), "db"), func(f *os.File) error {
		mu.Lock()
		gate := held
		mu.Unlock()
		if gate != nil {
			<-gate
		}
		return f.Sync()
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context(), "test", []string{`CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)`}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	held = make(chan struct{})
	mu.Unlock()
	for range 3 {
		err := db.Apply(t.Context(), func(tx *sqlitedb.Tx) error {
			_, err := tx.Exec(`INSERT INTO t VALUES (NULL, '')`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, db); n != 3 {
		t.Errorf("%d rows are read; want 3", n)
	}
	settled := make(chan error)
	for range 2 {
		go func() { settled <- db.Settle() }()
	}
	select {
	case err := <-settled:
		t.Errorf("settled before the disk had it: %v", err)
	default:
	}
	close(held)
	for range 2 {
		if err := <-settled; err != nil {
			t.Error(err)
		}
	}
}
