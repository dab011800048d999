package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// child is a started process.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	size *io.LimitedReader // of all that it may say
	said *head

	ended sync.Once
	gone  chan struct{} // closed when it has ended
	how   ending
}

// ending is how a child ended.
type ending int

const (
	otherwise ending = iota
	outOfMemory
	tooDeep
	killed // not by us
)

// lingering is how long what a child has started may keep its streams open.
const lingering = time.Second

// start starts a child. It has the variables of the environment that programs
// need to find files, the network and the time, and no others.
func start(memory int64) (*child, error) {
	if inChild() {
		return nil, errUnready
	}
	program, err := self()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(program), said: &head{}, gone: make(chan struct{})} // it is this program; Run kills it by the context
	c.cmd.Env = append(environment(), marker+"="+strconv.FormatInt(memory, 10))
	c.cmd.Stderr = c.said
	c.cmd.Dir, c.cmd.WaitDelay = os.TempDir(), lingering
	apart(c.cmd)
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.size = &io.LimitedReader{R: out, N: 2*MaxAnswer + 6*maxLog} // as JSON may be longer than what it says
	c.out = json.NewDecoder(c.size)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	return c, nil
}

// self is the file of this program, also after another version took its place.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		if _, err := os.Stat("/proc/self/exe"); err == nil {
			return "/proc/self/exe", nil
		}
	}
	return os.Executable()
}

// environment is what a child has of this process's.
func environment() []string {
	out := []string{ // of a git that a library may run
		"GIT_ALLOW_PROTOCOL=http:https", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
	}
	for _, name := range []string{
		"PATH", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "TZ", "ZONEINFO", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	} {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// greet waits until the child is ready.
func (c *child) greet(ctx context.Context) error {
	defer context.AfterFunc(ctx, c.kill)()
	first, err := c.next()
	if err == nil && first.Kind != ready {
		return errUnready
	}
	return err
}

// do has the child do its work and gives the answer.
func (c *child) do(ctx context.Context, w Work, request json.RawMessage) (json.RawMessage, error) {
	if err := c.send(frame{Kind: work, Name: w.Verb, Text: w.What, Doc: request}); err != nil {
		return nil, err
	}
	for asked := 0; ; {
		f, err := c.next()
		if err != nil {
			return nil, err
		}
		switch f.Kind {
		case done:
			if f.Error != nil {
				return nil, f.Error
			}
			return f.Doc, nil
		case log:
			_, _ = io.WriteString(w.Log, f.Text) // as all logs: the agent reports what it can't write
		case ask:
			if asked++; asked > maxAsked || w.Asked == nil {
				err = fault.New(fault.TooLarge, "%s asks for more than %d things", w.What, maxAsked)
			}
			if err := c.reply(ctx, w, f, err); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("a child says %q", f.Kind)
		}
	}
}

// next reads what the child says next.
func (c *child) next() (frame, error) {
	var f frame
	err := c.out.Decode(&f)
	if err != nil && c.size.N <= 0 {
		return f, errTooMuch
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return f, errUnready
	}
	return f, err
}

// reply answers a question.
func (c *child) reply(ctx context.Context, w Work, question frame, err error) error {
	out := frame{Kind: answer}
	var got any
	if err == nil {
		got, err = w.Asked(ctx, question.Name, question.Doc)
	}
	if err == nil {
		out.Doc, err = encode(got)
	}
	out.Error = carried(err)
	return c.send(out)
}

func (c *child) send(f frame) error {
	doc, err := encode(f)
	if err != nil {
		return err
	}
	_, err = c.in.Write(doc)
	return err
}

// end kills the child if it lives, takes it away, and says how it ended.
func (c *child) end() ending {
	c.ended.Do(func() {
		c.kill()
		_ = c.in.Close() // it has gone
		var exit *exec.ExitError
		if errors.As(c.cmd.Wait(), &exit) {
			c.how = c.reason(exit)
		}
		close(c.gone)
	})
	<-c.gone
	return c.how
}

// reason reads what Go's runtime says when it gives up.
func (c *child) reason(exit *exec.ExitError) ending {
	text := c.said.text()
	switch {
	case strings.Contains(text, "exceeds") && strings.Contains(text, "stack"):
		return tooDeep
	case strings.Contains(text, "out of memory"), strings.Contains(text, "cannot allocate memory"), strings.Contains(text, "failed to create new OS thread"),
		strings.Contains(text, "pthread_create failed"),
		// The collector itself got no memory, which not all of it looks at. A fault of
		// the program's own would be some goroutine's.
		strings.Contains(text, "SIGSEGV") && strings.Contains(text, "\ngoroutine 0 "),
		exit.ExitCode() == exitMemory:
		return outOfMemory
	case signalled(exit):
		return killed // by the kernel: nobody kills one before it has closed its pipes but a context
	}
	return otherwise
}

// head keeps the first bytes of what is written.
type head struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// maxHead bounds what is kept of a child's last words.
const maxHead = 4 << 10

// Write keeps what fits.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b.Write(p[:min(len(p), maxHead-h.b.Len())])
	return len(p), nil
}

func (h *head) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}
