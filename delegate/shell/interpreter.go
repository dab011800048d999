package shell

import (
	"os/exec"
	"path"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// language is how to run a script.
type language struct {
	args   []string
	suffix string // of the script's file
	// epilogue gives the lines that dump output variables into a file; nil
	// where that can't be done.
	epilogue func(outputs []task.ShellOutput, file string) string
}

// interpreter finds what runs the script. Bash: the interpreter that the
// first line names, else bash, else sh (semantics/pipeline §13, row 14).
func interpreter(p task.Shell) (language, error) {
	if p.Shell == "PowerShell" {
		return powerShell()
	}
	if args := shebang(p.Script); len(args) > 0 {
		l := language{args: args, suffix: ".sh"}
		if bourne(args) {
			l.epilogue = bourneEpilogue
		}
		return l, nil
	}
	for _, name := range []string{"bash", "sh"} {
		if file, err := exec.LookPath(name); err == nil {
			return language{args: []string{file}, suffix: ".sh", epilogue: bourneEpilogue}, nil
		}
	}
	return language{}, fault.New(fault.Invalid, "there is neither bash nor sh on this delegate")
}

func powerShell() (language, error) {
	for _, name := range []string{"pwsh", "powershell"} {
		if file, err := exec.LookPath(name); err == nil {
			return language{
				args: []string{file, "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File"}, suffix: ".ps1",
				epilogue: powerShellEpilogue,
			}, nil
		}
	}
	return language{}, fault.New(fault.Invalid, "there is no PowerShell on this delegate: found no pwsh in its PATH")
}

// shebang reads the interpreter of a script's first line as the kernel does:
// the program and, in one piece, its argument.
func shebang(script string) []string {
	line, ok := strings.CutPrefix(script, "#!")
	if !ok {
		return nil
	}
	line, _, _ = strings.Cut(line, "\n")
	program, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
	if program == "" {
		return nil
	}
	if arg = strings.TrimSpace(arg); arg == "" {
		return []string{program}
	}
	return []string{program, arg}
}

// bourne says whether an interpreter understands a Bourne shell's lines. With
// env, the program is env's argument.
func bourne(args []string) bool {
	program := path.Base(args[0])
	if program == "env" && len(args) > 1 {
		fields := strings.Fields(strings.TrimPrefix(args[1], "-S"))
		if len(fields) == 0 {
			return false
		}
		program = path.Base(fields[0])
	}
	switch program {
	case "sh", "bash", "dash", "ash", "ksh", "mksh", "zsh":
		return true
	}
	return false
}

// idle says whether a script does nothing: all its lines are blank or
// comments. Then no process is started. A first line that names an
// interpreter is left to that interpreter.
func idle(p task.Shell) bool {
	if strings.HasPrefix(p.Script, "#!") {
		return false
	}
	for line := range strings.Lines(p.Script) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}
