package lookup

// ChartFound is what a chart says of itself, and where it was found
// (semantics/entities §2.3).
type ChartFound struct {
	Manifest    string     `json:"manifest"` // identifier
	CommitID    string     `json:"commitId,omitempty"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Version     string     `json:"version"`
	APIVersion  string     `json:"apiVersion"`
	AppVersion  string     `json:"appVersion"`
	KubeVersion string     `json:"kubeVersion"`
	Metadata    ChartPlace `json:"metadata"`
}

// ChartPlace is where a chart was found; what its store doesn't have is empty.
type ChartPlace struct {
	URL        string `json:"url"`
	BasePath   string `json:"basePath"` // of a registry, or of a repository
	BucketName string `json:"bucketName"`
	CommitID   string `json:"commitId"`
	Branch     string `json:"branch"`
}
