package argo

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/settings"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The names of Argo CD's ConfigMaps.
const (
	settingsMap   = "argocd-cm"
	parametersMap = "argocd-cmd-params-cm"
	rightsMap     = "argocd-rbac-cm"
	tlsMap        = "argocd-tls-certs-cm"
	sshMap        = "argocd-ssh-known-hosts-cm"
	gpgMap        = "argocd-gpg-keys-cm"
)

func configMaps() []string {
	return []string{settingsMap, parametersMap, rightsMap, tlsMap, sshMap, gpgMap}
}

// ConfigMap is one of those by which Argo CD is set: it has one of the three.
type ConfigMap struct {
	Meta         gitops.Meta
	Settings     *access.Settings
	Certificates []access.Certificate
	Keys         []access.Key
}

// ReadConfigMap reads one.
func ReadConfigMap(from *document.Decoder, v yamldoc.Value, values *Values) ConfigMap {
	d, c := decoder{Decoder: from, values: values}, ConfigMap{}
	var said yamldoc.Field[string]
	var data document.Rule
	name := ""
	if n := v.Node.At("metadata", "name"); n != nil {
		name = n.Value
	}
	switch name {
	case tlsMap:
		data = func(v yamldoc.Value) {
			for e := range d.Mapping(v) {
				c.Certificates = append(c.Certificates, d.tlsCertificate(e, e.Key, d.String(e).Value))
			}
		}
	case sshMap:
		data = func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"ssh_known_hosts": func(v yamldoc.Value) { c.Certificates = d.knownHosts(v) }})
		}
	case gpgMap:
		data = func(v yamldoc.Value) {
			for e := range d.Mapping(v) {
				c.Keys = append(c.Keys, d.gpgKey(e, e.Key, d.String(e).Value))
			}
		}
	default:
		c.Settings = &access.Settings{Name: name, Data: map[string]string{}}
		data = func(v yamldoc.Value) { d.settings(v, c.Settings) }
	}
	d.Fields(v, document.Keys{
		"apiVersion": d.Literal(&said, "v1"), "kind": d.Literal(&said, "ConfigMap"), "metadata": whole(d, &c.Meta, metadata), "immutable": document.Nothing,
		"data": data, "binaryData": document.Nothing,
	})
	d.Need(v, "metadata")
	if !slices.Contains(configMaps(), name) {
		d.Errorf(document.Child(document.Child(v, "metadata"), "name"), document.WrongValue, "found %q; want one of %s%s",
			yamldoc.Shorten(name), strings.Join(configMaps(), ", "), d.Hint(name, configMaps()))
	}
	return c
}

// tlsCertificate is the chain of a host.
func (d decoder) tlsCertificate(v yamldoc.Value, host, chain string) access.Certificate {
	blocks := 0
	for rest := []byte(chain); ; blocks++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			d.Errorf(v, document.WrongValue, "found a %s among the certificates of %s; want certificates alone, which everybody may see", block.Type, host)
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			d.Errorf(v, document.WrongValue, "certificate %d of %s can't be read: %v", blocks+1, host, err)
		}
	}
	if blocks == 0 {
		d.Errorf(v, document.WrongValue, "found no certificate of %s; want PEM", host)
	}
	return access.Certificate{Server: host, Type: access.CertificateHTTPS, Data: chain}
}

// knownHosts reads the file of SSH by which hosts are known. A line with several
// hosts is one of each.
func (d decoder) knownHosts(v yamldoc.Value) []access.Certificate {
	var out []access.Certificate
	number := 0
	for line := range strings.Lines(d.String(v).Value) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		const hosts, sort, key = 0, 1, 2
		words := strings.Fields(line)
		switch {
		case line[0] == '@':
			d.Errorf(v, document.WrongValue, "line %d has the mark %s, which isn't supported; want a host, a type and a key", number, yamldoc.Shorten(words[0]))
			continue
		case len(words) <= key:
			d.Errorf(v, document.WrongValue, "line %d isn't a host, a type and a key, such as github.com ssh-ed25519 AAAA…", number)
			continue
		}
		for host := range strings.SplitSeq(words[hosts], ",") {
			out = append(out, d.hostKey(v, access.Certificate{Server: host, Type: access.CertificateSSH, SubType: words[sort], Data: words[key]}, number))
		}
	}
	return out
}

// hostKey checks that a key is one of its type.
func (d decoder) hostKey(v yamldoc.Value, c access.Certificate, line int) access.Certificate {
	key, err := base64.StdEncoding.DecodeString(c.Data)
	const length = 4 // of what the key begins with: its type
	if err != nil || len(key) < length+len(c.SubType) || string(key[length:length+len(c.SubType)]) != c.SubType {
		place := ""
		if line > 0 {
			place = fmt.Sprintf("line %d: ", line)
		}
		d.Errorf(v, document.WrongValue, "%sthe key of %s isn't one of the type %s in base64", place, yamldoc.Shorten(c.Server), yamldoc.Shorten(c.SubType))
	}
	return c
}

var keyID = regexp.MustCompile(`^[0-9A-F]{16}$`)

// gpgKey is one that commits are signed with.
func (d decoder) gpgKey(v yamldoc.Value, id, armored string) access.Key {
	id = strings.ToUpper(id)
	if id != "" && !keyID.MatchString(id) {
		d.Errorf(v, document.WrongValue, "found the key %q; want the 16 hexadecimal digits of its id", yamldoc.Shorten(id))
	}
	switch {
	case strings.Contains(armored, "BEGIN PGP PRIVATE KEY"):
		d.Errorf(v, document.WrongValue, "found a private key, which nobody else should have; want a public one")
	case !strings.Contains(armored, "-----BEGIN PGP PUBLIC KEY BLOCK-----"):
		d.Errorf(v, document.WrongValue, "found no public key; want one that begins with -----BEGIN PGP PUBLIC KEY BLOCK-----")
	}
	return access.Key{ID: id, Data: armored}
}

// agentSettings are keys of argocd-cm and argocd-cmd-params-cm that are about what
// agents do. One that ends in a dot has more behind it.
func agentSettings() []string {
	return []string{
		"timeout.reconciliation", "timeout.reconciliation.jitter", "timeout.hard.reconciliation", "application.resourceTrackingMethod", "application.instanceLabelKey",
		"installationID", "resource.customizations", "resource.customizations.", "resource.compareoptions", "resource.exclusions", "resource.inclusions",
		"resource.sensitive.mask.annotations", "resource.ignoreResourceUpdatesEnabled", "kustomize.enable", "kustomize.buildOptions", "helm.enable",
		"helm.valuesFileSchemes", "jsonnet.enable", "cluster.inClusterEnabled", "application.sync.impersonation.enabled", "application.sync.impersonation.enforced", "webhook.refresh.jitter",
		"webhook.refresh.jitter.threshold", "controller.self.heal.timeout.seconds", "controller.self.heal.backoff.timeout.seconds", "controller.self.heal.backoff.factor",
		"controller.self.heal.backoff.cap.seconds", "controller.sync.timeout.seconds", "controller.sync.wave.delay.seconds", "controller.diff.server.side",
		"application.namespaces", "applicationsetcontroller.namespaces", "applicationsetcontroller.policy", "applicationsetcontroller.enable.progressive.syncs",
		"applicationsetcontroller.allowed.scm.providers", "applicationsetcontroller.enable.scm.providers", "controller.ignore.normalizer.jq.timeout", "ignore.normalizer.jq.timeout",
		genericHealth,
	}
}

// serverSettings begin the keys that are about Argo CD's own server and its parts.
func serverSettings() []string {
	return []string{
		"url", "additionalUrls", "dex.", "oidc.", "accounts.", "admin.", "users.", "exec.", "ui.", "help.", "ga.", "server.", "statusbadge.", "users.", "webhook.", "policy.", "scopes",
		"redis.", "reposerver.", "controller.", "otlp.", "log.", "repositories", "repository.", "passwordPattern", "extension.", "applicationsetcontroller.", "dexserver.",
		"notificationscontroller.", "commitserver.", "hydrator.", "extensions.", "resource.links", "application.links", "project.links", "globalProjects", "application.allowedNodeLabels",
		"resource.respectRBAC", "resource.customLabels", "configManagementPlugins", "sourceHydrator.",
	}
}

// secretSettings are keys of those in which secrets stand.
func secretSettings() []string {
	return []string{"dex.config", "oidc.config", "repositories", "repository.credentials"}
}

// settings reads argocd-cm and its like. What is about Argo CD's server says nothing
// here, and of it no secret is kept.
func (d decoder) settings(v yamldoc.Value, s *access.Settings) {
	var others []string
	var into settings.Settings
	for e := range d.Mapping(v) {
		text := d.String(e).Value
		about := func(names []string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return e.Key == n || strings.HasSuffix(n, ".") && strings.HasPrefix(e.Key, n) })
		}
		switch {
		case s.Name == rightsMap:
			others = append(others, e.Key)
		case about(agentSettings()):
			s.Data[e.Key] = text
			d.setting(e, e.Key, text, &into)
			if !about(honoured()) {
				d.Warnf(e, document.NoEffect, "agents don't go by %s yet", e.Key)
			}
		case about(serverSettings()) && d.Hint(e.Key, agentSettings()) == "":
			others = append(others, e.Key)
			if slices.Contains(secretSettings(), e.Key) && text != "" {
				d.values.Found = append(d.values.Found, Found{Name: e.Key, At: e, Text: text, Gone: true})
			}
		default:
			d.Unknown(e, agentSettings()...)
		}
	}
	if len(others) > 0 {
		d.Warnf(v, otherwise, "of Argo CD's server, for which Slipway's own is used, and without effect here: %s", strings.Join(others, ", "))
	}
}
