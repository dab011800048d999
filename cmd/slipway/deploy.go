package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// deployment is what "slipway deploy" was asked for.
type deployment struct {
	stage     string
	source    string   // a folder in a clone of the repository
	context   []string // key=value, for infra/config.go
	bootstrap bool     // prepare the account for the CDK if it isn't
	diffOnly  bool
	yes       bool // don't ask
}

func deployCommand(a *app) *cobra.Command {
	var d deployment
	c := &cobra.Command{
		Use: "deploy", Short: "Install Slipway on AWS, or update it", GroupID: groupAdmin, Args: cobra.NoArgs,
		Long: "Deploy builds the functions from a clone of Slipway's repository, shows what would change in the AWS account of\n" +
			"this machine's credentials, asks, and changes it. What is deployed is what was shown. It needs Go and Node.js.",
		Example: "  slipway deploy --stage prod --bootstrap -c alarms=ops@example.com",
		RunE:    func(c *cobra.Command, _ []string) error { return a.installer.deploy(c.Context(), d) },
	}
	f := c.Flags()
	f.StringVar(&d.stage, "stage", "prod", "stage of the installation; it names everything")
	f.StringVar(&d.source, "source", ".", "folder of the clone, or one in it")
	f.StringArrayVarP(&d.context, "context", "c", nil, "key=value, a setting of docs/aws.md; may be repeated")
	f.BoolVar(&d.bootstrap, "bootstrap", false, "let the CDK prepare the account and region first, if that wasn't done")
	f.BoolVar(&d.diffOnly, "diff-only", false, "show what would change, and change nothing")
	f.BoolVar(&d.yes, "yes", false, "don't ask")
	return c
}

// installer puts Slipway into an account of AWS, asking before each change.
type installer struct {
	in    io.Reader
	err   io.Writer
	shows *output
}

// deploy tells on standard error what it does; on standard output are the
// stacks' outputs alone.
func (i *installer) deploy(ctx context.Context, d deployment) error {
	root, err := findClone(d.source)
	if err != nil {
		return err
	}
	if err := findTools(); err != nil {
		return err
	}
	sdk, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("load the AWS configuration: %w", err)
	}
	at, err := findAccount(ctx, sdk)
	if err != nil {
		return err
	}
	fmt.Fprintf(i.err, "stage %s in account %s, region %s, as %s\n", d.stage, at.id, sdk.Region, at.caller)
	t := toolbox{root: root, region: sdk.Region, out: i.err}
	if err := t.installCDK(ctx); err != nil {
		return err
	}
	if err := i.prepareAccount(ctx, sdk, t, d, at.id); err != nil {
		return err
	}
	if err := i.change(ctx, t, d); err != nil || d.diffOnly {
		return err
	}
	outputs, err := stackOutputs(ctx, sdk, d.stage)
	if err != nil {
		return err
	}
	return i.deployed(d.stage, outputs)
}

// prepareAccount lets the CDK make its bucket and its roles, unless they are
// there.
func (i *installer) prepareAccount(ctx context.Context, sdk aws.Config, t toolbox, d deployment, id string) error {
	version, err := bootstrapVersion(ctx, sdk)
	if err != nil || version >= minBootstrap || d.diffOnly {
		return err
	}
	if !d.bootstrap {
		return notPrepared(version, id, sdk.Region)
	}
	environment := "aws://" + id + "/" + sdk.Region
	if err := i.agree(ctx, d, "Prepare "+environment+" for the CDK, with a bucket, a repository and roles?"); err != nil {
		return err
	}
	return t.cdk(ctx, "bootstrap", environment)
}

// change shows what would change, and changes it unless that isn't wanted.
func (i *installer) change(ctx context.Context, t toolbox, d deployment) error {
	if err := t.run(ctx, t.root, "go", "run", "./tools/functions"); err != nil {
		return err
	}
	// What is shown and what is deployed are the same files.
	assembly := filepath.Join("..", "dist", "assembly-"+d.stage)
	synth := []string{"synth", "--quiet", "--output", assembly, "-c", "stage=" + d.stage}
	for _, c := range d.context {
		synth = append(synth, "-c", c)
	}
	if err := t.cdk(ctx, synth...); err != nil {
		return err
	}
	if err := t.cdk(ctx, "diff", "--app", assembly); err != nil || d.diffOnly {
		return err
	}
	if err := i.agree(ctx, d, "Change stage "+d.stage+" like this?"); err != nil {
		return err
	}
	return t.cdk(ctx, "deploy", "--all", "--app", assembly, "--require-approval", "never")
}

// agree asks; anything but yes is an error.
func (i *installer) agree(ctx context.Context, d deployment, question string) error {
	if d.yes {
		return nil
	}
	fmt.Fprint(i.err, question+" [y/N] ")
	answer := make(chan string, 1)
	go func() { // ends with the process at the latest
		line, _ := bufio.NewReader(i.in).ReadString('\n') // the end of the input is a no
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return interrupted
	case said := <-answer:
		if said == "y" || said == "yes" {
			return nil
		}
	}
	return fault.New(fault.Conflict, "nothing was changed: the answer wasn't yes; --yes gives it beforehand")
}

// deployed shows the outputs, and what to do with them.
func (i *installer) deployed(stage string, outputs map[string]string) error {
	err := i.shows.print(outputs, func() error {
		var rows [][]string
		for _, name := range slices.Sorted(maps.Keys(outputs)) {
			rows = append(rows, []string{name, outputs[name]})
		}
		return i.shows.table("OUTPUT VALUE", rows)
	})
	fmt.Fprintf(i.err, "\nNext:\n"+
		"  slipway login --stage %s\n"+
		"  slipway doctor\n"+
		"  slipway token create --delegate NAME   # docs/delegate.md says how to run the delegate\n", stage)
	return err
}
