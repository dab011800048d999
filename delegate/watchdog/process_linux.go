package watchdog

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// listening is the process while nothing has happened: it knows the running
// tasks' marks. At the end of its input it becomes this program, which the
// descriptor 3 is, whatever has become of its file.
const listening = `trap '' HUP INT TERM
live=
while read -r what mark; do
  case $what in
  +) live="$live $mark" ;;
  -) left=
     for one in $live; do [ "$one" = "$mark" ] || left="$left $one"; done
     live=$left ;;
  esac
done
[ -z "$live" ] || exec /proc/self/fd/3 ` + argument + ` $live
`

// process is a started watchdog.
type process struct {
	pipe *os.File
	cmd  *exec.Cmd
}

// start starts one in a process group of its own: what is sent to the
// delegate's doesn't reach it.
func start() (*process, error) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("open this program: %w", err)
	}
	defer self.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &process{pipe: in, cmd: exec.Command("/bin/sh", "-c", listening)} // it ends by itself when the pipe does
	p.cmd.Stdin, p.cmd.ExtraFiles, p.cmd.Dir, p.cmd.Env = out, []*os.File{self}, "/", []string{}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		_ = in.Close() // nobody reads it
		return nil, err
	}
	go func() { _ = p.cmd.Wait() }() // how it ended is found by the next word to it
	return p, nil
}

// end ends a process that doesn't listen.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.pipe.Close()
}
