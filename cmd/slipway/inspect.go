package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/resolve"
)

func inspectCommand(a *app) *cobra.Command {
	return a.naming.onExecution(&cobra.Command{
		Use: "inspect EXECUTION|PIPELINE STEP|STAGE", Short: "Show what a step was given and has put out, and who did it", Args: cobra.ExactArgs(2),
		Long: "Inspect shows a step or a stage: what it was given, with its expressions resolved; what it has put out, and by which expression\n" +
			"others read that; its attempts and who did them; of a Deployment stage what it deploys. Secrets are masked.",
		Example: "  slipway executions inspect guestbook rollout\n  slipway executions inspect guestbook build -o 'jsonpath={.outputs[*].expression}'",
	}, newest, func(ctx context.Context, client *apiclient.Client, args []string) error {
		d, err := apiclient.Node(ctx, client, args[0], args[1])
		if err != nil {
			return err
		}
		return a.shows.print(d, func() error {
			for _, part := range []func(execution.NodeDetails) error{a.shows.inspected, a.shows.delivered, a.shows.given, a.shows.putOut, a.shows.attempts} {
				if err := part(d); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// inspected says what a node is and how it stands.
func (o *output) inspected(d execution.NodeDetails) error {
	w := o.people()
	n := d.Node
	fmt.Fprintf(w, "%s  %s  %s\n", cmp.Or(n.Name, n.Identifier, string(n.Kind)), cmp.Or(n.Type, string(n.Kind)), n.Status)
	fact(w, "id", string(n.ID))
	fact(w, "message", n.Message)
	if !n.StartedAt.IsZero() {
		fact(w, "started", n.StartedAt.UTC().Format(time.RFC3339))
	}
	if !n.EndedAt.IsZero() {
		fact(w, "ended", n.EndedAt.UTC().Format(time.RFC3339))
	}
	fact(w, "timeout", d.Timeout)
	if d.When != nil {
		fact(w, "runs on", strings.TrimSuffix(d.When.Status+", if "+d.When.Condition, ", if "))
	}
	if it := d.Loop; it != nil {
		fact(w, "iteration", fmt.Sprintf("%d of %d: %s", it.Number, it.Total, it.Name))
		for _, key := range slices.Sorted(maps.Keys(it.Values)) {
			fact(w, key, it.Values[key])
		}
	}
	var types []string
	for _, t := range d.Failures {
		types = append(types, string(t))
	}
	fact(w, "failure types", strings.Join(types, ", "))
	fact(w, "selectors", strings.Join(d.Selectors, ", "))
	return nil
}

func fact(w io.Writer, name, value string) {
	if value != "" {
		fmt.Fprintf(w, "%-14s %s\n", name+":", value)
	}
}

// delivered says what a stage deploys where.
func (o *output) delivered(d execution.NodeDetails) error {
	if d.Delivered == nil {
		return nil
	}
	w := o.people()
	fmt.Fprintf(w, "\ndeploys %s to %s\n", d.Delivered.Service, strings.Trim(d.Delivered.Environment+" / "+d.Delivered.Infrastructure, " /"))
	var rows [][]string
	for _, a := range d.Delivered.Artifacts {
		rows = append(rows, []string{cmp.Or(a.Identifier, "primary"), a.Type, cmp.Or(a.Version, "-"), cmp.Or(a.Image, "-"), cmp.Or(a.Digest, "-"), cmp.Or(a.Unknown, "-")})
	}
	if len(rows) > 0 {
		if err := o.table("ARTIFACT SOURCE VERSION IMAGE DIGEST UNKNOWN", rows); err != nil {
			return err
		}
	}
	rows = nil
	for _, m := range d.Delivered.Manifests {
		rows = append(rows, []string{m.Identifier, m.Type, m.From, cmp.Or(m.Store, "-"), cmp.Or(versionOf(m), "-")})
	}
	if len(rows) == 0 {
		return nil
	}
	return o.table("MANIFEST TYPE OF STORE VERSION", rows)
}

func versionOf(m resolve.DeliveredManifest) string {
	return strings.Join(slices.DeleteFunc([]string{m.Chart, m.Version, m.Branch, m.Commit}, func(s string) bool { return s == "" }), " ")
}

// given says what a node was given.
func (o *output) given(d execution.NodeDetails) error {
	if d.Inputs.YAML == "" {
		return nil
	}
	w := o.people()
	fmt.Fprintln(w, "\ninputs:")
	for line := range strings.Lines(d.Inputs.YAML) {
		fmt.Fprint(w, "  ", line)
	}
	for _, v := range d.Inputs.Values {
		if v.Unknown != "" {
			fmt.Fprintf(w, "  # %s: %s\n", v.Path, v.Unknown)
		}
	}
	return nil
}

// putOut says what a step has put out.
func (o *output) putOut(d execution.NodeDetails) error {
	if len(d.Outputs) == 0 {
		return nil
	}
	fmt.Fprintln(o.people(), "\noutputs:")
	var rows [][]string
	for _, out := range d.Outputs {
		rows = append(rows, []string{cmp.Or(out.Expression, out.Name), firstLine(out.Value)})
	}
	if err := o.table("EXPRESSION VALUE", rows); err != nil {
		return err
	}
	if d.Hidden > 0 {
		fmt.Fprintf(o.people(), "and %d more\n", d.Hidden)
	}
	return nil
}

// attempts says who did a step.
func (o *output) attempts(d execution.NodeDetails) error {
	if len(d.Attempts) == 0 {
		return nil
	}
	fmt.Fprintln(o.people(), "\nattempts:")
	var rows [][]string
	for _, t := range d.Attempts {
		by, host := "-", "-"
		if t.Delegate != nil {
			by, host = cmp.Or(t.Delegate.Name, t.Delegate.ID), cmp.Or(t.Delegate.Host, "-")
		}
		rows = append(rows, []string{strconv.Itoa(t.Number), string(t.Status), by, host, cmp.Or(firstLine(t.Message), "-")})
	}
	return o.table("ATTEMPT STATUS DELEGATE HOST MESSAGE", rows)
}
