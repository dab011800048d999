//go:build !linux

package e2e_test

import "testing"

// smallDisk is everybody's disk, which isn't filled.
func smallDisk(t *testing.T) (string, func() (func(), error)) {
	t.Helper()
	return t.TempDir(), nil
}
