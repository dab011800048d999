package display

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Document is what an agent keeps beside its applications. What opens something isn't
// in it.
type Document struct {
	Kind         ref.Kind         `json:"kind"`
	ID           string           `json:"id"`
	Agent        string           `json:"agent" doc:"The agent's identifier, in the scope of the document"`
	Org          string           `json:"org,omitempty"`
	Project      string           `json:"project,omitempty"`
	Version      int64            `json:"version"`
	UpdatedAt    time.Time        `json:"updatedAt"`
	Repository   *Repository      `json:"repository,omitempty" doc:"Of gitopsRepository and gitopsRepoCredentials"`
	Cluster      *Cluster         `json:"cluster,omitempty"`
	Certificates []Certificate    `json:"certificates,omitempty"`
	Keys         []Key            `json:"keys,omitempty"`
	Settings     *access.Settings `json:"settings,omitempty"`
	ArgoProject  *gitops.Project  `json:"argoProject,omitempty"`
}

// DocumentList is a part of the list of documents of a kind.
type DocumentList struct {
	Documents     []Document `json:"documents" nullable:"false"`
	NextPageToken string     `json:"nextPageToken,omitempty"`
}

// Repository is a repository, or a template of credentials.
type Repository struct {
	URL         string `json:"url"`
	Type        string `json:"type"`
	Name        string `json:"name,omitempty"`
	Project     string `json:"project,omitempty" doc:"Of Argo CD: whose alone it is"`
	Username    string `json:"username,omitempty"`
	Credentials bool   `json:"credentials" doc:"It has some of its own"`
	Insecure    bool   `json:"insecure,omitempty"`
	EnableOCI   bool   `json:"enableOCI,omitempty"`
	EnableLFS   bool   `json:"enableLfs,omitempty"`
}

// Cluster is one that applications may go to.
type Cluster struct {
	Server           string            `json:"server"`
	Name             string            `json:"name"`
	Project          string            `json:"project,omitempty" doc:"Of Argo CD: whose alone it is"`
	Namespaces       []string          `json:"namespaces,omitempty" doc:"The only ones; none means all"`
	ClusterResources bool              `json:"clusterResources,omitempty"`
	Shard            *int64            `json:"shard,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
}

// Certificate is what a host is known by.
type Certificate struct {
	ServerName string `json:"serverName"`
	Type       string `json:"certType" enum:"https,ssh"`
	SubType    string `json:"certSubType,omitempty"`
	Info       string `json:"certInfo,omitempty" doc:"The key's fingerprint, or the certificate's subject"`
}

// Key is one that commits may be signed with.
type Key struct {
	KeyID string `json:"keyID"`
}

// CertificateOf is a certificate as people see it.
func CertificateOf(c access.Certificate) Certificate {
	out := Certificate{ServerName: c.Server, Type: c.Type, SubType: c.SubType}
	switch c.Type {
	case access.CertificateSSH:
		if key, err := base64.StdEncoding.DecodeString(c.Data); err == nil {
			sum := sha256.Sum256(key)
			out.Info = "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
		}
	default:
		if block, _ := pem.Decode([]byte(c.Data)); block != nil {
			if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				out.SubType, out.Info = cert.PublicKeyAlgorithm.String(), cert.Subject.String()
			}
		}
	}
	return out
}
