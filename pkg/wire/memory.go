package wire

import (
	"bufio"
	"io/fs"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// memoryShare is how much of the memory that a process may have its heap takes
// before the collector works harder, in percent. The rest is for what isn't in
// the heap: SQLite's caches, stacks, programs that the delegate starts.
const memoryShare = 60

// minMemory is the least soft limit: below it the collector would only run.
const minMemory = 128 << 20

// SoftMemory gives what a burst has taken back to the machine: it sets the
// soft limit of this process from the memory of its control group, or of the
// machine, and tells it. GOMEMLIMIT in the environment wins; the limit that it
// has set is told then.
func SoftMemory(env func(string) string) int64 {
	if env("GOMEMLIMIT") != "" {
		return debug.SetMemoryLimit(-1)
	}
	limit := softLimit(os.DirFS("/"))
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	return limit
}

// softLimit is the share of the least memory that any of the files tells; 0 if
// none does.
func softLimit(files fs.FS) int64 {
	var least int64
	for _, found := range []int64{group(files), machineMemory(files)} {
		if found > 0 && (least == 0 || found < least) {
			least = found
		}
	}
	if least == 0 {
		return 0
	}
	return max(least/100*memoryShare, minMemory)
}

// group is the limit of the control group, of version 2 or 1; 0: there is none.
func group(files fs.FS) int64 {
	for _, name := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			return n // "max" is no number
		}
	}
	return 0
}

// machineMemory is what the machine has, e.g. "MemTotal:  24576000 kB"; 0 where
// nothing tells it.
func machineMemory(files fs.FS) int64 {
	text, err := fs.ReadFile(files, "proc/meminfo")
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 3 && words[0] == "MemTotal:" {
			kb, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

// fullShare is how much of the soft limit may be in use, in percent, before what
// takes much is put off: beyond it the collector does little else than run.
const fullShare = 85

// memoryFull says whether hardly any memory is left of the soft limit: by what
// was in use when the collector ran last.
func memoryFull() bool {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 || sample[1].Value.Kind() != metrics.KindUint64 {
		return false
	}
	return full(sample[0].Value.Uint64(), sample[1].Value.Uint64())
}

func full(live, limit uint64) bool { return live > limit/100*fullShare }
