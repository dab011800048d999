package sqlitedb

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// disk brings commits to the disk: as SQLite would before it answers a COMMIT
// with synchronous=FULL, but beside the next ones, and once for all that were
// made meanwhile.
//
// A commit is in the write-ahead log, or a checkpoint has moved it into the
// database and brought that to the disk. So the log is all that must get there.
type disk struct {
	path  string // of the log
	bring func(*os.File) error

	committing sync.Mutex // held while a commit is made, so that none can be read that hasn't been counted
	count      int64

	mu     sync.Mutex // guards what follows
	turn   *sync.Cond // broadcast when busy ends
	busy   bool       // somebody syncs the log
	there  int64      // so many commits are on the disk
	broken error
	lost   atomic.Bool // broken is set

	log *os.File // who is busy has it; it stays the same file while the database is open

	fresh  chan struct{} // holds a word after a commit
	failed chan error    // holds broken
}

func newDisk(database string, bring func(*os.File) error) *disk {
	d := &disk{path: database + "-wal", bring: bring, fresh: make(chan struct{}, 1), failed: make(chan error, 1)}
	d.turn = sync.NewCond(&d.mu)
	return d
}

// errLost is the error of what would be committed after the disk has failed.
var errLost = errors.New("the disk has failed; nothing is committed any more")

// committed makes a commit and gives its number.
func (d *disk) committed(commit func() error) (int64, error) {
	if d.lost.Load() {
		return 0, errLost
	}
	d.committing.Lock()
	defer d.committing.Unlock()
	if err := commit(); err != nil {
		return 0, err
	}
	d.count++
	select {
	case d.fresh <- struct{}{}:
	default:
	}
	return d.count, nil
}

// newest is the number of the last commit that anybody can have read.
func (d *disk) newest() int64 {
	d.committing.Lock()
	defer d.committing.Unlock()
	return d.count
}

func (d *disk) settle() error { return d.has(d.newest()) }

// has returns when a commit is on the disk. Of those who wait one brings what
// has been committed by then, for all.
func (d *disk) has(commit int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.there < commit && d.broken == nil {
		if d.busy {
			d.turn.Wait()
			continue
		}
		d.busy = true
		d.mu.Unlock()
		newest := d.newest()
		err := d.sync()
		d.mu.Lock()
		d.busy = false
		if err != nil {
			d.broken = fmt.Errorf("bring what was committed to the disk: %w", err)
			d.lost.Store(true)
			d.failed <- d.broken
		} else {
			d.there = newest
		}
		d.turn.Broadcast()
	}
	if d.there >= commit {
		return nil
	}
	return d.broken
}

// sync is for one at a time.
func (d *disk) sync() error {
	if d.log == nil {
		f, err := os.OpenFile(d.path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		d.log = f
	}
	return d.bring(d.log)
}

// close is for who has settled, after the last commit.
func (d *disk) close() error {
	if d.log == nil {
		return nil
	}
	return d.log.Close()
}

// lazily is how long a commit that nobody waits for may not be on the disk.
const lazily = 20 * time.Millisecond

// keepUp brings to the disk what nobody waits for.
func (db *DB) keepUp() {
	for {
		select {
		case <-db.disk.fresh:
		case <-db.done:
			return
		}
		select {
		case <-time.After(lazily):
		case <-db.done:
			return
		}
		_ = db.disk.settle() // Failed tells it
	}
}
