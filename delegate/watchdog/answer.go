package watchdog

import (
	"context"
	"os"
	"time"
)

// argument is the first argument of this program as a watchdog. A main that
// doesn't call Answer refuses it.
const argument = "-slipway-watchdog"

// endWithin bounds ending what a killed delegate has left.
const endWithin = time.Minute

// Answer is among the first calls of every main, and of every TestMain, whose
// program has a Watchdog. In a watchdog whose delegate has gone it does its
// work and ends the process; else it does nothing.
func Answer() {
	if len(os.Args) < 2 || os.Args[1] != argument {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), endWithin)
	defer stop()
	if End(ctx, os.Args[2:]...) != nil {
		os.Exit(1) //nolint:gocritic // stop does nothing that the end of the process doesn't
	}
	os.Exit(0)
}
