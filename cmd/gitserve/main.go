// Command gitserve serves a folder's files as the branch main of a Git
// repository over HTTP on this machine, for the demonstration: Slipway fetches
// manifests from Git, and the demonstration brings its own.
//
// It is no Git server for anything else: what is pushed over HTTP is refused. Who
// owns the machine's folder pushes to that.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/slipway-cd/slipway/internal/gitserver"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:7490", "address to listen at")
	name := flag.String("name", "guestbook.git", "name of the repository")
	keep := flag.String("keep", "", "folder to make the repository in, where git can push to it; what was there is lost (default: one that goes in the end)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *addr, *name, *keep, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "gitserve:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func serve(ctx context.Context, addr, name, root, folder string) error {
	if folder == "" {
		return errors.New("name the folder to serve")
	}
	if root == "" {
		var err error
		if root, err = os.MkdirTemp("", "gitserve-"); err != nil {
			return err
		}
		defer os.RemoveAll(root)
	} else if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
		return err
	}
	if err := gitserver.Repository(ctx, filepath.Join(root, name), folder, "main"); err != nil {
		return err
	}
	handler, err := gitserver.Handler(ctx, root)
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: handler}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		_ = server.Close() // Serve tells
	}()
	fmt.Printf("http://%s/%s\n", listener.Addr(), name)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
