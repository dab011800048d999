package appset

// SecretKey is a key of a Secret in the agent's namespace.
type SecretKey struct {
	SecretName string `json:"secretName"`
	Key        string `json:"key"`
}

// ConfigMapKey is a key of a ConfigMap in the agent's namespace.
type ConfigMapKey struct {
	ConfigMapName string `json:"configMapName"`
	Key           string `json:"key"`
}

// BasicAuth is a name and a password.
type BasicAuth struct {
	Username    string     `json:"username"`
	PasswordRef *SecretKey `json:"passwordRef"`
}

// BearerToken is a token.
type BearerToken struct {
	TokenRef *SecretKey `json:"tokenRef"`
}

// SCMProvider is a set of parameters for each repository of an organization.
type SCMProvider struct {
	GitHub              *OrganizationGitHub          `json:"github,omitempty"`
	GitLab              *OrganizationGitLab          `json:"gitlab,omitempty"`
	Gitea               *OrganizationGitea           `json:"gitea,omitempty"`
	Bitbucket           *OrganizationBitbucket       `json:"bitbucket,omitempty"`
	BitbucketServer     *OrganizationBitbucketServer `json:"bitbucketServer,omitempty"`
	AzureDevOps         *OrganizationAzureDevOps     `json:"azureDevOps,omitempty"`
	AWSCodeCommit       *OrganizationCodeCommit      `json:"awsCodeCommit,omitempty"`
	Filters             []RepositoryFilter           `json:"filters,omitempty"` // one of them
	CloneProtocol       string                       `json:"cloneProtocol,omitempty"`
	RequeueAfterSeconds *int64                       `json:"requeueAfterSeconds,omitempty"`
	Values              map[string]string            `json:"values,omitempty"`
	Template            Template                     `json:"template,omitzero"`
}

// RepositoryFilter takes repositories of which all that it says is true.
type RepositoryFilter struct {
	RepositoryMatch *string  `json:"repositoryMatch,omitempty"`
	PathsExist      []string `json:"pathsExist,omitempty"`
	PathsDoNotExist []string `json:"pathsDoNotExist,omitempty"`
	LabelMatch      *string  `json:"labelMatch,omitempty"`
	BranchMatch     *string  `json:"branchMatch,omitempty"`
}

// OrganizationGitHub is an organization of GitHub.
type OrganizationGitHub struct {
	Organization         string     `json:"organization"`
	API                  string     `json:"api,omitempty"`
	TokenRef             *SecretKey `json:"tokenRef,omitempty"`
	AppSecretName        string     `json:"appSecretName,omitempty"`
	AllBranches          bool       `json:"allBranches,omitempty"`
	ExcludeArchivedRepos bool       `json:"excludeArchivedRepos,omitempty"`
}

// OrganizationGitLab is a group of GitLab.
type OrganizationGitLab struct {
	Group                 string        `json:"group"`
	API                   string        `json:"api,omitempty"`
	TokenRef              *SecretKey    `json:"tokenRef,omitempty"`
	AllBranches           bool          `json:"allBranches,omitempty"`
	IncludeSubgroups      bool          `json:"includeSubgroups,omitempty"`
	IncludeSharedProjects *bool         `json:"includeSharedProjects,omitempty"` // nil: yes
	IncludeArchivedRepos  bool          `json:"includeArchivedRepos,omitempty"`
	Topic                 string        `json:"topic,omitempty"`
	Insecure              bool          `json:"insecure,omitempty"`
	CARef                 *ConfigMapKey `json:"caRef,omitempty"`
}

// OrganizationGitea is an owner of Gitea.
type OrganizationGitea struct {
	Owner                string     `json:"owner"`
	API                  string     `json:"api"`
	TokenRef             *SecretKey `json:"tokenRef,omitempty"`
	AllBranches          bool       `json:"allBranches,omitempty"`
	ExcludeArchivedRepos bool       `json:"excludeArchivedRepos,omitempty"`
	Insecure             bool       `json:"insecure,omitempty"`
}

// OrganizationBitbucket is a workspace of Bitbucket Cloud.
type OrganizationBitbucket struct {
	Owner          string     `json:"owner"`
	User           string     `json:"user"`
	AppPasswordRef *SecretKey `json:"appPasswordRef"`
	AllBranches    bool       `json:"allBranches,omitempty"`
}

// OrganizationBitbucketServer is a project of a Bitbucket server.
type OrganizationBitbucketServer struct {
	Project     string        `json:"project"`
	API         string        `json:"api"`
	BasicAuth   *BasicAuth    `json:"basicAuth,omitempty"`
	BearerToken *BearerToken  `json:"bearerToken,omitempty"`
	AllBranches bool          `json:"allBranches,omitempty"`
	Insecure    bool          `json:"insecure,omitempty"`
	CARef       *ConfigMapKey `json:"caRef,omitempty"`
}

// OrganizationAzureDevOps is a team project of Azure DevOps.
type OrganizationAzureDevOps struct {
	Organization   string     `json:"organization"`
	TeamProject    string     `json:"teamProject"`
	API            string     `json:"api,omitempty"`
	AccessTokenRef *SecretKey `json:"accessTokenRef"`
	AllBranches    bool       `json:"allBranches,omitempty"`
}

// OrganizationCodeCommit is an account of AWS CodeCommit in a region.
type OrganizationCodeCommit struct {
	TagFilters  []Tag  `json:"tagFilters,omitempty"`
	Role        string `json:"role,omitempty"`
	Region      string `json:"region,omitempty"`
	AllBranches bool   `json:"allBranches,omitempty"`
}

// Tag is a tag of AWS; an empty value is any.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
}

// PullRequests is a set of parameters for each open pull request of a repository.
type PullRequests struct {
	GitHub                      *RepositoryGitHub          `json:"github,omitempty"`
	GitLab                      *RepositoryGitLab          `json:"gitlab,omitempty"`
	Gitea                       *RepositoryGitea           `json:"gitea,omitempty"`
	Bitbucket                   *RepositoryBitbucket       `json:"bitbucket,omitempty"`
	BitbucketServer             *RepositoryBitbucketServer `json:"bitbucketServer,omitempty"`
	AzureDevOps                 *RepositoryAzureDevOps     `json:"azuredevops,omitempty"`
	Filters                     []PullRequestFilter        `json:"filters,omitempty"` // one of them
	ContinueOnRepoNotFoundError bool                       `json:"continueOnRepoNotFoundError,omitempty"`
	RequeueAfterSeconds         *int64                     `json:"requeueAfterSeconds,omitempty"`
	Values                      map[string]string          `json:"values,omitempty"`
	Template                    Template                   `json:"template,omitzero"`
}

// PullRequestFilter takes pull requests of which all that it says is true.
type PullRequestFilter struct {
	BranchMatch       *string `json:"branchMatch,omitempty"`
	TargetBranchMatch *string `json:"targetBranchMatch,omitempty"`
	TitleMatch        *string `json:"titleMatch,omitempty"`
}

// RepositoryGitHub is a repository of GitHub.
type RepositoryGitHub struct {
	Owner         string     `json:"owner"`
	Repo          string     `json:"repo"`
	API           string     `json:"api,omitempty"`
	TokenRef      *SecretKey `json:"tokenRef,omitempty"`
	AppSecretName string     `json:"appSecretName,omitempty"`
	Labels        []string   `json:"labels,omitempty"`
}

// RepositoryGitLab is a project of GitLab.
type RepositoryGitLab struct {
	Project          string        `json:"project"`
	API              string        `json:"api,omitempty"`
	TokenRef         *SecretKey    `json:"tokenRef,omitempty"`
	Labels           []string      `json:"labels,omitempty"`
	PullRequestState string        `json:"pullRequestState,omitempty"`
	Insecure         bool          `json:"insecure,omitempty"`
	CARef            *ConfigMapKey `json:"caRef,omitempty"`
}

// RepositoryGitea is a repository of Gitea.
type RepositoryGitea struct {
	Owner    string     `json:"owner"`
	Repo     string     `json:"repo"`
	API      string     `json:"api"`
	TokenRef *SecretKey `json:"tokenRef,omitempty"`
	Insecure bool       `json:"insecure,omitempty"`
	Labels   []string   `json:"labels,omitempty"`
}

// RepositoryBitbucket is a repository of Bitbucket Cloud.
type RepositoryBitbucket struct {
	Owner       string       `json:"owner"`
	Repo        string       `json:"repo"`
	API         string       `json:"api,omitempty"`
	BasicAuth   *BasicAuth   `json:"basicAuth,omitempty"`
	BearerToken *BearerToken `json:"bearerToken,omitempty"`
}

// RepositoryBitbucketServer is a repository of a Bitbucket server.
type RepositoryBitbucketServer struct {
	Project     string        `json:"project"`
	Repo        string        `json:"repo"`
	API         string        `json:"api"`
	BasicAuth   *BasicAuth    `json:"basicAuth,omitempty"`
	BearerToken *BearerToken  `json:"bearerToken,omitempty"`
	Insecure    bool          `json:"insecure,omitempty"`
	CARef       *ConfigMapKey `json:"caRef,omitempty"`
}

// RepositoryAzureDevOps is a repository of Azure DevOps.
type RepositoryAzureDevOps struct {
	Organization string     `json:"organization"`
	Project      string     `json:"project"`
	Repo         string     `json:"repo"`
	API          string     `json:"api,omitempty"`
	TokenRef     *SecretKey `json:"tokenRef,omitempty"`
	Labels       []string   `json:"labels,omitempty"`
}
