package watchdog

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lookEvery is how often it is looked for what is still there.
const lookEvery = 20 * time.Millisecond

// End kills every process that has one of the marks, and comes back when none
// is left: two looks in succession have found none. The children of those and
// the groups that they lead go with them, since a program may hide its
// environment. What isn't this user's is left alone.
func End(ctx context.Context, marks ...string) error {
	if len(marks) == 0 {
		return nil
	}
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for quiet := 0; quiet < 2; {
		quiet++
		for _, p := range condemned(entries(), marks) {
			if p.kill() {
				quiet = 0
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// entry is a process, as /proc tells of it.
type entry struct {
	pid, parent, group int
	began              string // with pid it names one process, however often numbers are used again
}

// entries lists the processes that live. One that ends meanwhile is left out.
func entries() []entry {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	var out []entry
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if e, ok := look(pid); ok {
			out = append(out, e)
		}
	}
	return out
}

// look reads one process's line. Its second field, a name in parentheses, may
// hold anything.
func look(pid int) (entry, bool) {
	line, err := os.ReadFile(proc(pid, "stat"))
	if err != nil {
		return entry{}, false
	}
	_, rest, _ := strings.Cut(string(line[max(bytes.LastIndexByte(line, ')'), 0):]), " ")
	fields := strings.Fields(rest) // from the third on: state, parent, group, ...
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return entry{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return entry{}, false
	}
	group, err := strconv.Atoi(fields[2])
	return entry{pid: pid, parent: parent, group: group, began: fields[19]}, err == nil
}

func proc(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }

// marked says whether one of the variables is in a process's environment.
func marked(pid int, variables [][]byte) bool {
	environ, err := os.ReadFile(proc(pid, "environ"))
	if err != nil {
		return false // another user's, or gone
	}
	return slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(kv []byte) bool {
		return slices.ContainsFunc(variables, func(v []byte) bool { return bytes.HasPrefix(kv, v) })
	})
}

// condemned are those among all that have one of the marks, and what belongs
// to them; never this process.
func condemned(all []entry, marks []string) []entry {
	var variables [][]byte
	for _, m := range marks {
		variables = append(variables, []byte(variable(m)+"="))
	}
	hit := map[int]bool{}
	for _, e := range all {
		if e.pid != os.Getpid() && marked(e.pid, variables) {
			hit[e.pid] = true
		}
	}
	for grown := len(hit) > 0; grown; {
		grown = false
		for _, e := range all {
			if !hit[e.pid] && e.pid != os.Getpid() && (hit[e.parent] || hit[e.group]) {
				hit[e.pid], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(e entry) bool { return !hit[e.pid] })
}

// kill kills a process, and says whether it could.
func (e entry) kill() bool {
	p, err := os.FindProcess(e.pid) // from here on the number stands for this one
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }() // only a handle
	if now, ok := look(e.pid); !ok || now.began != e.began {
		return false
	}
	return p.Kill() == nil
}
