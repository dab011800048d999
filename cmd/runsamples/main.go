// Command runsamples runs the Kubernetes and Helm pipelines of a checkout of
// harness-community/harnesscd-example-apps as they are against a control plane
// with a delegate and a test cluster, and says of each what came of it. It is
// for developers: samples are kept outside of this repository.
//
// Only the words are replaced that the samples' instructions tell to replace.
// github.com is a server on loopback that serves the checkout, reached as
// behind a company's proxy. What the samples deploy is deleted between them,
// so the cluster must be one of testcluster's:
//
//	bin/testcluster run -- go run ./cmd/runsamples CHECKOUT [FOLDER...]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// delegateName is that of the server's own delegate.
const delegateName = "embedded"

// clusterEnv says that the cluster is one of testcluster's.
const clusterEnv = "SLIPWAY_TEST_KUBECONFIG"

// longest bounds the run of one pipeline.
const longest = 4 * time.Minute

func main() {
	delegate.Answer()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: runsamples CHECKOUT [FOLDER...]")
		os.Exit(2) //nolint:gocritic // stop does nothing that the end of the process doesn't
	}
	failed, err := run(ctx, os.Stdout, os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// run runs the pipelines of a checkout, or of some of its folders, and gives
// the number of those that failed.
func run(ctx context.Context, out io.Writer, checkout string, folders []string) (int, error) {
	if os.Getenv(clusterEnv) == "" {
		return 0, fmt.Errorf("%s isn't set: run it by \"bin/testcluster run\", because it empties the cluster's namespaces", clusterEnv)
	}
	dir, err := os.MkdirTemp("", "runsamples-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	stop, err := serveGit(ctx, dir, checkout)
	if err != nil {
		return 0, err
	}
	defer func() { _ = stop() }() // the process ends
	all, err := read(checkout)
	if err != nil {
		return 0, err
	}
	count := map[verdict]int{}
	for i, d := range all {
		inside := func(folder string) bool {
			return strings.HasPrefix(d.file, filepath.Clean(folder)+string(filepath.Separator))
		}
		if !wanted(d) || len(folders) > 0 && !slices.ContainsFunc(folders, inside) {
			continue
		}
		v, why, err := sample(ctx, filepath.Join(dir, fmt.Sprint(i)), all, d)
		if err != nil {
			return 0, err
		}
		count[v]++
		fmt.Fprintf(out, "%-8s %s", v, d.file)
		if why != "" {
			fmt.Fprintf(out, "\n         because %s", strings.ReplaceAll(strings.TrimSpace(why), "\n", "\n         "))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%d succeeded, %d refused, %d failed\n", count[succeeded], count[refused], count[failed])
	return count[failed], nil
}

// verdict is what came of a pipeline.
type verdict string

const (
	succeeded verdict = "Success"
	refused   verdict = "refused" // before anything ran
	failed    verdict = "FAILED"
)

// sample saves what a pipeline needs on a server of its own and runs it. The
// error is one of this command's, not of the sample.
func sample(ctx context.Context, data string, all []*document, pipeline *document) (verdict, string, error) {
	documents, missing := needs(all, pipeline)
	if len(missing) > 0 {
		return refused, "the checkout has no " + strings.Join(missing, ", no "), nil
	}
	if url := elsewhere(documents); url != "" {
		return refused, "it deploys from " + url + ", whose content the checkout hasn't", nil
	}
	if err := clean(ctx, documents); err != nil {
		return "", "", err
	}
	client, stop, err := serve(ctx, data)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = stop() }() // what it says is about its end only
	for _, d := range documents {
		if _, err := client.Save(ctx, apiclient.Document{Scope: scope(), File: d.file, YAML: d.text}); err != nil {
			return refused, err.Error(), nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	e, err := client.Start(ctx, scope(), pipeline.id, api.StartExecution{})
	if err != nil {
		return refused, err.Error(), nil
	}
	var last api.ExecutionTree
	if err := client.Watch(ctx, e.ID, func(t api.ExecutionTree) { last = t }); err != nil {
		return failed, "it didn't end: " + err.Error(), nil
	}
	if !last.Status.Good() {
		return failed, strings.Join(messages(last.Root), "\n"), nil
	}
	return succeeded, "", nil
}

// messages are what the steps that failed say.
func messages(n *execution.TreeNode) []string {
	var out []string
	if n.Kind == plan.KindStep && n.Status.Bad() {
		out = append(out, fmt.Sprintf("%s is %s: %s", n.Identifier, n.Status, n.Message))
	}
	for _, c := range n.Children {
		out = append(out, messages(c)...)
	}
	return out
}

// kinds are what the delegate of the control plane does.
func kinds(cache string) map[task.Kind]executor.Kind {
	return delegate.Kinds(delegate.Config{Cache: cache})
}

// serve starts a control plane with a delegate in this process.
func serve(ctx context.Context, data string) (*apiclient.Client, func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan wire.Info, 1), make(chan error, 1)
	go func() {
		ended <- wire.Serve(ctx, wire.ServeConfig{
			Addr: "127.0.0.1:0", Data: data, EmbeddedDelegate: true, Kinds: kinds, Log: slog.New(slog.DiscardHandler), Ready: func(i wire.Info) { ready <- i },
		})
	}()
	select {
	case i := <-ready:
		return apiclient.New(i.URL, i.Token), func() error { cancel(); return <-ended }, nil
	case err := <-ended:
		cancel()
		return nil, nil, err
	}
}

var github = regexp.MustCompile(`(?m)^\s+url: (https://github\.com/\S+?)(?:\.git)?\s*$`)

// elsewhere is a repository that a sample deploys from and that isn't served.
func elsewhere(documents []*document) string {
	for _, d := range documents {
		m := github.FindSubmatch(d.text)
		if m != nil && !strings.HasPrefix("https://"+gitHost+"/"+gitUser+"/"+gitRepo, string(m[1])) { // it may be the user's alone
			return string(m[1])
		}
	}
	return ""
}

var namespaceOf = regexp.MustCompile(`(?m)^\s+namespace: ([a-z0-9-]+)\s*$`)

// clean empties the namespaces that a sample deploys to, and makes them.
func clean(ctx context.Context, documents []*document) error {
	for _, d := range documents {
		m := namespaceOf.FindSubmatch(d.text)
		if m == nil {
			continue
		}
		_ = exec.CommandContext(ctx, "kubectl", "create", "namespace", string(m[1])).Run() // it may be there
		c := exec.CommandContext(ctx, "kubectl", "delete", "deployments,statefulsets,services,configmaps,secrets,pods", "--all", "--wait", "-n", string(m[1]))
		if said, err := c.CombinedOutput(); err != nil {
			return errors.Join(fmt.Errorf("empty namespace %s: %s", m[1], said), err)
		}
	}
	return nil
}
