// Package delegate lists the kinds of task that a delegate can run. It is for
// mains: everything heavy that an executor needs comes in with it.
//
// The loops around the executors are delegate/agent's.
package delegate

import (
	"maps"
	nethttp "net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-cd/slipway/delegate/artifact"
	"github.com/slipway-cd/slipway/delegate/asg"
	"github.com/slipway-cd/slipway/delegate/aws"
	cdk "github.com/slipway-cd/slipway/delegate/awscdk"
	functions "github.com/slipway-cd/slipway/delegate/awslambda"
	sam "github.com/slipway-cd/slipway/delegate/awssam"
	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/bamboo"
	"github.com/slipway-cd/slipway/delegate/cloudformation"
	"github.com/slipway-cd/slipway/delegate/ecs"
	groups "github.com/slipway-cd/slipway/delegate/elastigroup"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gitops/errands"
	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/delegate/gitops/release"
	"github.com/slipway-cd/slipway/delegate/gitops/render"
	"github.com/slipway-cd/slipway/delegate/gotemplate"
	"github.com/slipway-cd/slipway/delegate/helm"
	"github.com/slipway-cd/slipway/delegate/http"
	"github.com/slipway-cd/slipway/delegate/instances"
	"github.com/slipway-cd/slipway/delegate/jenkins"
	"github.com/slipway-cd/slipway/delegate/jira"
	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/kubernetes/watching"
	delegatemail "github.com/slipway-cd/slipway/delegate/mail"
	"github.com/slipway-cd/slipway/delegate/probe"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/delegate/serverless"
	"github.com/slipway-cd/slipway/delegate/servicenow"
	sessions "github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/delegate/watchdog"
	tools "github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/poll"
	apps "github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	stacks "github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
	"github.com/slipway-cd/slipway/pkg/session"
	laneasg "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	"github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
	laneecs "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	services "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Config is what executors need.
type Config struct {
	// Cache is the folder of what is kept between tasks, such as fetched
	// repositories.
	Cache string
	// RenderMemory is how much memory rendering may take, in bytes; 0:
	// sandbox.DefaultMemory.
	RenderMemory int64
	// Workspace is how much the workspace of a session may hold, in bytes; 0:
	// session.DefaultLimit.
	Workspace int64
	// HostKeys are those of SSH hosts that repositories are fetched from.
	HostKeys gitfetch.HostKeys
	// Environ is the environment in which tools are looked for and run; nil: the
	// delegate's own.
	Environ []string
	// AWS is how it treats accounts of AWS.
	AWS AWS
	// Orphan is how long what a session runs goes on without any delegate; 0: an
	// hour.
	Orphan time.Duration
	// Via is how Spot is reached; nil is a transport with net/http's defaults.
	Via nethttp.RoundTripper
}

// AWS is how a delegate treats accounts of AWS.
type AWS struct {
	// Poll is the shortest time between two looks at what AWS does by itself.
	Poll time.Duration
	// InstancePoll is the time between two looks at what was deployed; 0: ten
	// minutes.
	InstancePoll time.Duration
	// Untagged leaves out the tags that say what resources are of.
	Untagged bool
	// Bucket is where templates of stacks are put, for the time of a task, that are too
	// large to come with a request; empty: nowhere.
	Bucket string
}

// at is a pace of waits for what AWS does.
func (a AWS) at(p awswait.Pace) awswait.Pace { return awswait.AtLeast(a.Poll, p) }

// Answer is the first call of every main, and of every TestMain, whose program
// runs Kinds: in a child process of a sandbox, and in a watchdog whose
// delegate was killed, it does what is asked for and ends the process; else it
// does nothing.
func Answer() {
	watchdog.Answer()
	verbs := kubernetes.Verbs()
	maps.Copy(verbs, helm.Verbs())
	maps.Copy(verbs, render.Verbs())
	maps.Copy(verbs, generate.Verbs())
	maps.Copy(verbs, gotemplate.Verbs())
	session.Answer()
	sandbox.Answer(verbs)
}

// Kinds lists what a delegate does for each kind of task.
func Kinds(cfg Config) map[task.Kind]executor.Kind {
	script := scripts(cfg.Cache)
	// It fetches nothing; the keys of hosts that it learns are those of who does.
	hosts := gitfetch.New(filepath.Join(cfg.Cache, "git"), cfg.HostKeys)
	documents := gitfetch.New(filepath.Join(cfg.Cache, "aws", "git"), cfg.HostKeys)
	renders := sandbox.New(cfg.RenderMemory)
	manifests := kubernetes.Config{Cache: cfg.Cache, Script: script, Sandbox: renders, HostKeys: cfg.HostKeys}
	pods, accesses := watching.New(), &aws.Accesses{Untagged: cfg.AWS.Untagged}
	if cfg.Environ == nil {
		cfg.Environ = os.Environ()
	}
	machine := sessions.New(sessions.Config{Dir: filepath.Join(cfg.Cache, "sessions"), Environ: cfg.Environ, Orphan: cfg.Orphan, Limit: cfg.Workspace})
	applications := sam.Config{Sessions: machine, Accesses: accesses, Git: documents, Script: script, Sandbox: renders, Pace: cfg.AWS.at(awswait.Stack()), Bucket: cfg.AWS.Bucket}
	return map[task.Kind]executor.Kind{
		task.KindArtifact:        {Do: artifact.New(nil, script)},
		laneasg.Kind:             asg.Kind(asg.Config{Git: documents, Accesses: accesses, Pace: cfg.AWS.at(awswait.Slow()), InstancePoll: cfg.AWS.InstancePoll}),
		awslambda.Kind:           functions.Kind(functions.Config{Git: documents, Accesses: accesses, Pace: cfg.AWS.at(awswait.Function()), InstancePoll: cfg.AWS.InstancePoll}),
		awssam.Kind:              {Do: sam.New(applications), Watch: awsstack.Watch(accesses, awssam.Place.Account, cfg.AWS.InstancePoll)},
		apps.Kind:                {Do: cdk.New(cdk.Config{Sessions: machine, Accesses: accesses})},
		workspace.Kind:           {Do: tools.NewDownload(tools.Config{Sessions: machine, Git: documents, Accesses: accesses, Script: script})},
		workspace.KindBackground: {Do: tools.NewBackground(machine)},
		services.Kind:            serverless.Kind(serverless.Config{Sessions: machine, Git: documents, Accesses: accesses, Pace: cfg.AWS.at(awswait.Stack()), InstancePoll: cfg.AWS.InstancePoll}),
		task.KindSession:         machine.Kind(),
		nativehelm.Kind:          {Do: helm.New(manifests), Watch: pods},
		task.KindHTTP:            {Do: http.New(nil)},
		task.KindBamboo:          {Do: bamboo.New(nil)},
		custom.Kind:              {Do: instances.New(script), Watch: instances.Watch(scripts(cfg.Cache))},
		stacks.Kind:              {Do: cloudformation.New(cloudformation.Config{Git: documents, Accesses: accesses, Pace: cfg.AWS.at(awswait.Stack()), Bucket: cfg.AWS.Bucket})},
		laneecs.Kind:             ecs.Kind(ecs.Config{Git: documents, Accesses: accesses, Pace: cfg.AWS.at(awswait.Steady()), InstancePoll: cfg.AWS.InstancePoll}),
		elastigroup.Kind:         groups.Kind(groups.Config{Git: documents, Accesses: accesses, Via: cfg.Via, InstancePoll: cfg.AWS.InstancePoll}),
		task.KindJenkins:         {Do: jenkins.New(nil)},
		task.KindJira:            {Do: jira.New(nil)},
		lane.Kind:                {Do: kubernetes.New(manifests), Watch: pods},
		task.KindMail:            {Do: delegatemail.New(mail.Sender{})},
		poll.Kind:                {Watch: artifact.Watch(nil)},
		task.KindProbe:           {Do: probe.New(probe.Config{Git: hosts, Script: script})},
		task.KindServiceNow:      {Do: servicenow.New(nil)},
		task.KindShell:           {Do: script},
		errand.KindApplications:  {Do: errands.New(hosts, errands.Usual())},
		errand.KindRelease:       {Do: release.New(release.Config{Git: hosts})},
	}
}

// scripts runs scripts. It remembers the keys of hosts below the cache folder.
func scripts(cache string) executor.Executor {
	return shell.New(os.Environ(), filepath.Join(cache, "ssh"))
}
