package clusteraccess

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// kubeconfig is what is read and written of a kubeconfig. Bytes are in Base64.
type kubeconfig struct {
	APIVersion     string        `yaml:"apiVersion"`
	Kind           string        `yaml:"kind"`
	CurrentContext string        `yaml:"current-context"`
	Contexts       []kubeContext `yaml:"contexts"`
	Clusters       []kubeCluster `yaml:"clusters"`
	Users          []kubeUser    `yaml:"users"`
}

type kubeContext struct {
	Name    string `yaml:"name"`
	Context struct {
		Cluster string `yaml:"cluster"`
		User    string `yaml:"user"`
	} `yaml:"context"`
}

type kubeCluster struct {
	Name    string `yaml:"name"`
	Cluster struct {
		Server   string `yaml:"server"`
		CA       string `yaml:"certificate-authority-data,omitempty"`
		CAFile   string `yaml:"certificate-authority,omitempty"`
		Insecure bool   `yaml:"insecure-skip-tls-verify,omitempty"`
	} `yaml:"cluster"`
}

type kubeUser struct {
	Name string `yaml:"name"`
	User struct {
		Token     string `yaml:"token,omitempty"`
		TokenFile string `yaml:"tokenFile,omitempty"`
		Cert      string `yaml:"client-certificate-data,omitempty"`
		Key       string `yaml:"client-key-data,omitempty"`
		Username  string `yaml:"username,omitempty"`
		Password  string `yaml:"password,omitempty"`
	} `yaml:"user"`
}

// serviceAccount is where a pod finds its own.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// WriteKubeconfig writes a kubeconfig for other programs into a folder and
// gives its path; secret is what a cloud gave for it, which runs out. For the
// delegate's own access outside of a cluster there is one already. environ is
// the delegate's environment.
func WriteKubeconfig(ctx context.Context, c task.Cluster, dir string, environ func(name string) string) (path, secret string, err error) {
	var current kubeContext
	current.Name, current.Context.Cluster, current.Context.User = "stage", "stage", "stage"
	cluster, user := kubeCluster{Name: "stage"}, kubeUser{Name: "stage"}
	host := environ("KUBERNETES_SERVICE_HOST")
	switch {
	case c.Inherit && host == "":
		return cmp.Or(environ("KUBECONFIG"), filepath.Join(environ("HOME"), ".kube", "config")), "", nil
	case c.Inherit:
		cluster.Cluster.Server = "https://" + net.JoinHostPort(host, environ("KUBERNETES_SERVICE_PORT"))
		cluster.Cluster.CAFile, user.User.TokenFile = serviceAccount+"ca.crt", serviceAccount+"token"
	case c.Cloud != nil:
		o, err := New(*c.Cloud, nil).current(ctx)
		if err != nil {
			return "", "", err
		}
		secret = o.token
		cluster.Cluster.Server, cluster.Cluster.CA = o.url, encoded(o.ca)
		user.User.Token, user.User.Cert, user.User.Key = o.token, encoded(o.cert), encoded(o.key)
	default:
		if _, err := address.Web("masterUrl", c.URL); err != nil {
			return "", "", err
		}
		cluster.Cluster.Server, cluster.Cluster.CA, cluster.Cluster.Insecure = c.URL, encoded([]byte(c.CAPEM)), c.Unchecked()
		user.User.Token, user.User.Username, user.User.Password = c.Token, c.Username, c.Password
		user.User.Cert, user.User.Key = encoded([]byte(c.ClientCertPEM)), encoded([]byte(c.ClientKeyPEM))
	}
	doc, err := yaml.Marshal(kubeconfig{
		APIVersion: "v1", Kind: "Config", CurrentContext: current.Name,
		Contexts: []kubeContext{current}, Clusters: []kubeCluster{cluster}, Users: []kubeUser{user},
	})
	if err != nil {
		return "", "", fmt.Errorf("encode a kubeconfig: %w", err)
	}
	path = filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, doc, 0o600); err != nil {
		return "", "", fmt.Errorf("write a kubeconfig: %w", err)
	}
	return path, secret, nil
}

func encoded(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// readKubeconfig reads the current context. A user that is found by a program
// (exec, auth-provider) has neither a token nor a certificate.
func readKubeconfig(doc []byte) (access, error) {
	var k kubeconfig
	if yaml.Unmarshal(doc, &k) != nil { // the error may repeat what it read
		return access{}, fault.New(fault.Unavailable, "its kubeconfig isn't YAML").Causing(fault.Unknown)
	}
	cluster, user := "", ""
	for _, c := range k.Contexts {
		if c.Name == k.CurrentContext {
			cluster, user = c.Context.Cluster, c.Context.User
		}
	}
	var a access
	var ca, cert, key string
	for _, c := range k.Clusters {
		if c.Name == cluster {
			a.url, ca = c.Cluster.Server, c.Cluster.CA
		}
	}
	for _, u := range k.Users {
		if u.Name == user {
			a.token, cert, key = u.User.Token, u.User.Cert, u.User.Key
		}
	}
	if a.url == "" {
		return access{}, fault.New(fault.Unavailable, "its kubeconfig has no server for the context %q", k.CurrentContext).Causing(fault.Unknown)
	}
	for _, part := range []struct {
		text string
		to   *[]byte
	}{{ca, &a.ca}, {cert, &a.cert}, {key, &a.key}} {
		var err error
		if *part.to, err = base64.StdEncoding.DecodeString(part.text); err != nil {
			return access{}, fault.New(fault.Unavailable, "its kubeconfig has a certificate or a key that isn't Base64").Causing(fault.Unknown)
		}
	}
	return a, nil
}
