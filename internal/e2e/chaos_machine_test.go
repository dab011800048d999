package e2e_test

import (
	"context"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/slipway-cd/slipway/internal/chaos"
	"github.com/slipway-cd/slipway/internal/e2e"
)

// some is how many requests or answers one fault is about.
const some = 5

// machine is a server and a delegate in processes of their own, a network
// between them and a small disk below.
type machine struct {
	t                *testing.T
	net              *chaos.Network
	disk, addr       string
	full             func() (free func(), err error) // nil if the disk is everybody's
	server, delegate *process
	direct           *e2e.Server // past the network
	token            string      // the delegate's
	journal          string      // its folder
	noted            *noted
}

func chaosOnOneMachine(t *testing.T, seed uint64, n int) {
	t.Helper()
	m := &machine{t: t, addr: freeAddr(t), journal: t.TempDir()}
	m.disk, m.full = smallDisk(t)
	m.serve()
	m.direct = client(m.server)
	m.net = chaos.NewNetwork(t, m.direct.URL)
	m.token = delegateToken(t, m.direct)
	m.join()
	through := *m.direct
	through.URL = m.net.URL
	o := newOrdeal(t, seed, &through)
	o.kinds = []chaos.Kind{chaos.KillServer, chaos.KillDelegate, chaos.Cut, chaos.Lost, chaos.Doubled, chaos.Delayed, chaos.Stalled}
	if m.full != nil {
		o.kinds = append(o.kinds, chaos.FullDisk)
	}
	o.make, m.noted = m.fault, o.noted
	o.run(t, n)
}

func (m *machine) serve() {
	m.server = spawn(m.t, serveEnv+"="+filepath.Join(m.disk, "data"), addrEnv+"="+m.addr, leaseEnv+"=1h")
}

func (m *machine) join() {
	m.delegate = spawn(m.t, delegateEnv+"=outside", addrEnv+"="+m.net.URL, tokenEnv+"="+m.token, journalEnv+"="+m.journal)
}

func (m *machine) fault(f chaos.Fault) {
	switch f.Kind {
	case chaos.KillServer:
		m.server.kill()
		m.serve()
	case chaos.KillDelegate:
		m.delegate.kill()
		m.noted.read(m.t, m.journal)
		m.join()
	case chaos.Cut:
		m.net.Cut()
	case chaos.Lost:
		m.net.Lose(some)
	case chaos.Doubled:
		m.net.Double(some)
	case chaos.Delayed:
		m.net.Delay(f.For)
		pause(m.t, f.For)
		m.net.Delay(0)
	case chaos.Stalled:
		_ = m.server.cmd.Process.Signal(syscall.SIGSTOP) // a server that has ended is found below
		pause(m.t, f.For)
		_ = m.server.cmd.Process.Signal(syscall.SIGCONT)
	case chaos.FullDisk:
		free, err := m.full()
		if err != nil {
			m.t.Error(err)
			return
		}
		pause(m.t, f.For)
		free()
		m.revive()
	case chaos.KillFunction, chaos.Throttled: // are of AWS
	}
}

// revive does what whoever keeps a server running does: a server that ended
// for want of a disk is started again. It must come up.
func (m *machine) revive() {
	ctx, cancel := context.WithTimeout(m.t.Context(), e2e.Patience)
	defer cancel()
	if err := m.direct.Call(ctx, http.MethodGet, "/v1/delegates", nil, nil); err != nil {
		m.t.Logf("after a full disk the server doesn't answer: %v", err)
		m.server.kill()
		m.serve()
	}
}
