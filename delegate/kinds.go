// Package delegate lists the kinds of task that a delegate can run. It is for
// mains: everything heavy that an executor needs comes in with it.
//
// The loops around the executors are delegate/agent's.
package delegate

import (
	"os"
	"path/filepath"

	"github.com/slipway-cd/slipway/delegate/artifact"
	"github.com/slipway-cd/slipway/delegate/bamboo"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/helm"
	"github.com/slipway-cd/slipway/delegate/http"
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
	script := shell.New(os.Environ(), filepath.Join(cache, "ssh"))
	return map[task.Kind]executor.Executor{
		task.KindArtifact:   artifact.New(nil, script),
		task.KindHelm:       helm.New(cache),
		task.KindHTTP:       http.New(nil),
		task.KindBamboo:     bamboo.New(nil),
		task.KindJenkins:    jenkins.New(nil),
		task.KindJira:       jira.New(nil),
		task.KindKubernetes: kubernetes.New(cache),
		task.KindMail:       delegatemail.New(mail.Sender{}),
		task.KindServiceNow: servicenow.New(nil),
		task.KindShell:      script,
	}
}

// Watcher watches what the executors have put somewhere.
func Watcher() executor.Watcher { return watching.New() }
