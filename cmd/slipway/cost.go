package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/fault"
)

func costCommand(a *app) *cobra.Command {
	var steps, runs, delegates int
	c := &cobra.Command{
		Use: "cost", Short: "Estimate what an installation on AWS costs", GroupID: groupAdmin, Args: cobra.NoArgs,
		Long: "Cost multiplies what one pipeline and one idle month use by AWS's list prices in us-east-1, without free tiers.\n" +
			"docs/cost.md says how the counts were measured.",
		RunE: func(*cobra.Command, []string) error {
			if steps < 1 || runs < 0 || delegates < 0 {
				return fault.New(fault.Invalid, "found %d steps, %d runs and %d delegates; want at least one step and no negative numbers", steps, runs, delegates)
			}
			return a.cost(steps, runs, delegates)
		},
	}
	c.Flags().IntVar(&steps, "steps", 10, "steps of a pipeline")
	c.Flags().IntVar(&runs, "runs", 1000, "pipelines a month")
	c.Flags().IntVar(&delegates, "delegates", 10, "delegates that are connected all month")
	return c
}

// AWS's list prices in us-east-1, in dollars, November 2026.
const (
	priceTransition = 25e-6        // Step Functions, a state transition
	priceInvocation = 0.20e-6      // Lambda, a request
	priceGBSecond   = 0.0000133334 // Lambda, arm64
	priceRequest    = 1e-6         // API Gateway, HTTP API
	priceMinute     = 0.25e-6      // API Gateway, WebSocket, a minute of a connection
	priceMessage    = 1e-6         // API Gateway, WebSocket
	priceWrite      = 0.625e-6     // DynamoDB on demand, a write unit
	priceRead       = 0.125e-6     // DynamoDB on demand, a read unit
	priceEvent      = 1e-6         // EventBridge, an event put onto a bus of one's own
	priceKey        = 1.0          // KMS, a key and a month
)

// What is used, as internal/e2e's counts and docs/data-model.md have it.
const (
	transitionsPerRun, transitionsPerStep = 11, 1 // two runs; Await
	enginePerRun, enginePerStep           = 3, 1
	apiPerRun, apiPerStep                 = 3, 4 // start and two looks; claim, log, result and a heartbeat
	feedPerRun, feedPerStep               = 4, 1 // the table's stream is read each second
	eventsPerRun, eventsPerStep           = 4, 2
	writesPerRun, writesPerStep           = 27, 22 + 4 // 4 for a chunk of the log and a heartbeat
	readsPerRun, readsPerStep             = 20, 19 + 5 // 5 likewise
	gbSeconds                             = 0.5 * 0.05 // of an invocation: 512 MB for 50 ms, as measured

	minutesPerMonth = 43_800
	pollsPerMinute  = 0.2 // connected and idle: they stand for heartbeats
	sweepsPerMonth  = minutesPerMonth / 5
	readsPerSweep   = 7                   // executions under way; the rest to see that no audit record is old
	readsPerPass    = 2                   // the audit trail's destinations, and where it begins
	looksPerMonth   = minutesPerMonth / 5 // of a delegate that asks what to watch (docs/instances.md)
	readsPerLook    = 2.5                 // its token, itself, and the keys of 15 placements
)

// expense is a line of the estimate.
type expense struct {
	What    string  `json:"what"`
	Count   float64 `json:"count"`
	Dollars float64 `json:"dollars"`
}

func (a *app) cost(steps, runs, delegates int) error {
	n, d := float64(steps), float64(delegates)
	invocations := enginePerRun + apiPerRun + feedPerRun + n*(enginePerStep+apiPerStep+feedPerStep)
	run := []expense{
		line("state transitions", transitionsPerRun+n*transitionsPerStep, priceTransition),
		line("Lambda invocations", invocations, priceInvocation+gbSeconds*priceGBSecond),
		line("API requests", apiPerRun+n*apiPerStep, priceRequest),
		line("wake-ups", n, priceMessage),
		line("events", eventsPerRun+n*eventsPerStep, priceEvent),
		line("DynamoDB write units", writesPerRun+n*writesPerStep, priceWrite),
		line("DynamoDB read units", readsPerRun+n*readsPerStep, priceRead),
	}
	requests := d * minutesPerMonth * pollsPerMinute
	idle := []expense{
		line("API requests", requests, priceRequest),
		line("Lambda invocations", requests+sweepsPerMonth+2*minutesPerMonth, priceInvocation+gbSeconds/5*priceGBSecond),
		line("DynamoDB write units", requests, priceWrite),
		line("DynamoDB read units", 3*requests+readsPerSweep*sweepsPerMonth+(1+readsPerPass)*minutesPerMonth, priceRead),
		line("requests for watches", d*looksPerMonth, priceRequest+priceInvocation+gbSeconds/5*priceGBSecond+readsPerLook*priceRead),
		line("connection minutes", d*minutesPerMonth, priceMinute),
		line("KMS key", 1, priceKey),
	}
	perRun, perMonth := sum(run), sum(idle)
	all := map[string]any{
		"run": run, "idleMonth": idle, "runDollars": perRun, "idleMonthDollars": perMonth, "monthDollars": perMonth + float64(runs)*perRun,
	}
	return a.shows.print(all, func() error {
		var rows [][]string
		for _, part := range []struct {
			name  string
			lines []expense
			sum   float64
		}{{fmt.Sprintf("a pipeline of %d steps", steps), run, perRun}, {fmt.Sprintf("an idle month, %d delegates", delegates), idle, perMonth}} {
			for _, e := range part.lines {
				rows = append(rows, []string{part.name, e.What, fmt.Sprintf("%.0f", e.Count), fmt.Sprintf("%.6f", e.Dollars)})
			}
			rows = append(rows, []string{part.name, "together", "", fmt.Sprintf("%.6f", part.sum)})
		}
		rows = append(rows, []string{fmt.Sprintf("a month of %d pipelines", runs), "together", "", fmt.Sprintf("%.2f", perMonth+float64(runs)*perRun)})
		return a.shows.table("FOR WHAT COUNT DOLLARS", rows)
	})
}

func line(what string, count, price float64) expense {
	return expense{What: what, Count: count, Dollars: count * price}
}

func sum(list []expense) float64 {
	total := 0.0
	for _, e := range list {
		total += e.Dollars
	}
	return total
}
