package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/task"
)

// git is a Git repository as it is fetched.
func git(r access.Repository) task.Git {
	return task.Git{URL: r.URL, Username: r.Username, Password: r.Password, SSHKey: r.SSHPrivateKey}
}

// identity names a repository with what opens it.
func identity(r access.Repository) string {
	doc, _ := json.Marshal(r) //nolint:errchkjson // it has no form that JSON can't say
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:])
}
