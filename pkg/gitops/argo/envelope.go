package argo

import (
	"encoding/base64"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Repository reads a repository in Harness's words. Which values of the others are
// its credentials, and which say who makes them, stands beside it.
func Repository(from *document.Decoder, r *access.Repository, values *Values) document.Rule {
	d := decoder{Decoder: from, values: values}
	address := "repo"
	if r.Template {
		address = "url"
	}
	return func(v yamldoc.Value) {
		open := append(openKeys(), "repo", "connectionType", "githubAppId", "githubAppInstallationId")
		d.apart(v, open...)
		var kind yamldoc.Field[string]
		keys := document.Merge(d.repository(r), document.Keys{
			address: d.address(&r.URL), "inheritedCreds": document.Nothing, "connectionState": document.Nothing,
			"connectionType": d.Idle("what is given says it", d.Word(&kind,
				"HTTPS", "SSH", "GITHUB", "HTTPS_ANONYMOUS", "GITHUB_ENTERPRISE", "AWS_ECR", "GOOGLE_GAR", "GOOGLE_GCR")),
		})
		if !r.Template {
			delete(keys, "url")
		}
		d.Fields(v, keys)
		d.Need(v, address)
	}
}

// ECR reads how the login of a registry of AWS is made.
func ECR(from *document.Decoder, r *access.Repository, values *Values) document.Rule {
	d := decoder{Decoder: from, values: values}
	return func(v yamldoc.Value) {
		ecr := &access.ECR{}
		d.Fields(v, document.Keys{
			"region": d.text(&ecr.Region),
			"secretRef": func(v yamldoc.Value) {
				d.apart(v)
				d.Fields(v, document.Keys{
					"awsAccessKeyId": d.hidden(&ecr.AccessKey), "awsSecretAccessKey": d.hidden(&ecr.SecretKey), "awsSessionToken": d.hidden(&ecr.SessionToken),
				})
			},
			"jwtAuth": d.Refuse("logins of AWS with the token of another service account aren't supported"),
		})
		d.Need(v, "region")
		r.ECR = ecr
	}
}

// Cluster reads a cluster in Harness's words.
func Cluster(from *document.Decoder, c *access.Cluster, values *Values) document.Rule {
	d := decoder{Decoder: from, values: values}
	return func(v yamldoc.Value) {
		d.Fields(v, document.Keys{
			"server": d.address(&c.Server), "name": d.text(&c.Name), "namespaces": d.words(&c.Namespaces), "project": d.text(&c.Project),
			"clusterResources": d.flag(&c.ClusterResources), "shard": d.shard(&c.Shard), "labels": d.texts(&c.Labels), "annotations": d.texts(&c.Annotations),
			"config": func(v yamldoc.Value) {
				d.apartIn(v, "username", "tlsClientConfig", "awsAuthConfig", "execProviderConfig", "awsClusterName", "roleARN", "disableCompression", "clusterConnectionType")
				d.clusterConfig(&c.Config)(v)
			},
			"connectionState": document.Nothing, "serverVersion": document.Nothing, "info": document.Nothing, "refreshRequestedAt": document.Nothing,
		})
		d.Need(v, "server")
	}
}

// apart notes the values of a mapping but for some keys.
func (d decoder) apart(v yamldoc.Value, open ...string) {
	public := map[string]bool{}
	for _, key := range open {
		public[key] = true
	}
	d.values.all(v, func(n *yamldoc.Node) string { return n.Value }, func(key string) bool { return public[key] })
}

// apartIn is apart for the config of a cluster, of whose parts the keys and the
// environment of a command are kept apart, too.
func (d decoder) apartIn(v yamldoc.Value, open ...string) {
	d.apart(v, open...)
	for part, open := range map[string][]string{
		"tlsClientConfig": {"insecure", "serverName", "certData", "caData"}, "execProviderConfig": {"command", "args", "apiVersion", "installHint"},
	} {
		if n := v.Node.Get(part); n != nil {
			d.apart(document.At(v, part, n), open...)
		}
	}
}

// Certificate reads what a host is known by, in Harness's words.
func Certificate(from *document.Decoder, c *access.Certificate) document.Keys {
	d := decoder{Decoder: from}
	return document.Keys{
		"serverName": d.text(&c.Server), "certType": func(v yamldoc.Value) { c.Type = d.Enum(v, access.CertificateHTTPS, access.CertificateSSH).Value },
		"certSubType": d.text(&c.SubType), "certInfo": document.Nothing,
		"certData": func(v yamldoc.Value) {
			text := d.String(v).Value
			if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
				text = string(plain)
			} else {
				d.Errorf(v, document.WrongValue, "it isn't base64")
			}
			c.Data = text
		},
	}
}

// CheckCertificate says what is wrong with one.
func CheckCertificate(from *document.Decoder, v yamldoc.Value, c *access.Certificate) {
	d := decoder{Decoder: from}
	at := document.Child(v, "certData")
	switch c.Type {
	case access.CertificateHTTPS:
		d.tlsCertificate(at, c.Server, c.Data)
	case access.CertificateSSH:
		d.hostKey(at, *c, 0)
	}
}

// GPGKey reads a key that commits may be signed with, in Harness's words.
func GPGKey(from *document.Decoder, k *access.Key) document.Rule {
	d := decoder{Decoder: from}
	return func(v yamldoc.Value) {
		data := yamldoc.Value{}
		d.Fields(v, document.Keys{
			"keyID": d.text(&k.ID), "fingerprint": document.Nothing, "owner": document.Nothing, "subType": document.Nothing, "trust": document.Nothing,
			"keyData": func(v yamldoc.Value) {
				data = v
				text := d.String(v).Value
				if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
					text = string(plain)
				}
				k.Data = text
			},
		})
		d.Need(v, "keyID", "keyData")
		if data.Node != nil {
			*k = d.gpgKey(data, k.ID, k.Data)
		}
	}
}
