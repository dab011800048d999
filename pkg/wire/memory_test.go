package wire

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestTheSoftLimitOfMemoryIsAShareOfWhatThereIs(t *testing.T) {
	t.Parallel()
	const v2, v1, machine = "sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes", "proc/meminfo"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"of the machine":                 {map[string]string{machine: "MemTotal: 1000000 kB\nMemFree: 5 kB\n"}, 614_400_000},
		"of the group":                   {map[string]string{v2: "1000000000\n", machine: "MemTotal: 9000000 kB\n"}, 600_000_000},
		"of a group without a limit":     {map[string]string{v2: "max\n", machine: "MemTotal: 1000000 kB\n"}, 614_400_000},
		"of an older group":              {map[string]string{v1: "1000000000\n"}, 600_000_000},
		"of an older one without":        {map[string]string{v1: "9223372036854771712\n", machine: "MemTotal: 1000000 kB\n"}, 614_400_000},
		"of little memory":               {map[string]string{v2: "1000000\n"}, minMemory},
		"of a system that says nothing":  {nil, 0},
		"of a system that says nonsense": {map[string]string{machine: "MemTotal: many kB\n"}, 0},
	} {
		files := fstest.MapFS{}
		for path, text := range c.files {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := softLimit(files); got != c.want {
			t.Errorf("%s: %d; want %d", name, got, c.want)
		}
	}
}

func TestMemoryIsFullPastAShareOfItsLimit(t *testing.T) {
	t.Parallel()
	const limit = 1000
	if full(850, limit) || !full(851, limit) {
		t.Errorf("of %d bytes 850 are full: %v, 851 are: %v; want the second alone", limit, full(850, limit), full(851, limit))
	}
	if full(1<<40, math.MaxInt64) {
		t.Error("without a limit memory is full")
	}
}
