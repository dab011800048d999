package manifest

import (
	"io"
	"os"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// What one path of a manifest or of values may bring. All of it is in memory
// at once, and rendered in a process that has not much more.
const (
	maxFile  = 16 << 20 // bytes of a file
	maxTotal = 64 << 20 // of all files
	maxFiles = 10_000
)

// size counts what was read.
type size struct{ files, bytes int }

// read reads a file that people know by a name.
func (s *size) read(path, name string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", err
	}
	s.files++
	s.bytes += len(text)
	switch {
	case len(text) > maxFile:
		return "", tooLarge("%s has more than %d MiB", name, maxFile>>20)
	case s.files > maxFiles:
		return "", tooLarge("the folder has more than %d YAML files", maxFiles)
	case s.bytes > maxTotal:
		return "", tooLarge("the folder's YAML files have more than %d MiB", maxTotal>>20)
	}
	return string(text), nil
}

func tooLarge(format string, args ...any) error {
	return fault.New(fault.TooLarge, format, args...).Causing(fault.ResourceLimitsFailure, fault.Unknown)
}
