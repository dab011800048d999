package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

func doctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check an installation", GroupID: groupAdmin, Args: cobra.NoArgs,
		Long: "Doctor checks that the server can be reached and accepts the token, that clocks and versions agree, that\n" +
			"its disk has room, and that delegates are connected. It names tokens that end soon, or that nobody has used for long. It changes nothing; its exit code is 1 if something must be mended.",
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context()) },
	}
}

// diagnosis is what one check found. Bad ones must be mended.
type diagnosis struct {
	Check string `json:"check"`
	Bad   bool   `json:"bad,omitempty"`
	Found string `json:"found"`
	Cure  string `json:"cure,omitempty"`
}

// maxSkew is by how much clocks may differ: leases and approvals go by the
// server's, logs by the delegates'.
const maxSkew = 10 * time.Second

func (a *app) doctor(ctx context.Context) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	about, err := client.About(ctx)
	if err != nil {
		return err // says what to do
	}
	health, err := client.Health(ctx)
	if err != nil && !fault.Is(err, fault.NotFound) { // an older server has none
		return err
	}
	list := append(checkServer(about), checkDisk(health)...)
	delegates, err := apiclient.All(0, func(p apiclient.Page) ([]api.Delegate, string, error) { return client.Delegates(ctx, scope, p) })
	if err != nil {
		return err
	}
	list = append(list, checkDelegates(delegates, about.Version)...)
	for _, kind := range []store.TokenKind{store.TokenUser, store.TokenDelegate} {
		tokens, err := tokensOf(ctx, client, a.caller.tokenScope(scope), kind)
		if err != nil {
			return err
		}
		list = append(list, checkTokens(tokens, time.Now())...)
	}
	bad := 0
	err = a.shows.print(list, func() error {
		var rows [][]string
		for _, f := range list {
			mark := "ok"
			if f.Bad {
				mark = "BAD"
			}
			rows = append(rows, []string{mark, f.Check, f.Found, f.Cure})
		}
		return a.shows.table("STATE CHECK FOUND CURE", rows)
	})
	for _, f := range list {
		if f.Bad {
			bad++
		}
	}
	if err == nil && bad > 0 {
		err = fault.New(fault.Conflict, "%d of %d checks found something that must be mended", bad, len(list))
	}
	return err
}

func checkServer(about apiclient.About) []diagnosis {
	list := []diagnosis{{Check: "server", Found: fmt.Sprintf("answers in %s", about.Took.Round(time.Millisecond))}}
	clock := diagnosis{Check: "clock", Found: fmt.Sprintf("the server's differs by %s", about.Ahead)}
	if about.Ahead.Abs() > maxSkew {
		clock.Bad, clock.Cure = true, "let both machines follow a time server"
	}
	v := diagnosis{Check: "version", Found: "server and this program are " + about.Version}
	if about.Version != currentVersion() {
		v.Found, v.Cure = fmt.Sprintf("the server is %s, this program %s", about.Version, currentVersion()), "use programs of one version"
	}
	return append(list, clock, v)
}

// checkDisk says how much room the server has, if it has a disk.
func checkDisk(h api.Health) []diagnosis {
	if h.Disk == nil {
		return nil
	}
	d := diagnosis{Check: "disk", Found: fmt.Sprintf("%d of %d MiB are free", h.Disk.Free>>20, h.Disk.Total>>20)}
	if h.Disk.Low {
		d.Bad, d.Cure = true, fmt.Sprintf("make room on the disk of the server's data folder: at least %d MiB", api.LowDisk>>20)
	}
	return []diagnosis{d}
}

// unusedFor is after how long a token that opens nothing is told of, and
// endsWithin how long before its end one is.
const (
	unusedFor  = 90 * 24 * time.Hour
	endsWithin = 14 * 24 * time.Hour
)

// checkTokens names the tokens that end soon and those that nobody has used for long.
// None of them is bad: whoever made them knows what they are for.
func checkTokens(all []api.Token, now time.Time) []diagnosis {
	var list []diagnosis
	for _, t := range all {
		if t.Revoked || !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(now) {
			continue
		}
		what := "token " + t.Name + " " + t.ID
		if !t.ExpiresAt.IsZero() && t.ExpiresAt.Sub(now) < endsWithin && t.ExpiresAt.Sub(t.CreatedAt) > endsWithin {
			list = append(list, diagnosis{Check: what, Found: "it ends at " + t.ExpiresAt.UTC().Format(time.RFC3339), Cure: "slipway token rotate " + t.ID})
		}
		last, err := time.Parse(time.DateOnly, t.LastUsed)
		if err != nil { // it never was
			last = t.CreatedAt
		}
		if now.Sub(last) > unusedFor {
			list = append(list, diagnosis{
				Check: what, Found: "nobody has used it since " + last.UTC().Format(time.DateOnly), Cure: "slipway token revoke " + t.ID + ", if nobody needs it",
			})
		}
	}
	return list
}

func checkDelegates(all []api.Delegate, server string) []diagnosis {
	connected := 0
	var list []diagnosis
	for _, d := range all {
		if d.Connected {
			connected++
		} else {
			list = append(list, diagnosis{Check: "delegate " + d.Name, Bad: true, Found: "no sign of life since " + d.LastSeen.UTC().Format(time.RFC3339), Cure: "see its log; its tasks were given up"})
		}
		if d.Version != server {
			list = append(list, diagnosis{Check: "delegate " + d.Name, Found: "its version is " + d.Version, Cure: "use programs of one version"})
		}
	}
	f := diagnosis{Check: "delegates", Found: fmt.Sprintf("%d of %d are connected", connected, len(all))}
	if connected == 0 {
		f.Bad, f.Cure = true, strings.Join([]string{`make a token with "slipway token create --delegate NAME"`, `start one with "slipway delegate"`}, ", ")
	}
	return append([]diagnosis{f}, list...)
}
