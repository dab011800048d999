package access

// Certificate is what a host is known by.
type Certificate struct {
	// Server is the host, as [host]:port where the port isn't SSH's own.
	Server string `json:"serverName"`
	Type   string `json:"certType"` // CertificateHTTPS or CertificateSSH
	// SubType is the sort of key of an SSH host, such as ssh-ed25519.
	SubType string `json:"certSubType,omitempty"`
	// Data is a chain of certificates, PEM, or an SSH host's key in base64.
	Data string `json:"certData"`
}

// The types of certificates.
const (
	CertificateHTTPS = "https"
	CertificateSSH   = "ssh"
)

// Key is one that commits may be signed with.
type Key struct {
	ID   string `json:"keyID"`   // 16 hexadecimal digits
	Data string `json:"keyData"` // armored
}

// Settings are one of the ConfigMaps by which Argo CD is set.
type Settings struct {
	Name string            `json:"name"`
	Data map[string]string `json:"data"`
}
