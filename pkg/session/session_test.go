package session_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/session"
)

func TestMain(m *testing.M) {
	session.Answer()
	os.Exit(m.Run())
}

// host starts a real host with its workspace.
func host(t *testing.T) (c *session.Client, dir string, pid int) {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{session.Workspace, session.Control} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	session.Reserve()
	cmd := session.HostCommand(own, dir, "s1", time.Minute)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c = session.NewClient("s1", func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, session.Control, session.Socket))
	})
	t.Cleanup(func() {
		_ = c.Close(context.Background())
		_ = cmd.Wait()
	})
	until(t, func() bool {
		_, err := c.Info(t.Context())
		return err == nil
	})
	return c, dir, cmd.Process.Pid
}

// until waits for something.
func until(t *testing.T, is func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-t.Context().Done():
			t.Fatal("it never came")
		}
	}
}

func shell(script string) session.Start {
	return session.Start{Script: script, Shell: "sh", Env: []string{"PATH=" + os.Getenv("PATH"), "A=b"}}
}

// follow reads an attempt to its end.
func follow(t *testing.T, c *session.Client, step string, attempt int) (session.State, string) {
	t.Helper()
	var out strings.Builder
	s, err := c.Follow(t.Context(), step, attempt, 0, func(l session.Log) error {
		for _, f := range l.Frames {
			fmt.Fprintf(&out, "%s", f.Bytes)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, out.String()
}

// A step runs once, whoever starts it again, and with its own environment alone.
func TestStartsOnce(t *testing.T) {
	t.Parallel()
	c, dir, _ := host(t)
	start := shell("echo run >> count; env; echo oops >&2; exit 7")
	start.Fence = 2
	for range 3 {
		if _, err := c.Start(t.Context(), "a", 1, start); err != nil {
			t.Fatal(err)
		}
	}
	s, out := follow(t, c, "a", 1)
	if s.Phase != session.Ended || s.Exit == nil || s.Exit.Code != 7 {
		t.Errorf("state %+v; want that it ended with 7", s)
	}
	if !strings.Contains(out, "A=b\n") || !strings.Contains(out, "oops\n") || strings.Contains(out, "SLIPWAY") || strings.Contains(out, "HOME=") {
		t.Errorf("it wrote\n%s", out)
	}
	if count, _ := os.ReadFile(filepath.Join(dir, session.Workspace, "count")); string(count) != "run\n" {
		t.Errorf("it ran %q", count)
	}
	other := shell("echo other")
	other.Fence = 2
	if _, err := c.Start(t.Context(), "a", 1, other); !fault.Is(err, fault.Conflict) {
		t.Errorf("another start of the attempt: %v; want a conflict", err)
	}
	start.Fence = 1
	if _, err := c.Start(t.Context(), "a", 1, start); !fault.Is(err, fault.LeaseLost) {
		t.Errorf("an older fence: %v; want that it is refused", err)
	}
	if err := c.Cancel(t.Context(), "a", 1, session.Stop{Fence: 1}); !fault.Is(err, fault.LeaseLost) {
		t.Errorf("a cancel with an older fence: %v; want that it is refused", err)
	}
	if _, err := c.Start(t.Context(), "a", 2, shell("cat count")); err != nil {
		t.Fatal(err)
	}
	if _, out := follow(t, c, "a", 2); out != "run\n" {
		t.Errorf("the next attempt sees %q in the workspace", out)
	}
}

// What is cancelled may end by itself, and is killed if it doesn't.
func TestCancel(t *testing.T) {
	t.Parallel()
	c, _, _ := host(t)
	for name, script := range map[string]string{
		"gentle":   "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done",
		"stubborn": "trap '' TERM; echo up; while :; do sleep 0.01; done",
	} {
		start := shell(script)
		start.Grace = 1
		if _, err := c.Start(t.Context(), name, 1, start); err != nil {
			t.Fatal(err)
		}
		if l, err := c.Log(t.Context(), name, 1, 0, time.Minute); err != nil || len(l.Frames) == 0 {
			t.Fatalf("%v, %v", l, err)
		}
		if _, err := c.Start(t.Context(), name, 2, start); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: the next attempt beside it: %v; want a conflict", name, err)
		}
		if err := c.Cancel(t.Context(), name, 1, session.Stop{}); err != nil {
			t.Fatal(err)
		}
		s, out := follow(t, c, name, 1)
		want := map[string]session.Exit{"gentle": {Code: 3}, "stubborn": {Code: 137, Signal: 9}}[name]
		if s.Exit == nil || *s.Exit != want || strings.Contains(out, "bye") != (name == "gentle") {
			t.Errorf("%s: %+v, wrote %q", name, s.Exit, out)
		}
	}
}

// A command ends when its process does, whatever that leaves behind.
func TestLeavesADaemon(t *testing.T) {
	t.Parallel()
	c, _, _ := host(t)
	if _, err := c.Start(t.Context(), "d", 1, shell("sleep 1000 & echo $!")); err != nil {
		t.Fatal(err)
	}
	s, out := follow(t, c, "d", 1)
	pid := strings.TrimSpace(out)
	if s.Exit == nil || s.Exit.Code != 0 {
		t.Fatalf("%+v, wrote %q", s.Exit, out)
	}
	if _, err := os.Stat("/proc/" + pid); err != nil {
		t.Errorf("the daemon is gone before the session: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		doc, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(doc), ") Z ")
	})
}

// A host that is killed takes all with it that it runs.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	c, _, pid := host(t)
	if _, err := c.Start(t.Context(), "a", 1, shell("echo $$; sleep 1000")); err != nil {
		t.Fatal(err)
	}
	l, err := c.Log(t.Context(), "a", 1, 0, time.Minute)
	if err != nil || len(l.Frames) == 0 {
		t.Fatalf("%v, %v", l, err)
	}
	child := strings.TrimSpace(string(l.Frames[0].Bytes))
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Follow(t.Context(), "a", 1, 0, func(session.Log) error { return nil }); !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v; want that the host is gone", err)
	}
	until(t, func() bool {
		doc, err := os.ReadFile("/proc/" + child + "/stat")
		return err != nil || strings.Contains(string(doc), ") Z ")
	})
}

// cutting breaks the connection after so many bytes of each answer, each time at
// another one.
type cutting struct {
	net.Conn
	left *int
}

func (c cutting) Read(p []byte) (int, error) {
	if *c.left <= 0 {
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p[:min(len(p), *c.left)])
	*c.left -= n
	return n, err
}

// A log comes whole, whatever breaks on the way.
func TestBrokenCarrier(t *testing.T) {
	t.Parallel()
	c, dir, _ := host(t)
	if _, err := c.Start(t.Context(), "a", 1, shell("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done")); err != nil {
		t.Fatal(err)
	}
	_, want := follow(t, c, "a", 1)
	most := 100_000
	broken := session.NewClient("s1", func(ctx context.Context) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, session.Control, session.Socket))
		left := most
		most = most*3 + 7
		return cutting{conn, &left}, err
	})
	if _, got := follow(t, broken, "a", 1); got != want {
		t.Errorf("the log has %d bytes; want %d", len(got), len(want))
	}
	if strings.Count(want, "\n") != 20000 {
		t.Errorf("the log has %d lines", strings.Count(want, "\n"))
	}
}

// Of a log that is too long the beginning and the end are kept.
func TestLongLog(t *testing.T) {
	t.Parallel()
	c, _, _ := host(t)
	if _, err := c.Start(t.Context(), "a", 1, shell("echo first; head -c 40000000 /dev/zero | tr '\\0' x; echo last")); err != nil {
		t.Fatal(err)
	}
	for version := 0; ; {
		s, err := c.State(t.Context(), "a", 1, version, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if version = s.Version; s.Phase == session.Ended {
			break
		}
	}
	var size, dropped int64
	var begin, end string
	if _, err := c.Follow(t.Context(), "a", 1, 0, func(l session.Log) error {
		dropped += l.Dropped
		for _, f := range l.Frames {
			if size == 0 {
				begin = string(f.Bytes[:5])
			}
			size += int64(len(f.Bytes))
			end = string(f.Bytes[max(0, len(f.Bytes)-5):])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if begin != "first" || end != "last\n" || size > session.MaxLog*11/10 || size < session.MaxLog/2 || dropped < 40000000-size {
		t.Errorf("kept %d, dropped %d, from %q to %q", size, dropped, begin, end)
	}
}

func archive(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = 2
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte("hi")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// What would leave the workspace is refused, with all that comes with it.
func TestFiles(t *testing.T) {
	t.Parallel()
	c, dir, _ := host(t)
	good := tar.Header{Typeflag: tar.TypeReg, Name: "ok", Mode: 0o644}
	for name, bad := range map[string]tar.Header{
		"above":         {Typeflag: tar.TypeReg, Name: "../x", Mode: 0o644},
		"absolute":      {Typeflag: tar.TypeReg, Name: "/x", Mode: 0o644},
		"absolute link": {Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc/passwd"},
		"link above":    {Typeflag: tar.TypeSymlink, Name: "l", Linkname: "../../x"},
		"setuid":        {Typeflag: tar.TypeReg, Name: "s", Mode: 0o4755},
		"device":        {Typeflag: tar.TypeChar, Name: "d"},
	} {
		if err := c.Put(t.Context(), "in", archive(t, good, bad)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v; want that it is refused", name, err)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, session.Workspace)); len(left) > 0 {
			t.Errorf("%s: the workspace has %v", name, left)
		}
	}
	if err := c.Put(t.Context(), "../in", archive(t, good)); !fault.Is(err, fault.Invalid) {
		t.Errorf("a folder outside: %v; want that it is refused", err)
	}
	all := archive(t, good, tar.Header{Typeflag: tar.TypeReg, Name: "a/b/run", Mode: 0o755}, tar.Header{Typeflag: tar.TypeSymlink, Name: "a/l", Linkname: "b/run"})
	for range 2 { // what is there is replaced
		if err := c.Put(t.Context(), "in", bytes.NewReader(all.Bytes())); err != nil {
			t.Fatal(err)
		}
	}
	if doc, err := os.ReadFile(filepath.Join(dir, session.Workspace, "in/a/l")); err != nil || string(doc) != "hi" {
		t.Errorf("%q, %v", doc, err)
	}
	if info, err := os.Stat(filepath.Join(dir, session.Workspace, "in/a/b/run")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("%v, %v; want that it can be run", info, err)
	}
	r, err := c.Get(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := tar.NewReader(r).Next()
	if err != nil || h.Name != "a" {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := c.Get(t.Context(), "in/nothing"); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v; want that it isn't there", err)
	}
}

// Who says to be a step that has an entry is sent away.
func TestSecondEntry(t *testing.T) {
	t.Parallel()
	c, dir, _ := host(t)
	if _, err := c.Start(t.Context(), "a", 1, shell("echo up; read x < /dev/null; sleep 0.2; echo done")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Log(t.Context(), "a", 1, 0, time.Minute); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", filepath.Join(dir, session.Control, "steps.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(map[string]any{"hello": map[string]any{"step": "a", "attempt": 1, "token": "guess"}}); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("it is told %d bytes", n)
	}
	if s, out := follow(t, c, "a", 1); s.Exit == nil || s.Exit.Code != 0 || !strings.Contains(out, "done\n") {
		t.Errorf("%+v, %q", s.Exit, out)
	}
}

// A host whose folder is gone ends.
func TestFolderGone(t *testing.T) {
	t.Parallel()
	c, dir, pid := host(t)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	c.Forget()
	until(t, func() bool {
		doc, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(doc), ") Z ")
	})
}

// Another session's client isn't heard.
func TestOtherSession(t *testing.T) {
	t.Parallel()
	_, dir, _ := host(t)
	other := session.NewClient("s2", func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, session.Control, session.Socket))
	})
	if _, err := other.Info(t.Context()); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v; want that it is another session", err)
	}
}

// The journal has nothing that was secret in a start.
func TestNoSecretsOnDisk(t *testing.T) {
	t.Parallel()
	c, dir, _ := host(t)
	start := shell("true # hush-script")
	start.Env = append(start.Env, "S=hush-env")
	if _, err := c.Start(t.Context(), "a", 1, start); err != nil {
		t.Fatal(err)
	}
	follow(t, c, "a", 1)
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if doc, err := os.ReadFile(name); err != nil || bytes.Contains(doc, []byte("hush")) {
			t.Errorf("%s: %v, %q", name, err, doc)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
