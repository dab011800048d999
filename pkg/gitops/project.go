package gitops

// Project bounds what its applications may do: an AppProject of Argo CD.
type Project struct {
	Meta Meta        `json:"metadata"`
	Spec ProjectSpec `json:"spec"`
}

// ProjectSpec are the bounds. Patterns are globs; one that begins with ! takes away.
type ProjectSpec struct {
	SourceRepos                     []string           `json:"sourceRepos,omitempty"`
	Destinations                    []Destination      `json:"destinations,omitempty"`
	Description                     string             `json:"description,omitempty"`
	Roles                           []ProjectRole      `json:"roles,omitempty"`
	ClusterResourceWhitelist        []KindPattern      `json:"clusterResourceWhitelist,omitempty"`
	ClusterResourceBlacklist        []KindPattern      `json:"clusterResourceBlacklist,omitempty"`
	NamespaceResourceWhitelist      []KindPattern      `json:"namespaceResourceWhitelist,omitempty"`
	NamespaceResourceBlacklist      []KindPattern      `json:"namespaceResourceBlacklist,omitempty"`
	OrphanedResources               *OrphanedResources `json:"orphanedResources,omitempty"`
	SyncWindows                     []SyncWindow       `json:"syncWindows,omitempty"`
	SourceNamespaces                []string           `json:"sourceNamespaces,omitempty"`
	PermitOnlyProjectScopedClusters bool               `json:"permitOnlyProjectScopedClusters,omitempty"`
	// SignatureKeys are keys of which one has to have signed what is deployed; none:
	// nobody has to.
	SignatureKeys              []SignatureKey       `json:"signatureKeys,omitempty"`
	SourceIntegrity            *SourceIntegrity     `json:"sourceIntegrity,omitempty"`
	DestinationServiceAccounts []DestinationAccount `json:"destinationServiceAccounts,omitempty"`
}

// SignatureKey names a key that commits are signed with.
type SignatureKey struct {
	KeyID string `json:"keyID"` // 16 hexadecimal digits
}

// SourceIntegrity is what has to be true of sources.
type SourceIntegrity struct {
	Git *GitIntegrity `json:"git,omitempty"`
}

// GitIntegrity is what has to be true of repositories of Git: the first policy that takes
// one counts. It takes the place of SignatureKeys.
type GitIntegrity struct {
	Policies []GitPolicy `json:"policies,omitempty"`
}

// GitPolicy says by whom commits have to be signed in repositories.
type GitPolicy struct {
	Repos []RepoPattern `json:"repos"`
	GPG   GPGPolicy     `json:"gpg"`
}

// RepoPattern takes repositories by their URLs, or with ! takes them away.
type RepoPattern struct {
	URL string `json:"url"`
}

// GPGPolicy says what is to be signed, and by which keys.
type GPGPolicy struct {
	Mode string   `json:"mode"` // SignedNone or SignedHead
	Keys []string `json:"keys,omitempty"`
}

// What of a repository has to be signed: nothing, or the commit or the tag that is
// deployed.
const (
	SignedNone = "none"
	SignedHead = "head"
)

// DestinationAccount is as whom objects are applied at destinations. Server and Namespace
// are globs.
type DestinationAccount struct {
	Server    string `json:"server"`
	Namespace string `json:"namespace,omitempty"`
	// Account is the name of a service account, with its namespace and a colon before it
	// where that isn't the destination's.
	Account string `json:"defaultServiceAccount"`
}

// ProjectRole are rights within a project.
type ProjectRole struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Policies    []string   `json:"policies,omitempty"`
	Groups      []string   `json:"groups,omitempty"`
	JWTTokens   []JWTToken `json:"jwtTokens,omitempty"`
}

// JWTToken is a token of an Argo CD server, which means nothing here.
type JWTToken struct {
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp,omitempty"`
	ID        string `json:"id,omitempty"`
}

// KindPattern names kinds of objects, and objects of them.
type KindPattern struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name,omitempty"`
}

// OrphanedResources has an agent look for objects that belong to nobody.
type OrphanedResources struct {
	Warn   *bool         `json:"warn,omitempty"` // nil: yes
	Ignore []KindPattern `json:"ignore,omitempty"`
}

// SyncWindow is a time in which applications may, or may not, be synced.
type SyncWindow struct {
	Kind           string   `json:"kind"`     // allow or deny
	Schedule       string   `json:"schedule"` // cron, of five fields
	Duration       string   `json:"duration"` // Go's
	Applications   []string `json:"applications,omitempty"`
	Namespaces     []string `json:"namespaces,omitempty"`
	Clusters       []string `json:"clusters,omitempty"`
	ManualSync     bool     `json:"manualSync,omitempty"`
	TimeZone       string   `json:"timeZone,omitempty"` // empty: UTC
	UseAndOperator bool     `json:"andOperator,omitempty"`
	Description    string   `json:"description,omitempty"`
	SyncOverrun    bool     `json:"syncOverrun,omitempty"`
}
