package task

// GitHost is where a Git repository keeps its pull requests: a host's API.
// Credentials are placeholders of secrets until a claim opens them.
type GitHost struct {
	Type   string `json:"type"` // of the connector, e.g. Github
	Server Server `json:"server"`
	// Repository names the repository in the API: owner and name, or all that stands
	// between the host and the name.
	Repository string `json:"repository"`
}
