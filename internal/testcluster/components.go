package testcluster

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/slipway-cd/slipway/internal/testport"
)

// plane is what the programs of one control plane have to know of each other.
type plane struct {
	dir, tools  string
	credentials credentials
	stages      string // kwok's rules: its own, then ours

	// Addresses, host:port.
	apiserver, etcdClient, etcdPeer string
}

// program is one command line and the folder of its log.
type program struct {
	path, logs string
	args       []string
}

// prepare empties the cluster's folder and writes what the programs read.
func prepare(cfg Config) (plane, error) {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return plane{}, err
	}
	p := plane{dir: dir, tools: cfg.Tools, stages: filepath.Join(dir, stockStages)}
	for _, sub := range []string{"etcd", "logs", "kubeconfig"} {
		if err := os.RemoveAll(filepath.Join(dir, sub)); err != nil {
			return plane{}, err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		return plane{}, err
	}
	if p.credentials, err = newCredentials(dir); err != nil {
		return plane{}, err
	}
	stock, err := os.ReadFile(filepath.Join(cfg.Tools, stockStages))
	if err != nil {
		return plane{}, fmt.Errorf("read kwok's stages, which a build of the tools leaves there: %w", err)
	}
	if err := os.WriteFile(p.stages, bytes.Join([][]byte{stock, ownStages}, []byte("---\n")), 0o600); err != nil {
		return plane{}, err
	}
	addresses, err := testport.Free(3)
	if err != nil {
		return plane{}, err
	}
	p.apiserver, p.etcdClient, p.etcdPeer = addresses[0], addresses[1], addresses[2]
	return p, nil
}

func (p plane) program(name string, args ...string) program {
	return program{path: filepath.Join(p.tools, "bin", name), logs: filepath.Join(p.dir, "logs"), args: args}
}

func (p plane) etcd() program {
	client, peer := "http://"+p.etcdClient, "http://"+p.etcdPeer
	return p.program("etcd",
		"--data-dir", filepath.Join(p.dir, "etcd"),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
		"--unsafe-no-fsync", // nothing outlives the cluster
		"--log-level", "warn",
	)
}

func (p plane) apiServer() program {
	host, port, _ := net.SplitHostPort(p.apiserver)
	return p.program("kube-apiserver",
		"--bind-address", host, "--secure-port", port,
		"--tls-cert-file", p.credentials.certFile, "--tls-private-key-file", p.credentials.keyFile,
		"--etcd-servers", "http://"+p.etcdClient,
		"--token-auth-file", p.credentials.tokenFile,
		"--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-signing-key-file", p.credentials.accountFile,
		"--service-account-key-file", p.credentials.accountFile,
		"--service-cluster-ip-range", "10.0.0.0/16", // as many as all tests of a run may make
		"--allow-privileged",
		"--enable-priority-and-fairness=false", // every client here is a test: none is to wait for another
		"--profiling=false",
	)
}

// apiLimits lift the clients' own throttling, whose waits would be most of a small roll-out's time.
var apiLimits = []string{"--kube-api-qps", "1000", "--kube-api-burst", "2000"}

func (p plane) controllerManager(kubeconfig string) program {
	args := []string{
		"--kubeconfig", kubeconfig,
		"--leader-elect=false",
		"--secure-port", "0",
		"--service-account-private-key-file", p.credentials.accountFile,
		"--root-ca-file", p.credentials.caFile,
		"--concurrent-deployment-syncs", "20",
		"--concurrent-replicaset-syncs", "20",
		"--concurrent-statefulset-syncs", "20",
		"--concurrent-namespace-syncs", "20",
		// kwok's heartbeat may be late on a machine that compiles; a node that is lost for it would evict
		// the pods of every test.
		"--node-monitor-grace-period", "1h",
		"--profiling=false",
	}
	return p.program("kube-controller-manager", append(args, apiLimits...)...)
}

func (p plane) scheduler(kubeconfig string) program {
	args := []string{
		"--kubeconfig", kubeconfig,
		"--leader-elect=false",
		"--secure-port", "0",
		"--profiling=false",
	}
	return p.program("kube-scheduler", append(args, apiLimits...)...)
}

// kubelets is the program that plays them.
const kubelets = "kwok"

func (p plane) kwok(kubeconfig string) program {
	return p.program(kubelets,
		"--kubeconfig", kubeconfig,
		"--config", p.stages,
		"--manage-all-nodes=true",
		"--cidr", "10.244.0.0/16", // of pods; apart from the services'
		"--node-lease-duration-seconds", "0", // heartbeats through the status are enough for three nodes
	)
}
