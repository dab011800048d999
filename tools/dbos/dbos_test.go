package dbos_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// pipeline is a workflow of ten steps that do nothing.
func pipeline(ctx dbos.Context, _ string) (string, error) {
	for range 10 {
		if _, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return "", nil }); err != nil {
			return "", err
		}
	}
	return "", nil
}

// BenchmarkNoOpPipeline is one workflow after the other.
func BenchmarkNoOpPipeline(b *testing.B) {
	ctx := launch(b)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		run(b, ctx)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkThroughput keeps 64 of them going at once.
func BenchmarkThroughput(b *testing.B) {
	ctx := launch(b)
	work := make(chan struct{})
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range work {
				run(b, ctx)
			}
		})
	}
	begin := time.Now()
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	all.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "pipelines/s")
}

func run(b *testing.B, ctx dbos.Context) {
	b.Helper()
	handle, err := dbos.RunWorkflow(ctx, pipeline, "")
	if err == nil {
		_, err = handle.GetResult()
	}
	if err != nil {
		b.Error(err)
	}
}

// launch starts DBOS on a Postgres of its own.
func launch(b *testing.B) dbos.Context {
	b.Helper()
	ctx, err := dbos.NewContext(b.Context(), dbos.Config{
		AppName: "peer", DatabaseURL: postgres(b), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	dbos.RegisterWorkflow(ctx, pipeline)
	if err := dbos.Launch(ctx); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = dbos.Shutdown(ctx, 10*time.Second) })
	return ctx
}

// postgres starts a server with its defaults, so with every commit on the disk
// when it is answered, and gives a URL of it.
func postgres(b *testing.B) string {
	b.Helper()
	bin, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "dbos-") // b.TempDir can't be entered by another user
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	owner := credential(b, dir)
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust")
	initdb.SysProcAttr, initdb.Dir = &syscall.SysProcAttr{Credential: owner}, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		b.Fatalf("initdb: %v\n%s", err, out)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=")
	var said bytes.Buffer
	server.Stderr = &said
	server.SysProcAttr, server.Dir = &syscall.SysProcAttr{Credential: owner}, dir
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // a fast shutdown
		_ = server.Wait()
	})
	for range 300 {
		if exec.Command(filepath.Join(bin, "pg_isready"), "-q", "-h", dir).Run() == nil {
			return fmt.Sprintf("postgres://postgres@/postgres?host=%s", dir)
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.Fatalf("Postgres didn't start:\n%s", &said)
	return ""
}

// programs is the folder of the newest Postgres that is installed.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no Postgres in /usr/lib/postgresql; `make bench-peer` installs it: %w", os.ErrNotExist)
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, c string) int { return version(a) - version(c) })), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // 0 for what has none
	return n
}

// credential is the user as whom Postgres runs, who gets the folder: it refuses
// to run as root.
func credential(b *testing.B, dir string) *syscall.Credential {
	b.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		b.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		b.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		b.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
