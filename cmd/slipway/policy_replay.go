package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/policy/rego"
)

func replayCommand(a *app) *cobra.Command {
	var r replay
	c := &cobra.Command{
		Use: "replay FILE", Short: "Say what policies would have said of what was asked before", Args: cobra.ExactArgs(1),
		Long: "Replay asks the policy of a .rego file, or those of a file with documents, about the inputs that are kept of the evaluations of a scope, the\n" +
			"newest first: whether a rule that is to come would have stopped what has passed. Nothing is changed, and nothing is kept of it.",
		Example: "  slipway policy replay approval.rego --since 720h\n  slipway policy replay approval.rego --asked 'pipeline onrun'",
		RunE:    func(c *cobra.Command, args []string) error { return replayPolicies(c.Context(), a, args[0], r) },
	}
	c.Flags().DurationVar(&r.since, "since", 30*24*time.Hour, "how far back")
	c.Flags().StringVar(&r.asked, "asked", "", `only what was asked at this moment: a type of sets and their action, e.g. "pipeline onrun"`)
	c.Flags().BoolVar(&r.all, "all", false, "also those of which policies say what they said then")
	return c
}

// replay says which evaluations policies are asked about again.
type replay struct {
	since time.Duration
	asked string
	all   bool
}

// replayed is what policies say of the input of an evaluation.
type replayed struct {
	Evaluation string         `json:"evaluation"`
	At         time.Time      `json:"at"`
	Asked      string         `json:"asked"`
	Entity     string         `json:"entity"`
	Execution  string         `json:"execution,omitempty"`
	Then       policy.Status  `json:"then"`
	Now        policy.Status  `json:"now,omitempty"` // none: its input is too large to be shown
	Policies   []testedPolicy `json:"policies,omitempty"`
	messages   []string       // of the policies
}

func replayPolicies(ctx context.Context, a *app, path string, r replay) error {
	if r.since <= 0 {
		return fault.New(fault.Invalid, "--since is %s; want a time such as 720h", r.since)
	}
	if typ, action, two := strings.Cut(r.asked, " "); r.asked != "" && (!two || typ == "" || action == "") {
		return fault.New(fault.Invalid, `--asked is %q; want a type of sets and their action, such as "pipeline onrun"`, r.asked)
	}
	policies, err := a.reader.readPolicies(path)
	if err != nil {
		return err
	}
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	kept, after := apiclient.Evaluations{Client: client}, time.Now().Add(-r.since)
	past, err := apiclient.All(0, func(p apiclient.Page) ([]policy.Evaluation, string, error) {
		some, next, err := kept.List(ctx, scope, "", p)
		if n := len(some); n > 0 && some[n-1].CreatedAt.Before(after) {
			next = "" // they come newest first
		}
		return some, next, err
	})
	if err != nil {
		return err
	}
	engine, list := rego.New(), []replayed{}
	asked, large, count := 0, 0, map[policy.Status]int{}
	for _, e := range past {
		moment := policy.Moment{Type: e.Type, Action: e.Action}.String()
		if e.CreatedAt.Before(after) || r.asked != "" && r.asked != moment {
			continue
		}
		asked++
		one := replayed{Evaluation: e.ID, At: e.CreatedAt, Asked: moment, Entity: e.Entity, Execution: e.Execution, Then: e.Status}
		with, err := kept.Get(ctx, scope, e.ID)
		if err != nil {
			return err
		}
		if with.Input == nil {
			large++
			one.messages = []string{"its input is too large to be shown"}
			list = append(list, one)
			continue
		}
		said, err := askAgain(ctx, engine, policies, with)
		if err != nil {
			return err
		}
		one.Now = said.Status()
		for _, p := range said.Policies {
			one.Policies = append(one.Policies, testedOf(p))
			one.messages = append(one.messages, p.Messages()...)
		}
		if count[one.Now]++; r.all || one.Now != one.Then {
			list = append(list, one)
		}
	}
	return a.shows.print(list, func() error {
		var rows [][]string
		for _, one := range list {
			now := cmp.Or(string(one.Now), "-")
			rows = append(rows, []string{one.Evaluation, one.At.Format(time.RFC3339), one.Asked, one.Entity, string(one.Then), now, strings.Join(one.messages, "; ")})
		}
		if len(rows) > 0 {
			if err := a.shows.table("EVALUATION AT ASKED ENTITY THEN NOW MESSAGES", rows); err != nil {
				return err
			}
		}
		fmt.Fprintf(a.shows.people(), "asked again about %d inputs: %d pass, %d warnings, %d errors; %d too large\n",
			asked, count[policy.Pass], count[policy.Warned], count[policy.Refused], large)
		return nil
	})
}

// askAgain asks policies about the input of an evaluation, at its time.
func askAgain(ctx context.Context, engine *rego.Engine, policies []localPolicy, e policy.WithInput) (policy.SetResult, error) {
	var input any
	if err := json.Unmarshal(e.Input, &input); err != nil {
		return policy.SetResult{}, fmt.Errorf("read the input of evaluation %s: %w", e.ID, err)
	}
	all := policy.SetResult{Policies: make([]policy.Result, len(policies))}
	for i, p := range policies {
		all.Policies[i] = p.ask(ctx, engine, input, e.CreatedAt)
	}
	return all, nil
}
