package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/policy/rego"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func policyCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "policy", Aliases: []string{"policies"}, Short: "Try governance policies, and look at what they came to", GroupID: groupWrite}
	var input string
	test := &cobra.Command{
		Use: "test FILE", Short: "Say what policies say of an input, without a server", Args: cobra.ExactArgs(1),
		Long: "Test asks the policy of a .rego file, or those of a file with documents, about an input in JSON or YAML, as a server would. It fails\n" +
			"if one of them denies or can't be evaluated.",
		Example: "  slipway policy test approval.rego --input pipeline.yaml",
		RunE:    func(c *cobra.Command, args []string) error { return testPolicies(c.Context(), a, args[0], input) },
	}
	test.Flags().StringVar(&input, "input", "", "file with what they are asked about; - is the standard input")
	_ = test.MarkFlagRequired("input")
	c.AddCommand(test, evaluationsCommand(a), replayCommand(a))
	return c
}

// testedPolicy is what a policy said of an input.
type testedPolicy struct {
	Policy string        `json:"policy"`
	Status policy.Status `json:"status"`
	Deny   []string      `json:"deny,omitempty"`
	Warn   []string      `json:"warn,omitempty"`
	Error  string        `json:"error,omitempty"`
}

// testedOf is a result as it is told.
func testedOf(r policy.Result) testedPolicy {
	t := testedPolicy{Policy: r.Name, Status: r.Status(), Deny: r.Deny, Warn: r.Warn}
	if r.Err != nil {
		t.Error = r.Err.Error()
	}
	return t
}

func testPolicies(ctx context.Context, a *app, path, input string) error {
	policies, err := a.reader.readPolicies(path)
	if err != nil {
		return err
	}
	text, err := a.reader.readAll(input)
	if err != nil {
		return err
	}
	docs, report := yamldoc.Parse(input, text)
	if err := report.Err(); err != nil {
		return err
	}
	if len(docs) != 1 {
		return fault.New(fault.Invalid, "%s: found %d documents; want one", input, len(docs))
	}
	engine := rego.New()
	var tested []testedPolicy
	var rows [][]string
	bad := false
	for _, p := range policies {
		r := p.ask(ctx, engine, docs[0].Any(), time.Now())
		t := testedOf(r)
		bad = bad || t.Status == policy.Refused
		tested = append(tested, t)
		messages := r.Messages()
		for i := range max(len(messages), 1) {
			row := []string{"", "", ""}
			if i == 0 {
				row[0], row[1] = t.Policy, string(t.Status)
			}
			if len(messages) > 0 {
				row[2] = messages[i]
			}
			rows = append(rows, row)
		}
	}
	if err := a.shows.print(tested, func() error { return a.shows.table("POLICY STATUS MESSAGE", rows) }); err != nil {
		return err
	}
	if bad {
		return failed
	}
	return nil
}

// localPolicy is a policy of a file.
type localPolicy struct {
	name, rego string
	// asked are when sets beside it ask it, each with its severity; nil: whatever
	// is saved.
	asked map[policy.Moment]policy.Severity
}

// ask asks the policy about an input, as a server would at a time.
func (p localPolicy) ask(ctx context.Context, engine *rego.Engine, input any, now time.Time) policy.Result {
	return policy.Result{Name: p.name, Severity: policy.Error, Answer: engine.Evaluate(ctx, p.rego, input, now)}
}

// readPolicies reads the policy of a .rego file, or those of a file's documents.
func (r *reader) readPolicies(path string) ([]localPolicy, error) {
	if filepath.Ext(path) == ".rego" {
		text, err := r.readAll(path)
		return []localPolicy{{name: path, rego: string(text)}}, err
	}
	found, err := r.policyDocuments(path, ref.Scope{})
	if err != nil {
		return nil, err
	}
	var out []localPolicy
	for _, e := range found {
		if e.Policy != nil {
			out = append(out, localPolicy{name: e.Identifier.Value, rego: e.Policy.Rego})
		}
	}
	if len(out) == 0 {
		return nil, fault.New(fault.Invalid, "%s has no policy: want a .rego file, or documents with the root key policy", path)
	}
	return out, nil
}
