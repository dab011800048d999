package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// longest is how long a file grows before it is written anew, in bytes.
const longest = 1 << 20

// Journal is a process's own file. It is for many goroutines. A nil one keeps
// nothing.
type Journal struct {
	name   string
	header header

	mu   sync.Mutex
	file *os.File // nil once there is none
	size int
	live []Entry
}

// Open begins the journal of a process in a folder. Without the machine's boot
// id there is none.
func Open(folder, id, server string) (*Journal, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of journals: %w", err)
	}
	j := &Journal{name: filepath.Join(folder, id), header: header{ID: id, Boot: boot, Server: server}}
	return j, j.rewrite()
}

func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the machine's boot id: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// forgotten is how long a file stays that this process can't read anything of.
const forgotten = 7 * 24 * time.Hour

// unfinished begins the name of a file that isn't a journal yet.
const unfinished = ".new-"

// rewrite writes a new file of what is under way, locked before anybody can
// find it. The caller holds the lock, or is alone.
func (j *Journal) rewrite() error {
	temporary := filepath.Join(filepath.Dir(j.name), unfinished+j.header.ID)
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("begin a journal: %w", err)
	}
	doc, err := json.Marshal(j.header)
	doc = append(doc, '\n')
	for _, e := range j.live {
		if err == nil {
			doc, err = appendLine(doc, line{Begun: &e})
		}
	}
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		_, err = f.Write(doc)
	}
	if err == nil {
		err = os.Rename(temporary, j.name)
	}
	if err != nil {
		_ = f.Close()            // the error before says more
		_ = os.Remove(temporary) // likewise
		return fmt.Errorf("write a journal: %w", err)
	}
	if j.file != nil {
		_ = j.file.Close() // it has no name any more
	}
	j.file, j.size = f, len(doc)
	return nil
}

func appendLine(doc []byte, l line) ([]byte, error) {
	text, err := json.Marshal(l)
	return append(append(doc, text...), '\n'), err
}

// Begin notes that a task begins now. If that can't be noted, the whole journal
// goes, for it would say that the task never began; if not even that can be
// done, the task mustn't begin.
func (j *Journal) Begin(e Entry) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.live = append(j.live, e)
	return j.write(line{Begun: &e})
}

// End notes that a task's result is known to the control plane.
func (j *Journal) End(h protocol.Held) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.live = slices.DeleteFunc(j.live, func(e Entry) bool { return e.Held == h })
	return j.write(line{Ended: &h})
}

// write appends a line. The caller holds the lock.
func (j *Journal) write(l line) error {
	if j.file == nil {
		return nil
	}
	doc, err := appendLine(nil, l)
	if err == nil {
		_, err = j.file.Write(doc)
	}
	j.size += len(doc)
	if err == nil && j.size > longest {
		err = j.rewrite()
	}
	if err == nil {
		return nil
	}
	if gone := j.drop(); gone != nil {
		return fault.New(fault.Unavailable, "the delegate can't note what it begins: %w", err)
	}
	return nil
}

// drop removes the file. The caller holds the lock.
func (j *Journal) drop() error {
	if err := os.Remove(j.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = j.file.Close() // it has no name any more
	j.file = nil
	return nil
}

// Remove removes the journal of a process that has said goodbye.
func (j *Journal) Remove() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	return j.drop()
}

// Left lists the processes that have gone without a goodbye to a server, the
// latest first, at most so many. Their files stay locked until they are
// forgotten or this process ends.
func Left(folder, server string, most int) []Gone {
	boot, err := bootID()
	if err != nil {
		return nil
	}
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil // no process had a journal
	}
	slices.SortFunc(list, func(a, b os.DirEntry) int { return cmp.Compare(modified(b), modified(a)) })
	var out []Gone
	for _, e := range list {
		name := filepath.Join(folder, e.Name())
		if len(out) == most || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if g, ok := left(name, header{ID: e.Name(), Boot: boot, Server: server}); ok {
			out = append(out, g)
		}
	}
	return out
}

func modified(e os.DirEntry) int64 {
	info, err := e.Info()
	if err != nil {
		return 0 // it has gone meanwhile
	}
	return info.ModTime().UnixNano()
}

// left reads the file of a process that has gone; false if it hasn't, or if
// that can't be known. One of another boot of this machine, or of another
// machine, says nothing.
func left(name string, want header) (Gone, bool) {
	f, err := os.Open(name)
	if err != nil {
		return Gone{}, false
	}
	g, ok := Gone{}, false
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && still(f, name) {
		g, ok = read(name, want)
	}
	if info, err := f.Stat(); !ok && err == nil && time.Since(info.ModTime()) > forgotten {
		_ = os.Remove(name) // whose it may be, no lease lasts that long
	}
	if !ok {
		_ = f.Close() // it was only read
		return Gone{}, false
	}
	g.Forget = func() {
		_ = os.Remove(name) // what stays is told of again, which changes nothing
		_ = f.Close()
	}
	return g, true
}

// still says whether an open file has its name: it may have been written anew.
func still(f *os.File, name string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(name)
	return err == nil && os.SameFile(held, now)
}

// read reads a file. Its last line may be cut: what it would say never began.
func read(name string, want header) (Gone, bool) {
	doc, err := os.ReadFile(name)
	if err != nil {
		return Gone{}, false
	}
	lines := bytes.Split(doc, []byte{'\n'})
	var first header
	if json.Unmarshal(lines[0], &first) != nil || first != want {
		return Gone{}, false
	}
	g := Gone{ID: first.ID}
	for _, text := range lines[1 : len(lines)-1] {
		var l line
		if json.Unmarshal(text, &l) != nil {
			return Gone{}, false
		}
		if l.Begun != nil {
			g.Begun = append(g.Begun, *l.Begun)
		}
		if l.Ended != nil {
			g.Begun = slices.DeleteFunc(g.Begun, func(e Entry) bool { return e.Held == *l.Ended })
		}
	}
	return g, true
}
