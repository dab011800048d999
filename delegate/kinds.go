// Package delegate lists the kinds of task that a delegate can run. It is for
// mains: everything heavy that an executor needs comes in with it.
//
// The loops around the executors are delegate/agent's.
package delegate

import (
	"context"
	"os"
	"path/filepath"

	"github.com/slipway-cd/slipway/delegate/artifact"
	"github.com/slipway-cd/slipway/delegate/bamboo"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/helm"
	"github.com/slipway-cd/slipway/delegate/http"
	"github.com/slipway-cd/slipway/delegate/instances"
	"github.com/slipway-cd/slipway/delegate/jenkins"
	"github.com/slipway-cd/slipway/delegate/jira"
	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/kubernetes/watching"
	delegatemail "github.com/slipway-cd/slipway/delegate/mail"
	"github.com/slipway-cd/slipway/delegate/servicenow"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Executors lists the executor of each kind of task. What they keep between
// tasks, such as fetched repositories, is below the cache folder.
func Executors(cache string) map[task.Kind]executor.Executor {
	script := scripts(cache)
	return map[task.Kind]executor.Executor{
		task.KindArtifact:   artifact.New(nil, script),
		task.KindHelm:       helm.New(cache, script),
		task.KindHTTP:       http.New(nil),
		task.KindBamboo:     bamboo.New(nil),
		task.KindInstances:  instances.New(script),
		task.KindJenkins:    jenkins.New(nil),
		task.KindJira:       jira.New(nil),
		task.KindKubernetes: kubernetes.New(cache, script),
		task.KindMail:       delegatemail.New(mail.Sender{}),
		task.KindServiceNow: servicenow.New(nil),
		task.KindShell:      script,
	}
}

// Watcher watches what the executors have put somewhere.
func Watcher(cache string) executor.Watcher {
	pods, found := watching.New(), instances.Watch(scripts(cache))
	return func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
		if w.Place.Script != nil {
			return found(ctx, w, report)
		}
		return pods(ctx, w, report)
	}
}

// scripts runs scripts. It remembers the keys of hosts below the cache folder.
func scripts(cache string) executor.Executor {
	return shell.New(os.Environ(), filepath.Join(cache, "ssh"))
}
