package testcluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ownStages are the rules that make pods fail; see the file.
//
//go:embed stages.yaml
var ownStages []byte

// startTimeout bounds one attempt to start. Alone on two cores it takes about four seconds; the rest is for
// machines that compile at the same time.
const startTimeout = 90 * time.Second

// Config says where a cluster lives.
type Config struct {
	Dir   string       // its data, credentials and logs; emptied by Start
	Tools string       // what Build returned
	Log   *slog.Logger // one line for the start and one for the stop
}

// Cluster is a running control plane with three ready nodes.
type Cluster struct {
	Kubeconfig string // path of a file whose user may do everything
	URL        string // of the API server, https on loopback
	Token      string // the kubeconfig's bearer token

	log *slog.Logger

	mu        sync.Mutex
	stopped   bool
	processes []*process // in the order of their start
}

// Start starts a control plane on free loopback ports and returns once pods can be created. Any number can
// run side by side. The caller stops it; if the caller's process dies first, so does the cluster (on Linux).
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	began := time.Now()
	// A port that was free may be taken before the server binds it: that is worth a second and a third try.
	var failures []error
	for range 3 {
		c, err := startOnce(ctx, cfg)
		if err == nil {
			cfg.Log.InfoContext(ctx, "test cluster ready", "url", c.URL, "dir", cfg.Dir, "took", time.Since(began).Round(time.Millisecond))
			go c.keepKubelets(context.WithoutCancel(ctx))
			return c, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("start a test cluster in %s: %w", cfg.Dir, errors.Join(failures...))
}

// Stop ends every program of the cluster and waits until they are gone. Its folder stays, for the logs.
func (c *Cluster) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].kill()
	}
	c.log.Info("test cluster stopped", "url", c.URL)
}

// keepKubelets starts kwok again whenever it ends: it writes one of its maps
// from several goroutines, which the runtime punishes now and then.
func (c *Cluster) keepKubelets(ctx context.Context) {
	for {
		p := c.process(kubelets)
		<-p.done
		if err := c.replace(p); err != nil {
			c.log.ErrorContext(ctx, "kwok can't be started again", "error", err)
			return
		}
		if c.process(kubelets) == p {
			return // the cluster was stopped
		}
		c.log.WarnContext(ctx, "kwok was started again", "ended", p.err)
	}
}

// RestartAPIServer kills the API server, has f run while there is none, and
// returns once it is there again. What it keeps is in etcd. The programs that
// it serves are started anew: left alone, they would let up to a minute pass
// before they ask it again.
func (c *Cluster) RestartAPIServer(ctx context.Context, f func()) error {
	p := c.process("kube-apiserver")
	p.kill()
	f()
	if err := c.replace(p); err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	if err := c.until(ctx, func(ctx context.Context) error { return ready(ctx, client) }); err != nil {
		return err
	}
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		p := c.process(name)
		p.kill()
		if err := c.replace(p); err != nil {
			return err
		}
	}
	c.process(kubelets).kill() // keepKubelets starts it again
	return nil
}

// process is the one of a program.
func (c *Cluster) process(name string) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[slices.IndexFunc(c.processes, func(p *process) bool { return p.name == name })]
}

// replace starts the program of a process that has ended again, unless the
// cluster was stopped.
func (c *Cluster) replace(ended *process) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	again, err := startProcess(ended.program)
	if err == nil {
		c.processes[slices.Index(c.processes, ended)] = again
	}
	return err
}

func startOnce(ctx context.Context, cfg Config) (_ *Cluster, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", startTimeout))
	defer cancel()
	plane, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Kubeconfig: filepath.Join(cfg.Dir, "kubeconfig"),
		URL:        "https://" + plane.apiserver,
		Token:      plane.credentials.token,
		log:        cfg.Log,
	}
	defer func() {
		if err != nil {
			for _, p := range c.processes {
				p.kill()
			}
		}
	}()
	if err := c.writeKubeconfig(plane.credentials.authority); err != nil {
		return nil, err
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}

	if err := c.run(plane.etcd()); err != nil {
		return nil, err
	}
	if err := c.until(ctx, func(ctx context.Context) error { return dial(ctx, plane.etcdClient) }); err != nil {
		return nil, err
	}
	if err := c.run(plane.apiServer()); err != nil {
		return nil, err
	}
	if err := c.until(ctx, func(ctx context.Context) error { return ready(ctx, client) }); err != nil {
		return nil, err
	}
	if err := c.run(plane.controllerManager(c.Kubeconfig), plane.scheduler(c.Kubeconfig), plane.kwok(c.Kubeconfig)); err != nil {
		return nil, err
	}
	if err := createFixtures(ctx, client); err != nil {
		return nil, err
	}
	return c, c.until(ctx, func(ctx context.Context) error { return podsCanRun(ctx, client) })
}

// run starts programs and takes them into the cluster.
func (c *Cluster) run(programs ...program) error {
	for _, p := range programs {
		started, err := startProcess(p)
		if err != nil {
			return err
		}
		c.processes = append(c.processes, started)
	}
	return nil
}

// until asks again and again, twenty times a second, until the answer is nil, a program ends or ctx is over.
func (c *Cluster) until(ctx context.Context, ask func(context.Context) error) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		answer := ask(ctx)
		if answer == nil {
			return nil
		}
		c.mu.Lock()
		running := slices.Clone(c.processes)
		c.mu.Unlock()
		for _, p := range running {
			if err := p.ended(); err != nil {
				return err
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%w; last seen: %w", context.Cause(ctx), answer)
		}
	}
}

func (c *Cluster) client() (kubernetes.Interface, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1 // no limit: there is nobody to be polite to
	return kubernetes.NewForConfig(cfg)
}

func (c *Cluster) writeKubeconfig(authority []byte) error {
	const name = "testcluster"
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: c.URL, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: c.Token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, c.Kubeconfig)
}

// Ready says why the API server that a kubeconfig names isn't ready, or nil.
func Ready(ctx context.Context, kubeconfig string) error {
	client, err := (&Cluster{Kubeconfig: kubeconfig}).client()
	if err != nil {
		return err
	}
	return ready(ctx, client)
}

func ready(ctx context.Context, client kubernetes.Interface) error {
	return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

func dial(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
