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
	"net/http/cgi" //nolint:gosec // the process that it starts is git's own http-backend, on loopback
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
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
	if err := repository(ctx, filepath.Join(root, name), folder); err != nil {
		return err
	}
	backend, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return fmt.Errorf("find git: %w", err)
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: &cgi.Handler{
			Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"),
			Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
		},
	}
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

// repository makes a bare repository with one commit of the folder's files.
func repository(ctx context.Context, dir, folder string) error {
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", dir},
		{"--git-dir", dir, "config", "uploadpack.allowAnySHA1InWant", "true"},
		{"--git-dir", dir, "--work-tree", folder, "add", "."},
		{"--git-dir", dir, "--work-tree", folder, "-c", "user.name=demo", "-c", "user.email=demo@example.com", "commit", "--quiet", "-m", "Manifests"},
	} {
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}
