package errand

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/task"
)

// ReleaseOp is what is to be done in a release repository.
type ReleaseOp string

// The operations, one for each step type.
const (
	OpUpdate ReleaseOp = "GitOpsUpdateReleaseRepo"
	OpMerge  ReleaseOp = "MergePR"
	OpRevert ReleaseOp = "RevertPR"
)

// Release is the spec of a task in a release repository.
type Release struct {
	Op   ReleaseOp    `json:"op"`
	Git  task.Git     `json:"git"` // Branch is what pull requests are for
	Host task.GitHost `json:"host"`

	// Of an update and a revert:
	Title  string `json:"title,omitempty"`
	Branch string `json:"branch,omitempty"` // that is made
	Node   string `json:"node,omitempty"`   // whose branch it is

	Update *Update `json:"update,omitempty"`
	Merge  *Merge  `json:"merge,omitempty"`
	Commit string  `json:"commit,omitempty"` // that is reverted
}

// Update is what changes in which files.
type Update struct {
	Files  []string `json:"files"` // paths
	Values []Value  `json:"values,omitempty"`
	// Hidden are variables that are left out, because they are secret.
	Hidden []string `json:"hidden,omitempty"`

	AllowEmptyCommit bool `json:"allowEmptyCommit,omitempty"`
	AllowNoChange    bool `json:"allowNoChange,omitempty"`
	IgnoreMissing    bool `json:"ignoreMissing,omitempty"`      // values whose place isn't there
	IgnoreFiles      bool `json:"ignoreMissingFiles,omitempty"` // that aren't there
	Wait             bool `json:"wait,omitempty"`               // until somebody has merged it
}

// Value is what is set in each file.
type Value struct {
	Path   string `json:"path"`
	Value  string `json:"value"`
	Number bool   `json:"number,omitempty"`
}

// Merge is how a pull request is merged.
type Merge struct {
	Squash bool `json:"squash,omitempty"`
	Delete bool `json:"delete,omitempty"` // its branch
}

// PullRequest is one as a step leaves it to those after it in its stage.
type PullRequest struct {
	Number     int    `json:"number"` // 0: of a revert for which nothing was left
	URL        string `json:"url"`
	Repository string `json:"repository"` // its URL
	Branch     string `json:"branch"`
	Commit     string `json:"commitId"` // the branch's
	Merged     string `json:"merged,omitempty"`
	// Files are those that changed.
	Files []string `json:"files,omitempty"`
}

// The keys of the stage's checkpoints by which steps know of each other's pull
// requests: what one has made, and what one has merged.
const (
	keyMade   = "pull request of "
	keyMerged = "merge of "
)

// Made is the key of the pull request that a step has made.
func Made(node string) string { return keyMade + node }

// Merged is the key of a merge of what a step has made.
func Merged(node string) string { return keyMerged + node }

// MadeBy is the step whose pull request a key is of.
func MadeBy(key string) (node string, ok bool) { return strings.CutPrefix(key, keyMade) }

// MergedOf is the step whose pull request a merge is of.
func MergedOf(key string) (node string, ok bool) { return strings.CutPrefix(key, keyMerged) }

// Released is what the outputs of a step in a release repository have.
type Released struct {
	Update *Outcome `json:"updateReleaseRepoOutcome,omitempty"`
	Merge  *Outcome `json:"mergePROutcome,omitempty"`
	Revert *Outcome `json:"revertPROutcome,omitempty"`
}

// Outcome is what a step left in a release repository.
type Outcome struct {
	Commit      string   `json:"commitId"`
	PullRequest *Link    `json:"pullRequest,omitempty"` // nil: there is none
	Branch      string   `json:"branch,omitempty"`
	Files       []string `json:"files,omitempty"`
}

// Link is where people see a pull request.
type Link struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
}
