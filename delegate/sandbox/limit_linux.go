package sandbox

import (
	"os"
	"syscall"
)

// maxFile bounds each file that a child writes, in bytes.
const maxFile = 512 << 20

// limit bounds the memory of this process and of what it starts: the kernel
// gives no more. Should the machine itself run out of memory, this process is
// the one to go.
func limit(memory int64) error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // where there is such a file
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: maxFile, Max: maxFile}); err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: uint64(memory), Max: uint64(memory)}) //nolint:gosec // no program has a limit below zero
}
