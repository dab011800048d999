package task

// FileStore names files of the file store (semantics/entities §10.1). Their
// contents aren't in the payload: the delegate asks for them with its lease.
type FileStore struct {
	Paths []string `json:"paths,omitempty"` // of files and folders, as written: /x, org:/x, account:/x
	// Secrets are files that are kept as secrets instead; their texts hold
	// placeholders.
	Secrets []SecretFile `json:"secrets,omitempty"`
}

// SecretFile is a file whose content is a secret.
type SecretFile struct {
	ID   string `json:"id"` // of the secret, as written
	Text string `json:"text"`
}

// StoredFile is a file of the file store.
type StoredFile struct {
	Path    string `json:"path"` // in the file store
	Name    string `json:"name"` // below the folder that was asked for; its own if it was asked for itself
	Content []byte `json:"content"`
}

// LateText is a text that only a delegate can make, before its task begins: a
// file of a Git repository, or a text with secrets in it in another form.
type LateText struct {
	Name string `json:"name"`           // for errors, e.g. config file "app"
	Git  *Git   `json:"git,omitempty"`  // has one path, that of the file
	Text string `json:"text,omitempty"` // without Git; holds placeholders
	// Stage is where a branch stays at one commit.
	Stage  string `json:"stage,omitempty"`
	Base64 bool   `json:"base64,omitempty"`
}

// MaxText bounds a file whose content becomes part of a text, in bytes
// (semantics/entities §2.5).
const MaxText = 1 << 20
