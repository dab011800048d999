package sqlitedb_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// smallDisk is a file system of its own with little room.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("only root can mount a small file system: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill takes all the room, and gives what gives it back.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := bytes.Repeat([]byte("x"), 4096); ; {
		if _, err := f.Write(block); err != nil {
			return func() {
				if err := os.Remove(name); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// A disk that is full is told as that, nothing of what was saved is lost, what
// must be saved waits, and all goes on once there is room.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	db, err := sqlitedb.Open(t.Context(), filepath.Join(dir, "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	t.Cleanup(func() {
		if !closed {
			_ = db.Close()
		}
	})
	if err := db.Migrate(t.Context(), "test", []string{`CREATE TABLE t (k TEXT PRIMARY KEY, v BLOB)`}); err != nil {
		t.Fatal(err)
	}
	put := func(key string, size int) func(*sqlitedb.Tx) error {
		return func(tx *sqlitedb.Tx) error {
			_, err := tx.Exec(`INSERT INTO t VALUES (?, ?)`, key, make([]byte, size))
			return err
		}
	}
	if err := db.Write(t.Context(), put("before", 1000)); err != nil {
		t.Fatal(err)
	}
	free := fill(t, dir)
	for range 3 {
		if err := db.Write(t.Context(), put("refused", 100<<10)); !fault.Is(err, fault.StorageFull) {
			t.Fatalf("a full disk gives %v; want STORAGE_FULL", err)
		}
	}
	patient := make(chan error, 1)
	wait := db.QueuePatiently(put("patient", 100<<10))
	go func() { patient <- wait() }()
	for range 3 { // beside it, in its group or after it
		if err := db.Write(t.Context(), put("refused", 100<<10)); !fault.Is(err, fault.StorageFull) {
			t.Fatalf("beside what waits: %v; want STORAGE_FULL", err)
		}
	}
	select {
	case err := <-patient:
		t.Fatalf("what must be saved ended with %v on a full disk", err)
	default:
	}
	free()
	select {
	case err := <-patient:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("there is room again, and what waits isn't saved")
	}
	if err := db.Write(t.Context(), put("after", 1000)); err != nil {
		t.Fatal(err)
	}
	closed = true
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sqlitedb.Open(t.Context(), filepath.Join(dir, "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	var n int
	err = again.Read(t.Context(), func(tx *sqlitedb.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM t WHERE k IN ('before', 'patient', 'after')`).Scan(&n)
	})
	if err != nil || n != 3 {
		t.Errorf("there are %d rows, %v; want the three that were saved", n, err)
	}
}
