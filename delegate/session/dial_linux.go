package session

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/slipway-cd/slipway/pkg/session"
)

// identity is what a file has that its copies don't.
func identity(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(stat.Dev, " ", stat.Ino)
}

// dialer reaches the socket in a folder. Names of sockets are short, so it is
// named by the folder's descriptor.
func dialer(dir string) func(ctx context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		folder, err := os.Open(dir)
		if err != nil {
			return nil, fmt.Errorf("reach the session: %w", err)
		}
		defer folder.Close()
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), session.Socket))
		if err != nil {
			return nil, fmt.Errorf("reach the session: %w", err)
		}
		return conn, nil
	}
}
