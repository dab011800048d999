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
