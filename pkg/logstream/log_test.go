package logstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/logstream"
	"github.com/slipway-cd/slipway/pkg/redact"
)

// kept is what a control plane has of a log. It keeps the first chunk of a
// number, as a store does.
type kept struct {
	t      *testing.T
	chunks map[int64]string
	refuse func(n int) (err error, stored bool)
	calls  int
	most   int // chunks in one call
}

func (k *kept) send(_ context.Context, first int64, chunks [][]byte) error {
	k.calls++
	k.most = max(k.most, len(chunks))
	var err error
	stored := true
	if k.refuse != nil {
		err, stored = k.refuse(k.calls)
	}
	for i, c := range chunks {
		n := first + int64(i)
		if was, there := k.chunks[n]; there && was != string(c) {
			k.t.Errorf("chunk %d was sent with another content", n)
		}
		if stored {
			k.chunks[n] = string(c)
		}
	}
	return err
}

// lines reads all chunks, whose numbers must have no gap.
func (k *kept) lines() []logstream.Line {
	k.t.Helper()
	var out []logstream.Line
	for n := range int64(len(k.chunks)) {
		c, ok := k.chunks[n]
		if !ok {
			k.t.Fatalf("there are %d chunks and no chunk %d", len(k.chunks), n)
		}
		for l, err := range logstream.Decode([]byte(c)) {
			if err != nil {
				k.t.Fatal(err)
			}
			out = append(out, l)
		}
	}
	return out
}

func (k *kept) texts() []string {
	k.t.Helper()
	var out []string
	for _, l := range k.lines() {
		out = append(out, fmt.Sprintf("%s %s: %s", l.Unit, l.Level, l.Text))
	}
	return out
}

func setup(t *testing.T, masker *redact.Masker) (*logstream.Log, *kept) {
	t.Helper()
	k := &kept{t: t, chunks: map[int64]string{}}
	return logstream.New(logstream.Config{Send: k.send, Masker: masker, Now: func() time.Time { return time.UnixMilli(1234) }}), k
}

func write(t *testing.T, l *logstream.Log, unit string, level logstream.Level, text string) {
	t.Helper()
	if n, err := l.Writer(unit, level).Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(text), err)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	l, k := setup(t, redact.New("hunter2"))
	write(t, l, "Fetch", logstream.Info, "first\nsec")
	write(t, l, "Apply", logstream.Error, "<oh> & \"no\"\n\n")
	write(t, l, "Fetch", logstream.Info, "ond is hun")
	write(t, l, "Fetch", logstream.Error, "between\r\n")
	write(t, l, "Fetch", logstream.Info, "ter2\nno end: hunter2")
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Fetch INFO: first", `Apply ERROR: <oh> & "no"`, "Apply ERROR: ", "Fetch ERROR: between",
		"Fetch INFO: second is " + redact.Mask, "Fetch INFO: no end: " + redact.Mask,
	}
	if diff := cmp.Diff(want, k.texts()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for _, line := range k.lines() {
		if line.Time != 1234 {
			t.Errorf("line %q is of %d ms, want 1234", line.Text, line.Time)
		}
	}
	if !strings.HasPrefix(k.chunks[0], `{"t":1234,"u":"Fetch","l":"INFO","m":"first"}`+"\n") {
		t.Errorf("the chunk begins with %.60q", k.chunks[0])
	}
}

func TestALogThatIsEmptySendsNothing(t *testing.T) {
	t.Parallel()
	l, k := setup(t, nil)
	l.Writer("Fetch", logstream.Info)
	if err := errors.Join(l.Flush(t.Context()), l.Close(t.Context()), l.Close(t.Context())); err != nil || k.calls > 0 {
		t.Errorf("%d sent, %v", k.calls, err)
	}
}

func TestFlushSendsEndedLines(t *testing.T) {
	t.Parallel()
	l, k := setup(t, nil)
	for _, c := range []struct {
		write string
		want  int
	}{{"one\ntw", 1}, {"o\n", 2}, {"", 2}, {"three", 2}} {
		write(t, l, "u", logstream.Info, c.write)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(k.lines()); got != c.want {
			t.Errorf("after %q: %d lines, want %d", c.write, got, c.want)
		}
	}
	if k.calls != 2 {
		t.Errorf("sent %d times, want 2", k.calls)
	}
}

func TestChunksHaveTheirSizeAndSaySo(t *testing.T) {
	t.Parallel()
	l, k := setup(t, nil)
	line := strings.Repeat("x", 990) + "\n"
	for range 60 {
		write(t, l, "u", logstream.Info, line)
	}
	select {
	case <-l.Full():
		t.Error("full before there is a whole chunk")
	default:
	}
	for range 600 {
		write(t, l, "u", logstream.Info, line)
	}
	<-l.Full()
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(k.lines()); got != 660 {
		t.Errorf("%d lines, want 660", got)
	}
	for n, c := range k.chunks {
		if len(c) > logstream.ChunkSize || int(n) < len(k.chunks)-1 && len(c) < logstream.ChunkSize*9/10 {
			t.Errorf("chunk %d of %d has %d bytes, want about %d", n, len(k.chunks), len(c), logstream.ChunkSize)
		}
	}
}

func TestRetriesLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"the request was lost": false, "the answer was lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, k := setup(t, nil)
			k.refuse = func(n int) (error, bool) {
				if n%2 == 1 {
					return errors.New("busy"), stored
				}
				return nil, true
			}
			var want []string
			for i := range 9 {
				write(t, l, "u", logstream.Info, fmt.Sprintln(i))
				want = append(want, fmt.Sprint("u INFO: ", i))
				if err := l.Flush(t.Context()); (err == nil) != (k.calls%2 == 0) {
					t.Fatalf("call %d: %v", k.calls, err)
				}
			}
			for l.Close(t.Context()) != nil {
				continue
			}
			if diff := cmp.Diff(want, k.texts()); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALogThatIsTooLongKeepsItsEnd(t *testing.T) {
	t.Parallel()
	l, k := setup(t, nil)
	line := strings.Repeat("x", 1000)
	const lines = 40_000
	for i := range lines {
		write(t, l, "u", logstream.Info, fmt.Sprintf("%s %d\n", line, i))
	}
	write(t, l, "Wrap Up", logstream.Error, "the end")
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, c := range k.chunks {
		size += len(c)
	}
	if size > logstream.Limit+1000 || size < logstream.Limit*99/100 {
		t.Errorf("the log has %d bytes, want about %d", size, logstream.Limit)
	}
	if k.most > 64 {
		t.Errorf("%d chunks were sent at once, want at most 64", k.most)
	}
	got := k.texts()
	if last := got[len(got)-1]; last != "Wrap Up ERROR: the end" {
		t.Errorf("the last line is %q", last)
	}
	// Two remarks: where the log is cut, and how much is missing.
	cut := slices.IndexFunc(got, func(s string) bool { return strings.Contains(s, "over 25 MB") })
	missing := slices.IndexFunc(got, func(s string) bool { return strings.Contains(s, "left out here") })
	if cut < 0 || missing != cut+1 {
		t.Fatalf("the remarks are at %d and %d of %d", cut, missing, len(got))
	}
	var n int
	if _, err := fmt.Sscanf(got[missing], "Wrap Up ERROR: ... %d lines", &n); err != nil || n != lines+1-(len(got)-2) {
		t.Errorf("%q, but %d of %d lines are there", got[missing], len(got)-2, lines+1)
	}
	for i, text := range got[:cut] {
		if !strings.HasSuffix(text, fmt.Sprint(" ", i)) {
			t.Fatalf("line %d ends with %q", i, text[len(text)-10:])
		}
	}
}

func TestALineThatIsTooLongGoesOn(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 5000, 1 << 20} {
		l, k := setup(t, nil)
		text := strings.Repeat("0123456789äß€😀", 5000) // 1-, 2-, 3- and 4-byte characters
		for part := range slices.Chunk([]byte(text+"\nnext\n"), size) {
			write(t, l, "u", logstream.Info, string(part))
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var joined strings.Builder
		lines := k.lines()
		for _, line := range lines[:len(lines)-1] {
			joined.WriteString(line.Text)
		}
		if joined.String() != text || lines[len(lines)-1].Text != "next" || len(lines) < 5 {
			t.Errorf("by %d: %d lines make a text of %d bytes, want %d", size, len(lines), joined.Len(), len(text))
		}
	}
}

func TestALineOfTheLongestLengthIsOne(t *testing.T) {
	t.Parallel()
	l, k := setup(t, nil)
	write(t, l, "u", logstream.Info, strings.Repeat("x", 16<<10))
	write(t, l, "u", logstream.Info, "\n")
	if err := l.Close(t.Context()); err != nil || len(k.lines()) != 1 {
		t.Errorf("%d lines, %v; want 1", len(k.lines()), err)
	}
}

func TestWritesAfterCloseAreDropped(t *testing.T) {
	t.Parallel()
	l, k := setup(t, redact.New("hunter2"))
	write(t, l, "u", logstream.Info, "one\n")
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, l, "u", logstream.Info, "two\n")
	write(t, l, "v", logstream.Info, "three\n")
	if err := l.Close(t.Context()); err != nil || len(k.lines()) != 1 {
		t.Errorf("%d lines, %v; want 1", len(k.lines()), err)
	}
}

func TestManyWritersAtOnce(t *testing.T) {
	t.Parallel()
	l, k := setup(t, redact.New("hunter2"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			w := l.Writer(fmt.Sprint("unit ", i), logstream.Info)
			for n := range 500 {
				_, _ = fmt.Fprintf(w, "%d hunter2\n", n)
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			if err := l.Flush(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := map[string]int{}
	for _, line := range k.lines() {
		if want := fmt.Sprintf("%d %s", next[line.Unit], redact.Mask); line.Text != want {
			t.Fatalf("%s: %q, want %q", line.Unit, line.Text, want)
		}
		next[line.Unit]++
	}
	for unit, n := range next {
		if n != 500 {
			t.Errorf("%s has %d lines, want 500", unit, n)
		}
	}
}

func TestDecodeRefusesWhatIsNoLine(t *testing.T) {
	t.Parallel()
	n := 0
	for _, err := range logstream.Decode([]byte("{\"m\":\"a\"}\nnonsense\n{\"m\":\"b\"}\n")) {
		n++
		if (err != nil) != (n == 2) {
			t.Errorf("line %d: %v", n, err)
		}
	}
	if n != 2 {
		t.Errorf("%d lines, want it to end at the second", n)
	}
}

// FuzzLog: whatever is written in whatever parts, the lines together are the
// text.
func FuzzLog(f *testing.F) {
	f.Add("one\ntwo\r\n\nthree", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r", ""), "?") // JSON has no other characters
		l, k := setup(t, redact.New())
		for part := range slices.Chunk([]byte(text), 1+max(size, 0)%50) {
			write(t, l, "u", logstream.Info, string(part))
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range k.lines() {
			got = append(got, line.Text)
		}
		want := strings.Split(text, "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func BenchmarkLog(b *testing.B) {
	l := logstream.New(logstream.Config{
		Send:   func(context.Context, int64, [][]byte) error { return nil },
		Masker: redact.New("a-secret-of-usual-length"), Now: time.Now,
	})
	w := l.Writer("Execute", logstream.Info)
	line := []byte("deployment.apps/web configured, waiting for 3 of 5 replicas to be ready\n")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		_, _ = w.Write(line)
	}
}
