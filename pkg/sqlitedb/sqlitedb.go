// Package sqlitedb is one SQLite file with a single writer that commits in
// groups: many goroutines ask, one transaction answers them all.
//
// A group is committed first, when every reader of this process sees it, and
// brought to the disk when somebody waits for that, with all that has been
// committed since the last time, while the next group is committed already.
// The order of both is the same: a loss of power takes an end off what was
// committed, never anything that Write has answered or Settle has waited for.
//
// It knows no tables. pkg/store/sqlite and pkg/asl each bring their own and
// share one file, so that their commits share fsyncs too.
package sqlitedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/share"
)

// maxGroup bounds one transaction, so that its first caller isn't kept
// waiting by a stream of later ones: at some 20 µs a function this is 10 ms.
const maxGroup = 512

// readers is how many connections read at once. Reads are short and the
// machine small; more would only cost memory for page caches.
const readers = 4

// ErrClosed is the error of a call after Close.
var ErrClosed = errors.New("the database is closed")

// IsConflict says whether the file refused a row: it has one of the same key
// already, or a column that may not be as it was given. The transaction, or
// its part, was undone; the file is well.
func IsConflict(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_CONSTRAINT
}

// DB is an open file. It is for many goroutines.
type DB struct {
	lock    *os.File
	writer  *conn
	turns   *share.Places // at reads
	reads   chan *conn
	soon    chan *conn // for ReadSoon
	pool    *sql.DB
	queue   chan *write
	closing chan struct{}
	once    sync.Once
	done    chan struct{}
	disk    *disk
}

// write is a function on its way through the writer.
type write struct {
	fn     func(*Tx) error
	err    error
	commit int64         // its number
	done   chan struct{} // closed once it is committed, or isn't
	// patient ones wait for room on the disk; others are told that there is none.
	patient bool
}

// lookForRoom is how often writes that wait for room on the disk are tried.
const lookForRoom = time.Second

// Open opens or makes a database file. Only one process may have it open; for
// another one the error names the file.
func Open(ctx context.Context, path string) (*DB, error) { return OpenOn(ctx, path, dataSync) }

// OpenOn is Open with another way to bring a file to the disk, for tests of
// what isn't there yet.
func OpenOn(ctx context.Context, path string, bring func(*os.File) error) (*DB, error) {
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	db := &DB{
		lock: lock, turns: share.New(readers, readers-1, 0), reads: make(chan *conn, readers), soon: make(chan *conn, 1), queue: make(chan *write, maxGroup),
		closing: make(chan struct{}), done: make(chan struct{}), disk: newDisk(path, bring),
	}
	if err := private(path); err != nil {
		return nil, errors.Join(err, unlockFile(lock))
	}
	if err := db.connect(ctx, path); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), unlockFile(lock))
	}
	go db.writeLoop()
	go db.keepUp()
	return db, nil
}

// private makes the file before SQLite does, so that only its owner can read
// it; the files beside it get the same mode.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	return f.Close()
}

func (db *DB) connect(ctx context.Context, path string) error {
	q := url.Values{"_pragma": {
		// NORMAL leaves it to disk when a commit gets there; SQLite still sees to it
		// that a checkpoint loses nothing.
		"journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(10000)", "foreign_keys(1)",
		"temp_store(MEMORY)", "cache_size(-8000)", "wal_autocheckpoint(4000)",
	}}
	db.pool = sql.OpenDB(connector{dsn: "file:" + path + "?" + q.Encode()})
	db.pool.SetMaxOpenConns(1 + readers + 1) // the writer, those that read, and the one of ReadSoon
	var err error
	if db.writer, err = newConn(ctx, db.pool); err != nil {
		return errors.Join(err, db.pool.Close())
	}
	for i := range readers + 1 {
		c, err := newConn(ctx, db.pool)
		if err != nil {
			return errors.Join(err, db.pool.Close())
		}
		if _, err := c.exec("PRAGMA query_only = 1"); err != nil {
			return errors.Join(err, db.pool.Close())
		}
		if i == readers {
			db.soon <- c
			break
		}
		db.reads <- c
	}
	return nil
}

// connector opens connections without the global registry of drivers.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return &sqlite.Driver{} }

// lockFile takes the lock that keeps a second process out. The kernel drops
// it when the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another process has the database open: %s is locked", path), f.Close())
	}
	return f, nil
}

// unlockFile gives the lock back at once. Closing alone does that when the last
// copy is closed, and a child process that is about to begin its program has one.
func unlockFile(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// Write runs fn in a transaction and returns when that is on disk. When fn
// returns an error, nothing of what it did is kept and that error is returned.
func (db *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	w := &write{fn: fn, done: make(chan struct{})}
	if err := db.enqueue(w)(); err != nil { // once queued it will be done; giving up would hide a commit
		return err
	}
	return db.disk.has(w.commit)
}

// Apply is Write that doesn't wait for the disk: when it returns, all readers
// of this process see what fn did, and whatever is written from then on comes
// after it on the disk, too. A loss of power can take it back, so nothing that
// follows from it may leave the process before Settle has returned.
func (db *DB) Apply(ctx context.Context, fn func(tx *Tx) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return db.Queue(fn)()
}

// Queue is Apply in two parts: fn has its place in the order of commits when
// Queue returns, and is committed when the function that it gives returns.
func (db *DB) Queue(fn func(tx *Tx) error) (wait func() error) {
	return db.enqueue(&write{fn: fn, done: make(chan struct{})})
}

// Settle returns when all that can be read by now is on the disk.
func (db *DB) Settle() error { return db.disk.settle() }

// Failed gives the error of a disk to which commits couldn't be brought. What
// is there can't be known then, so nothing is committed any more: whoever
// opened the database must open it again.
func (db *DB) Failed() <-chan error { return db.disk.failed }

// QueuePatiently is Queue for what must be committed: where the disk is full,
// fn is tried until there is room again, before all that came after it.
func (db *DB) QueuePatiently(fn func(tx *Tx) error) (wait func() error) {
	return db.enqueue(&write{fn: fn, done: make(chan struct{}), patient: true})
}

func (db *DB) enqueue(w *write) (wait func() error) {
	select {
	case <-db.closing:
		return func() error { return ErrClosed }
	case db.queue <- w:
	}
	return func() error {
		select {
		case <-w.done:
			return w.err
		case <-db.done:
		}
		select {
		case <-w.done:
			return w.err
		default:
			return ErrClosed
		}
	}
}

// writeLoop is the only user of the writer's connection.
func (db *DB) writeLoop() {
	defer close(db.done)
	var kept []*write // they wait for room on the disk, oldest first
	for {
		var again <-chan time.Time
		if len(kept) > 0 {
			again = time.After(lookForRoom)
		}
		select {
		case w := <-db.queue:
			kept = db.commit(db.gather(append(kept, w)))
		case <-again:
			kept = db.commit(kept)
		case <-db.closing:
			for {
				select {
				case w := <-db.queue:
					kept = db.commit(db.gather(append(kept, w)))
				default:
					db.commit(kept) // what still can't be written hears that the database is closed
					return
				}
			}
		}
	}
}

// gather takes what is queued by now; it never waits for more.
func (db *DB) gather(group []*write) []*write {
	for len(group) < maxGroup {
		select {
		case w := <-db.queue:
			group = append(group, w)
		default:
			return group
		}
	}
	return group
}

// commit runs a group in one transaction, and gives those of its functions
// that wait for room on the disk. Savepoints are opened only for a group,
// because a function that is alone is rolled back with its transaction.
func (db *DB) commit(group []*write) (kept []*write) {
	if len(group) == 0 {
		return nil
	}
	number, err := db.run(group)
	err = full(err)
	for _, w := range group {
		w.commit = number
		if none := fault.Is(err, fault.StorageFull); none && w.patient {
			w.err = nil
			kept = append(kept, w)
			continue
		}
		if w.err == nil {
			w.err = err
		}
		close(w.done)
	}
	return kept
}

// full gives the error of a disk without room a code.
func full(err error) error {
	var broken *sqlite.Error
	if !errors.As(err, &broken) {
		return err
	}
	code := broken.Code()
	if code&0xff == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR_WRITE || code == sqlite3.SQLITE_IOERR_FSYNC || code == sqlite3.SQLITE_IOERR_SHMSIZE || code == sqlite3.SQLITE_IOERR_SHMOPEN {
		return fault.New(fault.StorageFull, "the disk of the server's data folder has no room left: %w", err)
	}
	return err
}

// exhausted says whether a function has failed for want of room, which may
// have ended the whole transaction.
func exhausted(err error) bool { return fault.Is(full(err), fault.StorageFull) }

// run gives the number of the group's commit.
func (db *DB) run(group []*write) (number int64, err error) {
	if _, err := db.writer.exec("BEGIN IMMEDIATE"); err != nil {
		return 0, fmt.Errorf("begin: %w", err)
	}
	tx := &Tx{conn: db.writer}
	if len(group) == 1 {
		if group[0].err = group[0].fn(tx); group[0].err != nil {
			tx.then = nil
			if exhausted(group[0].err) {
				err := group[0].err
				_, _ = db.writer.exec("ROLLBACK") // SQLite may have done it
				return 0, err
			}
			_, err := db.writer.exec("ROLLBACK")
			return 0, err
		}
	}
	for _, w := range group {
		if len(group) == 1 {
			break
		}
		if err := db.savepoint(tx, w); err != nil {
			_, rollback := db.writer.exec("ROLLBACK")
			if exhausted(err) {
				return 0, err // SQLite may have rolled back by itself
			}
			return 0, errors.Join(err, rollback)
		}
	}
	number, err = db.disk.committed(func() error {
		_, err := db.writer.exec("COMMIT")
		return err
	})
	if err != nil {
		_, _ = db.writer.exec("ROLLBACK") // SQLite may have rolled back by itself, as it does when the disk is full
		return 0, fmt.Errorf("commit: %w", err)
	}
	for _, then := range tx.then {
		then()
	}
	return number, nil
}

// savepoint runs one function of a group so that its failure undoes its own
// changes only.
func (db *DB) savepoint(tx *Tx, w *write) error {
	if _, err := db.writer.exec("SAVEPOINT w"); err != nil {
		return fmt.Errorf("open savepoint: %w", err)
	}
	before := len(tx.then)
	if w.err = w.fn(tx); w.err != nil {
		tx.then = tx.then[:before]
		if exhausted(w.err) {
			return w.err
		}
		if _, err := db.writer.exec("ROLLBACK TO w"); err != nil {
			return fmt.Errorf("undo to savepoint: %w", err)
		}
	}
	if _, err := db.writer.exec("RELEASE w"); err != nil {
		return fmt.Errorf("release savepoint: %w", err)
	}
	return nil
}

// Read runs fn over a consistent view of what has been committed, unless ctx
// has ended. Those whose work it is (share.Who) take turns, and nobody reads
// with all connections: however many pages of lists one asks for, another
// waits for one of them.
func (db *DB) Read(ctx context.Context, fn func(tx *Tx) error) error {
	leave, err := db.turns.Enter(ctx, share.Who(ctx))
	if err != nil {
		return err
	}
	defer leave()
	return db.read(ctx, db.reads, fn)
}

// ReadSoon is Read for who keeps others waiting meanwhile, as who has a lock
// does: it has a connection of its own, and doesn't wait for however many long
// reads have come before it. fn is short.
func (db *DB) ReadSoon(ctx context.Context, fn func(tx *Tx) error) error {
	return db.read(ctx, db.soon, fn)
}

func (db *DB) read(ctx context.Context, from chan *conn, fn func(tx *Tx) error) error {
	if err := context.Cause(ctx); err != nil { // of several cases that are ready select takes any
		return err
	}
	var c *conn
	select {
	case c = <-from:
	case <-db.closing:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { from <- c }()
	return fn(&Tx{conn: c})
}

// Close waits for what is queued and closes the file.
func (db *DB) Close() error {
	var err error
	db.once.Do(func() {
		close(db.closing)
		<-db.done
		err = db.disk.settle()
		for range readers { // a read under way ends first
			err = errors.Join(err, (<-db.reads).close())
		}
		err = errors.Join(err, (<-db.soon).close())
		// The writer is the last, because the last one moves what is in the log into
		// the database.
		err = errors.Join(err, db.writer.close(), db.pool.Close(), db.disk.close(), unlockFile(db.lock))
	})
	return err
}

// Migrate brings an owner's tables up to date: each statement runs once, in
// order, ever. Statements may only be appended to the list.
func (db *DB) Migrate(ctx context.Context, owner string, statements []string) error {
	return db.Write(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(`CREATE TABLE IF NOT EXISTS migrations (owner TEXT PRIMARY KEY, done INTEGER NOT NULL)`); err != nil {
			return err
		}
		var done int
		err := tx.QueryRow(`SELECT done FROM migrations WHERE owner = ?`, owner).Scan(&done)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if done > len(statements) {
			return fmt.Errorf("the database's tables of %s are of a newer version: %d steps, this program knows %d", owner, done, len(statements))
		}
		for i, s := range statements[done:] {
			if _, err := tx.Exec(s); err != nil {
				return fmt.Errorf("migration %d of %s: %w", done+i+1, owner, err)
			}
		}
		_, err = tx.Exec(`INSERT INTO migrations VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET done = excluded.done`, owner, len(statements))
		return err
	})
}
