// Command slipway is Slipway's command line and its server for one machine.
//
// Every command is a file with its flags and one function; what the commands
// share is in app.go, config.go and output.go.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/pkg/printable"
)

func main() {
	delegate.Answer()
	os.Exit(run())
}

// run runs the command that the process was called with and gives its exit
// code: 0 done, 1 failed, 130 interrupted.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once, whatever it does
	a := newApp(process{in: os.Stdin, out: os.Stdout, err: printable.Writer(os.Stderr), env: os.Getenv, stop: stop})
	err := root(a).ExecuteContext(ctx)
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	complain(a.err, err)
	return 1
}

// exitCode is the error of a command that has said what is wrong itself.
type exitCode int

// Error is never shown.
func (exitCode) Error() string { return "exit" }

const (
	failed      exitCode = 1
	interrupted exitCode = 130
)
