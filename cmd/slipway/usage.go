package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// guide has a command, and those below it, say what was found and what was
// expected when it is called wrongly.
func guide(c *cobra.Command) {
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fault.New(fault.Invalid, "%w; \"%s --help\" lists the flags", err, c.CommandPath())
	})
	for _, sub := range c.Commands() {
		guide(sub)
		switch {
		case sub.HasSubCommands() && !sub.Runnable():
			sub.RunE, sub.DisableFlagsInUseLine = group, true
		case sub.Args != nil:
			sub.Args = expected(sub.Args)
		}
	}
}

// group is what a command does that only has others: Cobra's own answer to a
// word that is none of them is the help, as a success.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	return unknownCommand(c, args[0])
}

func unknownCommand(c *cobra.Command, word string) error {
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return fault.New(fault.Invalid, "%s has no command %q; want one of %s", c.CommandPath(), word, strings.Join(names, ", "))
}

// expected shows how a command is called when it is called with too few or
// too many arguments.
func expected(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch err := check(c, args); {
		case err == nil:
			return nil
		case c.HasSubCommands() && c.Use == c.Name(): // it takes no argument of its own
			return unknownCommand(c, args[0])
		}
		found := "no arguments"
		if len(args) > 0 {
			found = fmt.Sprintf("%q", args)
		}
		return fault.New(fault.Invalid, "found %s; want: %s", found, c.UseLine())
	}
}
