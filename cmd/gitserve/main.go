// Command gitserve serves a folder's files as the branch main of a Git
// repository over HTTP on this machine, for the demonstration: Slipway fetches
// manifests from Git, and the demonstration brings its own.
//
// It is no Git server for anything else: what is pushed is refused.
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
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *addr, *name, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "gitserve:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func serve(ctx context.Context, addr, name, folder string) error {
	if folder == "" {
		return errors.New("name the folder to serve")
	}
	root, err := os.MkdirTemp("", "gitserve-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
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
