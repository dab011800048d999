package trigger

import (
	"cmp"
	"strings"
)

// gitlabPayload is what triggers know of GitLab's events.
type gitlabPayload struct {
	Ref       string `json:"ref"`
	Before    string `json:"before"`
	After     string `json:"after"`
	Username  string `json:"user_username"` // of a push
	UserEmail string `json:"user_email"`
	User      struct {
		Username string `json:"username"`
		Email    string `json:"email"`
	} `json:"user"`
	Project struct {
		Web  string `json:"web_url"`
		HTTP string `json:"git_http_url"`
		SSH  string `json:"git_ssh_url"`
	} `json:"project"`
	Commits     []commit `json:"commits"`
	CommitCount int      `json:"total_commits_count"`
	Attributes  struct {
		gitlabMerge
		Action      string `json:"action"`
		OldRevision string `json:"oldrev"`
		OnWhat      string `json:"noteable_type"` //nolint:misspell // GitLab's word
		Ref         string `json:"ref"`           // of a pipeline
		Tag         bool   `json:"tag"`
		SHA         string `json:"sha"`
		BeforeSHA   string `json:"before_sha"`
	} `json:"object_attributes"`
	MergeRequest gitlabMerge `json:"merge_request"` // that a comment is about
}

type gitlabMerge struct {
	IID          int64  `json:"iid"`
	Title        string `json:"title"`
	SourceBranch string `json:"source_branch"`
	TargetBranch string `json:"target_branch"`
	LastCommit   struct {
		ID string `json:"id"`
	} `json:"last_commit"`
}

func readGitlab(e Event, name string) (Event, error) {
	p, err := decode[gitlabPayload](e)
	if err != nil {
		return Event{}, err
	}
	e.Repository = urls(p.Project.Web, p.Project.HTTP, p.Project.SSH)
	e.User, e.Email = cmp.Or(p.Username, p.User.Username), cmp.Or(p.UserEmail, p.User.Email)
	switch name {
	case "Push Hook":
		p.push(&e, "Push")
	case "Tag Push Hook":
		p.push(&e, "Push", "Tag")
	case "Merge Request Hook":
		e.Types, e.Action = []string{"MergeRequest"}, capital(p.Attributes.Action)
		if p.Attributes.Action == "update" && p.Attributes.OldRevision != "" { // there are new commits
			e.Action = "Sync"
		}
		e.merge(p.Attributes.gitlabMerge)
	case "Note Hook":
		if p.Attributes.OnWhat == "MergeRequest" {
			e.Types, e.Action = []string{"MRComment"}, capital(cmp.Or(p.Attributes.Action, "create"))
			e.merge(p.MergeRequest)
		}
	case "Pipeline Hook":
		e.Types, e.CommitSHA, e.BaseSHA = []string{"PipelineHook"}, p.Attributes.SHA, p.Attributes.BeforeSHA
		e.pushed("refs/heads/" + p.Attributes.Ref)
		if p.Attributes.Tag {
			e.pushed("refs/tags/" + p.Attributes.Ref)
		}
	}
	return e, nil
}

// push takes in a push of commits or of a tag; a deletion starts nothing.
func (p gitlabPayload) push(e *Event, types ...string) {
	e.pushed(p.Ref)
	e.CommitSHA, e.BaseSHA = p.After, p.Before
	e.changed(p.Commits, p.CommitCount <= len(p.Commits)) // GitLab lists 20 commits at most
	if strings.Trim(p.After, "0") != "" {
		e.Types = types
	}
}

func (e *Event) merge(m gitlabMerge) {
	e.PullRequest, e.Title = m.IID, m.Title
	e.SourceBranch, e.TargetBranch, e.CommitSHA = m.SourceBranch, m.TargetBranch, m.LastCommit.ID
}
