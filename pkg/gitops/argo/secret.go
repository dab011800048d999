package argo

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// lastApplied is what kubectl writes of an object that it applied, all of it.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// RepositorySecret reads a Secret that is a repository, or a template of such.
func RepositorySecret(from *document.Decoder, v yamldoc.Value, values *Values) (*access.Repository, gitops.Meta) {
	d, r, m := decoder{Decoder: from, values: values}, &access.Repository{Template: Kind(v.Node) == KindRepoCredentials}, gitops.Meta{}
	d.secret(v, &m, d.repository(r), "url")
	return r, m
}

// ClusterSecret reads a Secret that is a cluster.
func ClusterSecret(from *document.Decoder, v yamldoc.Value, values *Values) (*access.Cluster, gitops.Meta) {
	d, c, m := decoder{Decoder: from, values: values}, &access.Cluster{}, gitops.Meta{}
	d.secret(v, &m, document.Keys{
		"name": d.text(&c.Name), "server": d.address(&c.Server), "project": d.text(&c.Project), "clusterResources": d.flag(&c.ClusterResources),
		"shard": d.shard(&c.Shard),
		"namespaces": func(v yamldoc.Value) {
			for name := range strings.SplitSeq(d.String(v).Value, ",") {
				if name = strings.TrimSpace(name); name != "" {
					c.Namespaces = append(c.Namespaces, name)
				}
			}
		},
		"config": func(v yamldoc.Value) { d.configText(v, d.value(v), &c.Config) },
	}, "server")
	c.Labels, c.Annotations = maps.Clone(m.Labels), maps.Clone(m.Annotations)
	for _, own := range []string{labelSecret, "argocd.argoproj.io/managed-by", AnnotationAgent} {
		delete(c.Labels, own)
		delete(c.Annotations, own)
	}
	return c, m
}

// openKeys are keys of Secrets that everybody may read.
func openKeys() []string {
	return []string{
		"url", "type", "name", "project", "username", "insecure", "insecureIgnoreHostKey", "enableLfs", "enableOCI", "insecureOCIForceHttp", "forceHttpBasicAuth",
		"noProxy", "useAzureWorkloadIdentity", "depth", "githubAppID", "githubAppInstallationID", "githubAppEnterpriseBaseUrl", "server", "namespaces",
		"clusterResources", "shard",
	}
}

// secret reads a Secret with some keys, of which one has to be there.
func (d decoder) secret(v yamldoc.Value, m *gitops.Meta, keys document.Keys, needed string) {
	var said yamldoc.Field[string]
	encoded := document.Keys{}
	for key, rule := range keys {
		encoded[key] = func(v yamldoc.Value) { rule(d.decoded(v)) }
	}
	open := func(key string) bool { return slices.Contains(openKeys(), key) }
	d.Fields(v, document.Keys{
		"apiVersion": d.Literal(&said, "v1"), "kind": d.Literal(&said, "Secret"), "type": document.Nothing, "immutable": document.Nothing,
		"metadata": whole(d, m, metadata),
		"stringData": func(v yamldoc.Value) {
			d.values.all(v, func(n *yamldoc.Node) string { return n.Value }, open)
			d.Fields(v, keys)
		},
		"data": func(v yamldoc.Value) {
			d.values.all(v, unpacked, open)
			d.Fields(v, encoded)
		},
	})
	d.Need(v, "metadata")
	for _, notation := range []string{"stringData", "data"} {
		if v.Node.At(notation, needed) != nil {
			needed = ""
		}
	}
	if needed != "" {
		d.Errorf(v, document.MissingKey, "the Secret has no key %s", needed)
	}
	if at := v.Node.At("metadata", "annotations", lastApplied); at != nil {
		d.values.Found = append(d.values.Found, Found{Name: lastApplied, At: yamldoc.Sub(at, "metadata.annotations."+lastApplied), Text: at.Value, Gone: true})
	}
}

// unpacked is the text of a value in base64; as it is, if it isn't any.
func unpacked(n *yamldoc.Node) string {
	if text, err := base64.StdEncoding.DecodeString(n.Value); err == nil && n.Value != Kept {
		return string(text)
	}
	return n.Value
}

// decoded is a value of a Secret's data as one of its stringData.
func (d decoder) decoded(v yamldoc.Value) yamldoc.Value {
	if !v.Is(yamldoc.Scalar) || v.Node.Value == Kept {
		return v
	}
	if _, err := base64.StdEncoding.DecodeString(v.Node.Value); err != nil {
		d.Errorf(v, document.WrongValue, "it isn't base64; a text as it is stands in stringData")
		return yamldoc.Sub(nil, v.Path)
	}
	n := *v.Node
	n.Value, n.Tag = unpacked(v.Node), yamldoc.Str
	out := yamldoc.Sub(&n, v.Path)
	out.Key = v.Key
	return out
}

// repository are the keys of a repository, in Argo CD's words.
func (d decoder) repository(r *access.Repository) document.Keys {
	return document.Keys{
		"url": d.address(&r.URL), "type": d.kind(&r.Type), "name": d.text(&r.Name), "project": d.text(&r.Project),
		"username": d.text(&r.Username), "password": d.hidden(&r.Password), "bearerToken": d.hidden(&r.BearerToken), "sshPrivateKey": d.hidden(&r.SSHPrivateKey),
		"tlsClientCertData": d.hidden(&r.ClientCert), "tlsClientCertKey": d.hidden(&r.ClientKey), "insecure": d.flag(&r.Insecure),
		"insecureIgnoreHostKey": d.either(&r.Insecure), // an older name
		"enableLfs":             d.flag(&r.EnableLFS), "enableOCI": d.flag(&r.EnableOCI), "insecureOCIForceHttp": d.flag(&r.PlainHTTP), "forceHttpBasicAuth": d.flag(&r.BasicAuth),
		"proxy": d.hidden(&r.Proxy), "noProxy": d.text(&r.NoProxy), "depth": d.number(&r.Depth),
		"githubAppID": d.number(&r.GitHubAppID), "githubAppInstallationID": d.number(&r.GitHubAppInstallation), "githubAppPrivateKey": d.hidden(&r.GitHubAppKey),
		"githubAppEnterpriseBaseUrl": d.text(&r.GitHubAppURL), "gcpServiceAccountKey": d.hidden(&r.GCPKey), "useAzureWorkloadIdentity": d.flag(&r.AzureIdentity),
	}
}

// either is flag for one of two keys that say the same.
func (d decoder) either(to *bool) document.Rule {
	return func(v yamldoc.Value) { *to = d.Bool(v).Value || *to }
}

// address is the URL of a repository or a cluster, in which no password may stand: it
// is shown.
func (d decoder) address(to *string) document.Rule {
	return func(v yamldoc.Value) {
		*to = d.String(v).Value
		u, err := url.Parse(*to)
		if err != nil || u.User == nil {
			return
		}
		if _, has := u.User.Password(); has {
			d.Errorf(v, document.WrongValue, "there is a password in the address, which everybody sees; it belongs to the key password")
		}
	}
}

func (d decoder) shard(to **int64) document.Rule {
	return func(v yamldoc.Value) {
		if f := d.Int(v); f.Set {
			n := int64(f.Value)
			*to = &n
		}
	}
}

// configText reads how a cluster is opened from the JSON of a Secret. What is wrong
// with it is told at the Secret's key.
func (d decoder) configText(v yamldoc.Value, text string, to *access.ClusterConfig) {
	if text == "" {
		return
	}
	docs, report := yamldoc.Parse("", []byte(text))
	if report.Failed() || len(docs) != 1 || docs[0].Kind != yamldoc.Mapping {
		d.Errorf(v, document.WrongValue, "it isn't JSON with the keys of a cluster's config") // the text is secret, and what is said of it might be
		return
	}
	inner := decoder{Decoder: document.New(report.Resolved())}
	inner.clusterConfig(to)(yamldoc.Sub(docs[0], ""))
	for _, f := range report.Findings() {
		say := d.Warnf
		if f.Severity == yamldoc.Error {
			say = d.Errorf
		}
		say(v, f.Code, "%s: %s", f.Path, f.Message)
	}
}

// clusterConfig reads how a cluster is opened.
func (d decoder) clusterConfig(c *access.ClusterConfig) document.Rule {
	aws := func() *access.ClusterAWS {
		if c.AWS == nil {
			c.AWS = &access.ClusterAWS{}
		}
		return c.AWS
	}
	of := func(to func() *string) document.Rule {
		return func(v yamldoc.Value) {
			if text := d.String(v).Value; text != "" {
				*to() = text
			}
		}
	}
	var connection yamldoc.Field[string]
	return func(v yamldoc.Value) {
		d.Fields(v, document.Keys{
			"username": d.text(&c.Username), "password": d.hidden(&c.Password), "bearerToken": d.hidden(&c.BearerToken),
			"tlsClientConfig": func(v yamldoc.Value) {
				d.Fields(v, document.Keys{
					"insecure": d.flag(&c.TLS.Insecure), "serverName": d.text(&c.TLS.ServerName), "certData": d.bytes(&c.TLS.CertData),
					"keyData": d.bytes(&c.TLS.KeyData), "caData": d.bytes(&c.TLS.CAData),
				})
			},
			"awsAuthConfig": func(v yamldoc.Value) {
				d.Fields(v, document.Keys{
					"clusterName": of(func() *string { return &aws().ClusterName }), "roleARN": of(func() *string { return &aws().RoleARN }),
					"profile": of(func() *string { return &aws().Profile }),
				})
			},
			"awsClusterName": of(func() *string { return &aws().ClusterName }), "roleARN": of(func() *string { return &aws().RoleARN }),
			"execProviderConfig": part(d, &c.Exec, func(d decoder, v yamldoc.Value) access.ClusterExec {
				var e access.ClusterExec
				d.Fields(v, document.Keys{
					"command": d.text(&e.Command), "args": d.words(&e.Args), "env": d.hiddenTexts(&e.Env), "apiVersion": d.text(&e.APIVersion), "installHint": d.text(&e.InstallHint),
				})
				d.Need(v, "command")
				return e
			}),
			"disableCompression": d.flag(&c.DisableCompression), "proxyUrl": d.hidden(&c.ProxyURL),
			"clusterConnectionType": d.Idle("what is given says it", d.Word(&connection,
				"IN_CLUSTER", "SERVICE_ACCOUNT", "USERNAME_PASSWORD", "IRSA", "EXEC_PROVIDER", "TLS_CLIENT_CERT", "CLUSTER_CONNECTION_TYPE_NOT_SET")),
		})
	}
}

// bytes reads a value in base64.
func (d decoder) bytes(to *[]byte) document.Rule {
	return func(v yamldoc.Value) {
		text := d.value(v)
		out, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			d.Errorf(v, document.WrongValue, "it isn't base64")
			return
		}
		if len(out) > 0 {
			*to = out
		}
	}
}

// hiddenTexts reads texts by name, each of which may be kept apart.
func (d decoder) hiddenTexts(to *map[string]string) document.Rule {
	return func(v yamldoc.Value) {
		*to = d.StringMap(v).Value
		for name := range *to {
			(*to)[name] = d.value(document.Child(v, name))
		}
	}
}
