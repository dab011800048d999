package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// maxTyped bounds what is typed, in bytes.
const maxTyped = 4096

// keyboard is where people type: a terminal, which doesn't show passwords, or else
// the lines of the input.
type keyboard struct {
	in    *bufio.Reader
	out   io.Writer
	file  *os.File
	hides bool // it is a terminal
}

func newKeyboard(c *cobra.Command, a *app) *keyboard {
	k := &keyboard{in: bufio.NewReader(io.LimitReader(c.InOrStdin(), maxTyped)), out: a.shows.people()}
	if file, ok := c.InOrStdin().(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		k.file, k.hides = file, true
	}
	return k
}

// line is one that is typed; a terminal is told what is wanted.
func (k *keyboard) line(wanted string) (string, error) {
	if k.hides {
		if _, err := fmt.Fprint(k.out, wanted); err != nil {
			return "", err
		}
	}
	text, err := k.in.ReadString('\n')
	if errors.Is(err, io.EOF) && text != "" {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("read what is typed: %w", err)
	}
	return strings.TrimRight(text, "\r\n"), nil
}

// secret is line for what a terminal doesn't show.
func (k *keyboard) secret(wanted string) (string, error) {
	if !k.hides {
		return k.line(wanted)
	}
	if _, err := fmt.Fprint(k.out, wanted); err != nil {
		return "", err
	}
	text, err := term.ReadPassword(int(k.file.Fd()))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	_, err = fmt.Fprintln(k.out)
	return string(text), err
}
