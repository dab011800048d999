// Command slipway-step is what a session of steps is made of, on a delegate's
// machine and in containers: its host, and an entry for each step. See
// pkg/session.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/slipway-cd/slipway/pkg/session"
)

func main() {
	role := ""
	if len(os.Args) == 2 {
		role = os.Args[1]
	}
	if err := session.Main(context.Background(), role); err != nil {
		fmt.Fprintln(os.Stderr, "slipway-step:", err)
		os.Exit(1)
	}
}
