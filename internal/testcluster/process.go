package testcluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// process is one program of the control plane. Its output goes to a file.
type process struct {
	program
	name string
	log  string // the file of its output
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended
	err  error         // why it ended; set before done is closed
}

// startProcess starts a program whose output is appended to <name>.log in its logs. The program dies with this
// process, even if this process is killed.
func startProcess(of program) (*process, error) {
	p := &process{program: of, name: filepath.Base(of.path), done: make(chan struct{})}
	p.log = filepath.Join(of.logs, p.name+".log")
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	// Not CommandContext: it outlives the context of Start.
	p.cmd = exec.Command(of.path, of.args...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = dieWithParent()

	started := make(chan error)
	go func() {
		// The system ends the child when the *thread* that started it ends. Held here until the child is
		// gone, the thread can't be one that the Go runtime lets go earlier.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer func() { _ = out.Close() }()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	return p, nil
}

// kill ends the program and waits until it is gone. Nothing that it holds is worth a graceful end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when it has already ended
	<-p.done
}

// ended reports, as an error with the last lines that it wrote, that the program is no longer running.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended (%w); the end of %s:\n%s", p.name, exitOf(p.err), p.log, tail(p.log, 15))
	default:
		return nil
	}
}

// exitOf makes an error of an exit, also of one with status 0.
func exitOf(err error) error {
	if err == nil {
		return fmt.Errorf("exit status 0")
	}
	return err
}

// tail is the last lines of a file, or the reason why they can't be read.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
