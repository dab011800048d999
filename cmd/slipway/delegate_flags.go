package main

import (
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/pkg/fault"
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
