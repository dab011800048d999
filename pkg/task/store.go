package task

// Store is where files come from: a Git repository, a repository of charts, the
// file store, a bucket, the document itself, a script or the main manifest's store.
type Store struct {
	Git    *Git        `json:"git,omitempty"`
	Charts *ChartRepo  `json:"charts,omitempty"`
	Files  *FileStore  `json:"files,omitempty"`
	S3     *S3Objects  `json:"s3,omitempty"` // has paths
	Inline string      `json:"inline,omitempty"`
	Script *Extraction `json:"script,omitempty"`
	// Inherited are paths in the main manifest's own store.
	Inherited []string `json:"inherited,omitempty"`
}

// Extraction is a script that puts files into the folder where it runs.
type Extraction struct {
	Script string `json:"script"` // for Bash
	Path   string `json:"path"`   // of the files, below that folder
}

// ChartRepo is a repository of Helm charts: an HTTP server with an index, a
// registry, or a folder of a bucket (semantics/entities §2.4).
type ChartRepo struct {
	URL string `json:"url"` // of a registry: oci://host/path; of a bucket: for people
	OCI bool   `json:"oci,omitempty"`
	// A bucket: one of these, and its folder without a slash at either end.
	S3     *S3Objects    `json:"s3,omitempty"`
	GCS    *GoogleBucket `json:"gcs,omitempty"`
	Folder string        `json:"folder,omitempty"`
	// A cloud's registry, which is logged in to: one of these. Where ECR's URL is
	// empty, it is that of the credentials' account, with Folder below it.
	AWS    *AWS    `json:"aws,omitempty"`
	Google *Google `json:"google,omitempty"`
	// Credentials, as secret placeholders. Both empty: anonymous.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	Over     *Over  `json:"over,omitempty"`
}

// Git is a place in a Git repository.
type Git struct {
	URL    string   `json:"url"`
	Branch string   `json:"branch,omitempty"`
	Commit string   `json:"commit,omitempty"` // a commit or a tag; wins over Branch
	Paths  []string `json:"paths"`            // files and folders
	// Credentials, as secret placeholders. All empty: anonymous.
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"` // or token
	SSHKey        string `json:"sshKey,omitempty"`   // PEM
	SSHUser       string `json:"sshUser,omitempty"`
	SSHPassphrase string `json:"sshPassphrase,omitempty"`
	Token         string `json:"token,omitempty"` // a bearer's
	// KnownHosts are lines by which SSH hosts are known beside those that the
	// delegate knows.
	KnownHosts string `json:"knownHosts,omitempty"`
	Over       *Over  `json:"over,omitempty"`
}

// Over is how a host is reached, where that isn't as all hosts are.
type Over struct {
	CAPEM string `json:"caPEM,omitempty"` // by which it is known beside the system's authorities
	// A certificate that is shown to it.
	ClientCertPEM string `json:"clientCertPEM,omitempty"`
	ClientKeyPEM  string `json:"clientKeyPEM,omitempty"`
	Insecure      bool   `json:"insecure,omitempty"` // it may be anybody
	Proxy         string `json:"proxy,omitempty"`
	NoProxy       string `json:"noProxy,omitempty"` // hosts that are reached without Proxy
}

// Stored are the paths in the file store that a store names.
func (s *Store) Stored() []string {
	if s.Files == nil {
		return nil
	}
	return s.Files.Paths
}

// Fetched says whether a delegate brings the files of a store from somewhere:
// all but those in the document itself.
func (s *Store) Fetched() bool {
	return s.Git != nil || s.Charts != nil || s.Files != nil || s.S3 != nil || s.Script != nil || s.Inherited != nil
}
