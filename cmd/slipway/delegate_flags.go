package main

import (
	"regexp"
	"time"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	gitops "github.com/slipway-cd/slipway/delegate/gitops/agent"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/pkg/fault"
	gitopsprotocol "github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
)

// fetchFlags say how a delegate renders, fetches and runs programs, one of its own or the one
// in the server.
type fetchFlags struct {
	memory, workspace    int
	knownHosts, hostKeys string
}

func (l *fetchFlags) add(f interface {
	StringVar(p *string, name, value, usage string)
	IntVar(p *int, name string, value int, usage string)
}) {
	f.IntVar(&l.memory, "render-memory", sandbox.DefaultMemory>>20, "MiB of memory that rendering a chart or manifests may take, in a process of its own")
	f.IntVar(&l.workspace, "workspace-limit", session.DefaultLimit>>20, "MiB that the workspace of a session of steps may hold")
	f.StringVar(&l.knownHosts, "git-known-hosts", "", "known_hosts file of SSH hosts that repositories are fetched from, beside the public ones and ~/.ssh/known_hosts")
	f.StringVar(&l.hostKeys, "git-ssh-host-keys", gitfetch.HostKeysStrict, "what to do with an SSH host that isn't known: strict refuses it, accept-new keeps the first key that it shows")
}

// read checks the flags; memory is in bytes.
func (l *fetchFlags) read() (memory int64, keys gitfetch.HostKeys, err error) {
	memory = int64(l.memory) << 20
	if memory < sandbox.LeastMemory {
		return 0, keys, fault.New(fault.Invalid, "--render-memory is %d; want at least %d", l.memory, sandbox.LeastMemory>>20)
	}
	if l.workspace < 1 {
		return 0, keys, fault.New(fault.Invalid, "--workspace-limit is %d; want at least 1", l.workspace)
	}
	keys, err = gitfetch.ParseHostKeys(l.knownHosts, l.hostKeys)
	return memory, keys, err
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// awsFlags say how a delegate treats accounts of AWS.
type awsFlags struct {
	poll, instances time.Duration
	tags            bool
	bucket          string
}

func (l *awsFlags) add(f interface {
	DurationVar(p *time.Duration, name string, value time.Duration, usage string)
	BoolVar(p *bool, name string, value bool, usage string)
	StringVar(p *string, name, value, usage string)
}) {
	f.StringVar(&l.bucket, "cloudformation-bucket", "", "bucket of S3 for templates of stacks that are too large to come with a request; each is deleted when its step ends")
	f.DurationVar(&l.poll, "aws-poll", 0, "shortest time between two looks at what AWS does, for accounts that are near the limits of their requests")
	f.DurationVar(&l.instances, "aws-instance-poll", 10*time.Minute, "time between two looks at what was deployed to AWS")
	f.BoolVar(&l.tags, "aws-tags", true, "tag what steps make on AWS with its service, environment, infrastructure and execution")
}

func (l *awsFlags) read() (delegate.AWS, error) {
	if l.poll < 0 || l.poll > time.Minute {
		return delegate.AWS{}, fault.New(fault.Invalid, "--aws-poll is %s; want 0s to 1m", l.poll)
	}
	if l.instances < time.Minute || l.instances > 24*time.Hour {
		return delegate.AWS{}, fault.New(fault.Invalid, "--aws-instance-poll is %s; want 1m to 24h", l.instances)
	}
	if l.bucket != "" && !bucketName.MatchString(l.bucket) {
		return delegate.AWS{}, fault.New(fault.Invalid, "--cloudformation-bucket is %q; want the name of a bucket alone: 3 to 63 small letters, digits, '.' and '-'", l.bucket)
	}
	return delegate.AWS{Poll: l.poll, InstancePoll: l.instances, Untagged: !l.tags, Bucket: l.bucket}, nil
}

// gitOpsFlags say which GitOps agent a delegate is, too.
type gitOpsFlags struct {
	agent, namespace string
	within           []string
}

func (l *gitOpsFlags) add(f interface {
	StringVar(p *string, name, value, usage string)
	StringSliceVar(p *[]string, name string, value []string, usage string)
}) {
	f.StringSliceVar(&l.within, "gitops-within", nil, "the only namespaces of that cluster that the agent looks into and changes (default all, and what is in none)")
	f.StringVar(&l.agent, "gitops", "", "GitOps agent that it is, too, for the cluster that it runs in, or that KUBECONFIG names: an identifier of the project, or with org. or account. before it")
	f.StringVar(&l.namespace, "gitops-namespace", "", "namespace in which that agent keeps what it knows (default its pod's, else "+gitops.DefaultNamespace+")")
}

// read gives the agent, if there is to be one.
func (l *gitOpsFlags) read(from ref.Scope) (*gitops.Config, error) {
	if l.agent == "" {
		if l.namespace != "" || len(l.within) > 0 {
			return nil, fault.New(fault.Invalid, "--gitops-namespace or --gitops-within is given without --gitops")
		}
		return nil, nil
	}
	r, err := ref.Parse(l.agent, from)
	if err != nil {
		return nil, fault.New(fault.Invalid, "--gitops: %w", err)
	}
	return &gitops.Config{
		Agent: gitopsprotocol.Agent{Org: r.Scope.Org, Project: r.Scope.Project, ID: r.ID}, Namespace: l.namespace, Within: l.within, Cluster: task.Cluster{Inherit: true}, Version: currentVersion(),
	}, nil
}
