package clusteraccess

import (
	"encoding/base64"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// kubeconfig is what is read of a kubeconfig. Bytes are in Base64.
type kubeconfig struct {
	CurrentContext string `yaml:"current-context"`
	Contexts       []struct {
		Name    string
		Context struct{ Cluster, User string }
	}
	Clusters []struct {
		Name    string
		Cluster struct {
			Server string
			CA     string `yaml:"certificate-authority-data"`
		}
	}
	Users []struct {
		Name string
		User struct {
			Token string
			Cert  string `yaml:"client-certificate-data"`
			Key   string `yaml:"client-key-data"`
		}
	}
}

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
