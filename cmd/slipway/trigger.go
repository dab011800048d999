package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/match"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func triggerCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "trigger", Aliases: []string{"triggers"}, Short: "Look at, try and switch triggers", GroupID: groupRun}
	limit := 0
	fires := &cobra.Command{
		Use: "fires PIPELINE/TRIGGER", Short: "List what a trigger did, newest first", Args: cobra.ExactArgs(1),
		Example: "  slipway trigger fires deploy/on_push",
		RunE:    func(c *cobra.Command, args []string) error { return a.fires(c.Context(), args[0], limit) },
	}
	fires.Flags().IntVar(&limit, "limit", 20, "at most so many; 0 lists all")
	c.AddCommand(fires, triggerTestCommand(a))
	for word, on := range map[string]bool{"enable": true, "disable": false} {
		c.AddCommand(&cobra.Command{
			Use: word + " PIPELINE/TRIGGER", Short: upperFirst(word) + " a trigger", Args: cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error { return a.switchTrigger(c.Context(), args[0], on) },
		})
	}
	return c
}

func upperFirst(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// ofPipeline takes PIPELINE/TRIGGER apart.
func ofPipeline(name string) (pipeline, id string, err error) {
	pipeline, id, ok := strings.Cut(name, "/")
	if !ok || pipeline == "" || id == "" {
		return "", "", fault.New(fault.Invalid, "found %q; want PIPELINE/TRIGGER", name)
	}
	return pipeline, id, nil
}

func (a *app) fires(ctx context.Context, name string, limit int) error {
	pipeline, id, err := ofPipeline(name)
	if err != nil {
		return err
	}
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.All(limit, func(p apiclient.Page) ([]api.Fire, string, error) {
		return client.Fires(ctx, scope, pipeline, id, p)
	})
	if err != nil {
		return err
	}
	return a.shows.print(all, func() error {
		var rows [][]string
		for _, f := range all {
			rows = append(rows, []string{f.At, string(f.Outcome), f.Execution, f.Event, f.Reason})
		}
		return a.shows.table("AT OUTCOME EXECUTION EVENT REASON", rows)
	})
}

// switchTrigger changes the key enabled of a saved trigger and nothing else.
func (a *app) switchTrigger(ctx context.Context, name string, on bool) error {
	pipeline, id, err := ofPipeline(name)
	if err != nil {
		return err
	}
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	saved, err := client.Entity(ctx, apiclient.EntityKey{Scope: scope, Kind: ref.Trigger, Env: pipeline, ID: id})
	if err != nil {
		return err
	}
	doc, err := switched([]byte(saved.YAML), on)
	if err != nil {
		return err
	}
	done, err := client.Save(ctx, apiclient.Document{Scope: scope, File: id + ".yaml", YAML: doc, Version: &saved.Version})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.shows.people(), "trigger %s %s: enabled is %t\n", name, done.Change, on)
	return nil
}

// switched sets enabled in a trigger's document. The rest stays as it is, byte
// for byte.
func switched(doc []byte, on bool) ([]byte, error) {
	docs, report := yamldoc.Parse("", doc)
	if err := report.Err(); err != nil || len(docs) != 1 || docs[0].Get("trigger") == nil || len(docs[0].Get("trigger").Entries) == 0 {
		return nil, fault.New(fault.Invalid, "what is saved isn't a trigger: %w", err)
	}
	t := docs[0].Get("trigger")
	value := strconv.FormatBool(on)
	first := t.Entries[0]
	line, column, old, text := first.Line, first.Column, "", "enabled: "+value+"\n"+strings.Repeat(" ", first.Column-1)
	if first.Line == docs[0].Entries[0].Line { // trigger: {a: b}
		text = "enabled: " + value + ", "
	}
	if is := t.Get("enabled"); is != nil {
		line, column, old, text = is.Line, is.Column, is.Value, value
	}
	lines := bytes.SplitAfter(doc, []byte("\n"))
	rest := string(lines[line-1])[column-1:]
	if !strings.HasPrefix(rest, old) {
		return nil, fault.New(fault.Unsupported, "the value of enabled in line %d can't be replaced; edit the trigger and apply it", line)
	}
	lines[line-1] = []byte(string(lines[line-1])[:column-1] + text + rest[len(old):])
	return bytes.Join(lines, nil), nil
}

func triggerTestCommand(a *app) *cobra.Command {
	var headers []string
	var repository string
	c := &cobra.Command{
		Use: "test TRIGGER.yaml PAYLOAD.json", Short: "Say whether a trigger fits a delivery, without a server", Args: cobra.ExactArgs(2),
		Long: "Test reads a webhook's trigger and the body of a delivery, such as a Git host shows it, or an artifact's trigger and an event\n" +
			"of EventBridge, and says whether its event, actions and conditions fit, and if not, which doesn't. It starts nothing, and\n" +
			"asks for no signature.",
		Example: "  slipway trigger test trigger.yaml payload.json -H 'X-GitHub-Event: push' --repository https://github.com/acme/web",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.testTrigger(args[0], args[1], headers, repository)
		},
	}
	c.Flags().StringArrayVarP(&headers, "header", "H", nil, "a header of the delivery, e.g. 'X-GitHub-Event: push'")
	c.Flags().StringVar(&repository, "repository", "", "URL that the connector and repoName give; empty: the delivery's")
	return c
}

func (a *app) testTrigger(file, payload string, headers []string, repository string) error {
	t, err := readTrigger(file)
	if err != nil {
		return err
	}
	body, err := os.ReadFile(payload)
	if err != nil {
		return fault.New(fault.Invalid, "read the payload: %w", err)
	}
	if t.Artifact.Type.Value != "" {
		return a.testArtifact(t.Artifact, body)
	}
	w := t.Webhook
	d := trigger.Delivery{Source: w.Host.Value, Body: body, Header: trigger.Header{}}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		d.Header[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	events, err := trigger.Read(d)
	if err != nil {
		return err
	}
	for _, e := range events {
		mismatch, err := fits(w, e, repository)
		if err != nil {
			return err
		}
		if mismatch != "" {
			return fault.New(fault.Conflict, "the trigger wouldn't fire: %s", mismatch)
		}
	}
	fmt.Fprintln(a.shows.people(), "the trigger would fire")
	return nil
}

// testArtifact says whether a trigger fits an event of EventBridge. Whose
// registry its connector means isn't known without a server.
func (a *app) testArtifact(t entity.ArtifactTrigger, body []byte) error {
	e, err := trigger.ReadAWS(body)
	if err != nil {
		return err
	}
	if !match.ConcernsArtifact(t, t.RegistryID.Value, e) {
		return fault.New(fault.Conflict, "the trigger wouldn't fire: it doesn't listen to %s of %s in %s", e.Source, e.Artifact.Name, e.Artifact.Region)
	}
	if e.Source == trigger.AmazonMachineImage {
		return fault.New(fault.Unsupported, "an event has the id of a machine image alone; what it is, a delegate has to look at, so without a server nobody knows whether the trigger would fire")
	}
	mismatch, err := match.Artifact(t, e)
	if err != nil {
		return err
	}
	if mismatch != "" {
		return fault.New(fault.Conflict, "the trigger wouldn't fire: %s", mismatch)
	}
	fmt.Fprintln(a.shows.people(), "the trigger would fire")
	return nil
}

// fits says why an event isn't for a webhook; empty: it is.
func fits(w entity.Webhook, e trigger.Event, repository string) (string, error) {
	if repository == "" && len(e.Repository) > 0 {
		repository = e.Repository[0]
	}
	if !match.Concerns(w, repository, e) {
		return fmt.Sprintf("the delivery is %s of %s; the trigger listens to %s of %s", strings.Join(e.Types, " and "),
			strings.Join(e.Repository, ", "), w.Event.Value, repository), nil
	}
	return match.Webhook(w, e)
}

func readTrigger(file string) (*entity.Trigger, error) {
	doc, err := os.ReadFile(file)
	if err != nil {
		return nil, fault.New(fault.Invalid, "read the trigger: %w", err)
	}
	docs, report := yamldoc.Parse(file, doc)
	if len(docs) != 1 {
		return nil, fault.New(fault.Invalid, "%s has %d documents; want one trigger", file, len(docs))
	}
	e := entity.Decode(docs[0], report, entity.Options{Scope: ref.Scope{Account: "default", Org: defaultOrg, Project: defaultProject}, Types: builtin.Types()})
	if err := report.Err(); err != nil {
		return nil, err
	}
	if e.Trigger == nil || e.Trigger.Webhook.Host.Value == "" && e.Trigger.Artifact.Type.Value == "" {
		return nil, fault.New(fault.Invalid, "%s isn't the trigger of a webhook or of an artifact", file)
	}
	return e.Trigger, nil
}
