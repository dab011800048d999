//go:build !linux

package session

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"

	"github.com/slipway-cd/slipway/pkg/session"
)

// identity would be what a file has that its copies don't.
func identity(fs.FileInfo) string { return "" }

// dialer reaches the socket in a folder.
func dialer(dir string) func(ctx context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", filepath.Join(dir, session.Socket))
		if err != nil {
			return nil, fmt.Errorf("reach the session: %w", err)
		}
		return conn, nil
	}
}
