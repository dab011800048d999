package task

// AWS is an account of Amazon's and how to prove there who asks
// (semantics/entities §9). Keys are placeholders of secrets until a claim
// opens them.
type AWS struct {
	Auth         AWSAuth `json:"auth"`
	AccessKey    string  `json:"accessKey,omitempty"`
	SecretKey    string  `json:"secretKey,omitempty"`
	SessionToken string  `json:"sessionToken,omitempty"`
	Web          *AWSWeb `json:"web,omitempty"` // of OidcAuthentication alone
	Region       string  `json:"region,omitempty"`
	// Role is assumed with the credentials above; empty: they are used themselves.
	Role       string `json:"role,omitempty"`
	ExternalID string `json:"externalId,omitempty"`
	// RoleSeconds is how long the role is assumed for; 0: as long as AWS says.
	RoleSeconds int         `json:"roleSeconds,omitempty"`
	BackOff     *AWSBackOff `json:"backOff,omitempty"`
}

// AWSAuth says where a delegate has its credentials from.
type AWSAuth string

// The ways to prove to AWS who asks.
const (
	AWSKeys    AWSAuth = "ManualConfig"        // the keys of the connector
	AWSInherit AWSAuth = "InheritFromDelegate" // what the delegate finds around it: environment, instance, task role
	AWSIRSA    AWSAuth = "Irsa"                // the delegate's service account in EKS
	AWSOIDC    AWSAuth = "OidcAuthentication"  // a token that the control plane signs
)

// AWSWeb is a role that is assumed with a token.
type AWSWeb struct {
	Role string `json:"role"`
	// Identity is its name, see Assignment.Tokens. It is the same where AWS would
	// see no difference.
	Identity string `json:"identity"`
	Subject  string `json:"subject"` // the token's, for people
}

// AWSBackOff replaces the way in which requests that failed are sent again.
// All times are milliseconds.
type AWSBackOff struct {
	Strategy string `json:"strategy"` // FixedDelay-, EqualJitter- or FullJitterBackoffStrategy
	Retries  int    `json:"retries"`
	Fixed    int    `json:"fixed,omitempty"`
	Base     int    `json:"base,omitempty"`
	Max      int    `json:"max,omitempty"`
}

// S3Objects is a bucket whose objects are versions by their keys, or files.
type S3Objects struct {
	AWS    AWS    `json:"aws"` // without a region: the bucket's own is asked for
	Bucket string `json:"bucket"`
	// Paths are those of files; one that ends in a slash means all right below it.
	Paths []string `json:"paths,omitempty"`
}

// PullForm is the shape of a PullSecret's value (semantics/entities §2.2).
type PullForm string

// The forms: the base64 of a dockercfg's JSON, and of a .dockerconfigjson's.
const (
	PullDockerCfg        PullForm = "dockercfg"
	PullDockerConfigJSON PullForm = "dockerconfigjson"
)

// PullSecret is the login of a registry, in a form for those who pull images.
type PullSecret struct {
	Form     PullForm `json:"form"`
	Registry string   `json:"registry"` // the address as clients of the registry know it; of ECR empty: what ECR says
	Username string   `json:"username,omitempty"`
	Password string   `json:"password,omitempty"`
	// ECR asks for the user name and a password of short life instead.
	ECR *AWS `json:"ecr,omitempty"`
	// Google and Azure do so in their clouds.
	Google *Google `json:"google,omitempty"`
	Azure  *Azure  `json:"azure,omitempty"`
}
