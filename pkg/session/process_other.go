//go:build !linux

package session

import (
	"fmt"
	"os"
)

// secretFile gives a text as a file that has no name any more.
func secretFile(text string) (*os.File, error) {
	f, err := os.CreateTemp("", "slipway-script-")
	if err != nil {
		return nil, fmt.Errorf("keep the script: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close() // the first error counts
		return nil, fmt.Errorf("keep the script: %w", err)
	}
	if _, err := f.WriteString(text); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		_ = f.Close() // likewise
		return nil, fmt.Errorf("keep the script: %w", err)
	}
	return f, nil
}

func hide() {}

// Reserve does nothing here.
func Reserve() {}
