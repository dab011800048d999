package attack_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// serveEnv makes the test binary a server over the data folder that it names:
// what is attacked is a process of its own.
const serveEnv = "ATTACK_SERVE"

// patience is how long tests wait for what takes a moment on a quiet machine.
const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	delegate.Answer()
	if os.Getenv(serveEnv) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := wire.Serve(ctx, wire.ServeConfig{
		Addr: "127.0.0.1:0", Data: os.Getenv(serveEnv),
		Log:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Ready: func(i wire.Info) { fmt.Printf("%s %s\n", i.URL, i.Token) },
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // stop does nothing that the end of the process doesn't
	}
}

// process is a server that runs beside the test.
type process struct {
	pid        int
	url, token string
}

// start runs a server over a data folder until the test ends.
func start(t *testing.T, data string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"="+data, "GOGC=100") // its memory is measured, as users have it
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server didn't start: %v", err)
	}
	url, token, _ := strings.Cut(strings.TrimSpace(line), " ")
	return &process{pid: cmd.Process.Pid, url: url, token: token}
}

// peak is the most memory that the process has had, in MiB.
func (p *process) peak(t *testing.T) int {
	t.Helper()
	doc, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		t.Skip("this system doesn't tell what memory a process has had: ", err)
	}
	var kib int
	_, after, _ := strings.Cut(string(doc), "VmHWM:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}
