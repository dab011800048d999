package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/printable"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

func connectorCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "connector", Aliases: []string{"connectors"}, Short: "Test connectors", GroupID: groupWrite}
	c.AddCommand(connectorTestCommand(a))
	return c
}

func connectorTestCommand(a *app) *cobra.Command {
	var f struct {
		documentFlags

		files []string
	}
	c := &cobra.Command{
		Use: "test (ID... | -f PATH)", Short: "Have a delegate try whether connectors work",
		Long: "Test has a delegate that carries the connector's delegateSelectors look up the host, connect to it and log in, and shows each of these checks.\n" +
			"With -f it tests the connectors of files as they would be saved, and saves nothing; the secrets that they name have to be there.\n\n" +
			"It fails unless each connector is let in.",
		Example: "  slipway connector test my_cluster account.images\n  slipway connector test -f connector.yaml",
		ValidArgsFunction: func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.naming.completeIDs(c, string(ref.Connector), false)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) > 0) == (len(f.files) > 0) {
				return fault.New(fault.Invalid, "want either identifiers of connectors or -f with a file")
			}
			if len(args) > 0 {
				return a.testSaved(c.Context(), args)
			}
			return a.testDocuments(c.Context(), f.files, f.documentFlags)
		},
	}
	c.Flags().StringSliceVarP(&f.files, "filename", "f", nil, "file, folder, https:// address, or - for the standard input; may be repeated")
	f.documentFlags.add(c)
	return c
}

// testedConnector is a connector with what its test came to.
type testedConnector struct {
	Connector string `json:"connector"`
	Execution string `json:"execution"` // whose step "test" has the log
	api.ConnectorTest
}

// toTest is a connector whose test is to be started.
type toTest struct {
	name  string
	start func(context.Context) (api.StartedTest, error)
}

func (a *app) testSaved(ctx context.Context, names []string) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	var all []toTest
	for _, name := range names {
		all = append(all, toTest{name, func(ctx context.Context) (api.StartedTest, error) { return client.TestConnector(ctx, scope, name) }})
	}
	return a.testAll(ctx, client, all)
}

// testDocuments tests the connectors among documents.
func (a *app) testDocuments(ctx context.Context, files []string, flags documentFlags) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	read, err := a.reader.readDocuments(ctx, files, flags)
	if err != nil {
		return err
	}
	defer a.shows.tellSkipped(read.skipped, flags.verbose)
	if len(read.wrong) > 0 {
		return a.shows.nothingDone(read.wrong, "tested")
	}
	var all []toTest
	for _, d := range read.docs {
		doc := d.node.Get(string(ref.Connector))
		if doc == nil {
			continue
		}
		all = append(all, toTest{textOf(doc.Get("identifier")), func(ctx context.Context) (api.StartedTest, error) {
			started, err := client.TestDocument(ctx, apiclient.Document{Scope: d.scope(a.caller, scope), File: d.file, YAML: d.yaml, Strict: flags.strict})
			for _, w := range started.Warnings {
				fmt.Fprintln(a.err, finding(d.place(w)))
			}
			return started, d.placed(err)
		}})
	}
	if len(all) == 0 {
		return fault.New(fault.Invalid, "no connector is in %s", strings.Join(files, ", "))
	}
	return a.testAll(ctx, client, all)
}

// placed moves the findings of an error from the document to its file.
func (d document) placed(err error) error {
	details := refused(err)
	if len(details) == 0 {
		return err
	}
	for i := range details {
		details[i] = d.place(details[i])
	}
	return err
}

// testAll tests one connector after the other. It fails if one isn't let in.
func (a *app) testAll(ctx context.Context, client *apiclient.Client, all []toTest) error {
	results := []testedConnector{}
	bad := false
	for _, one := range all {
		found, err := a.testOne(ctx, client, one)
		if err != nil {
			return err
		}
		results = append(results, found)
		bad = bad || found.Status != execution.ProbeStatus(probe.Success) && found.Status != execution.ProbeStatus(probe.Partial)
		if a.shows.outputIn("table", "wide", "") {
			a.shows.showTest(found) // each as it comes
		}
	}
	if err := a.shows.print(results, func() error { return nil }); err != nil {
		return err
	}
	if bad {
		return failed
	}
	return nil
}

func (a *app) testOne(ctx context.Context, client *apiclient.Client, one toTest) (testedConnector, error) {
	started, err := one.start(ctx)
	if err != nil {
		return testedConnector{}, err
	}
	err = client.Watch(ctx, started.Execution, func(api.ExecutionTree) {})
	if ctx.Err() != nil { // nobody else knows of it
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		if _, err := client.Abort(last, started.Execution); err != nil {
			return testedConnector{}, err
		}
		return testedConnector{}, interrupted
	}
	if err != nil {
		return testedConnector{}, err
	}
	found, err := client.ConnectorTest(ctx, started.Execution)
	return testedConnector{one.name, started.Execution, found}, err
}

// showTest shows a test to people.
func (o *output) showTest(t testedConnector) {
	head := fmt.Sprintf("connector %s: %s", t.Connector, t.Status)
	if t.Delegate != nil {
		head += fmt.Sprintf(", tested by delegate %s on %s", t.Delegate.Name, t.Delegate.Host)
	}
	fmt.Fprintln(o.people(), head)
	for _, c := range t.Checks {
		mark := "✓"
		if !c.OK {
			mark = "✗"
		}
		fmt.Fprintf(o.people(), "  %s %-13s %6s  %s\n", mark, c.Name, time.Duration(c.Took)*time.Millisecond, printable.Line(c.Message))
	}
	if t.Message != "" {
		fmt.Fprintf(o.people(), "  %s\n", printable.Line(t.Message))
	}
}
