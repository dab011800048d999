package trigger

import (
	"cmp"
	"strings"
)

// githubPayload is what triggers know of GitHub's events.
type githubPayload struct {
	Action     string `json:"action"`
	Ref        string `json:"ref"`
	RefType    string `json:"ref_type"`
	Before     string `json:"before"`
	After      string `json:"after"`
	Deleted    bool   `json:"deleted"`
	Repository struct {
		HTML  string `json:"html_url"`
		Clone string `json:"clone_url"`
		SSH   string `json:"ssh_url"`
	} `json:"repository"`
	Sender struct {
		Login string `json:"login"`
	} `json:"sender"`
	Pusher struct {
		Email string `json:"email"`
	} `json:"pusher"`
	Commits     []commit `json:"commits"`
	PullRequest *struct {
		Number int64     `json:"number"`
		Title  string    `json:"title"`
		Head   githubRef `json:"head"`
		Base   githubRef `json:"base"`
	} `json:"pull_request"`
	Issue struct {
		Number      int64     `json:"number"`
		Title       string    `json:"title"`
		PullRequest *struct{} `json:"pull_request"` // only a pull request has it
	} `json:"issue"`
	Release struct {
		Tag string `json:"tag_name"`
	} `json:"release"`
	MergeGroup struct {
		HeadSHA string `json:"head_sha"`
		HeadRef string `json:"head_ref"`
		BaseSHA string `json:"base_sha"`
		BaseRef string `json:"base_ref"`
	} `json:"merge_group"`
}

type githubRef struct {
	Ref string `json:"ref"`
	SHA string `json:"sha"`
}

func readGithub(e Event, name string) (Event, error) {
	p, err := decode[githubPayload](e)
	if err != nil {
		return Event{}, err
	}
	e.Repository = urls(p.Repository.HTML, p.Repository.Clone, p.Repository.SSH)
	e.User, e.Email = p.Sender.Login, p.Pusher.Email
	if pr := p.PullRequest; pr != nil {
		e.PullRequest, e.Title = pr.Number, pr.Title
		e.SourceBranch, e.TargetBranch, e.CommitSHA, e.BaseSHA = pr.Head.Ref, pr.Base.Ref, pr.Head.SHA, pr.Base.SHA
	}
	switch name {
	case "push":
		p.push(&e)
	case "pull_request":
		e.Types, e.Action = []string{"PullRequest"}, githubAction(p.Action)
	case "pull_request_review":
		e.Types, e.Action = []string{"PullRequestReview"}, capital(p.Action)
	case "create", "delete":
		e.Types = []string{capital(name)}
		e.pushed("refs/heads/" + p.Ref)
		if p.RefType == "tag" {
			e.pushed("refs/tags/" + p.Ref)
		}
	case "issue_comment":
		if p.Issue.PullRequest != nil { // else it is about an issue (semantics/pipeline §11.2)
			e.Types, e.Action = []string{"IssueComment"}, githubAction(p.Action)
			e.PullRequest, e.Title = p.Issue.Number, p.Issue.Title
		}
	case "release":
		e.Types, e.Action, e.Tag = []string{"Release"}, githubAction(p.Action), p.Release.Tag
	case "merge_group":
		if p.Action == "checks_requested" {
			e.Types, e.CommitSHA, e.BaseSHA = []string{"MergeQueue"}, p.MergeGroup.HeadSHA, p.MergeGroup.BaseSHA
			e.SourceBranch = strings.TrimPrefix(p.MergeGroup.HeadRef, "refs/heads/")
			e.TargetBranch = strings.TrimPrefix(p.MergeGroup.BaseRef, "refs/heads/")
		}
	}
	return e, nil
}

// push takes in a push of commits or of a tag; a deletion starts nothing.
func (p githubPayload) push(e *Event) {
	const listed = 2048 // commits that GitHub tells of at most
	e.pushed(p.Ref)
	e.CommitSHA, e.BaseSHA = p.After, p.Before
	e.changed(p.Commits, len(p.Commits) < listed)
	if !p.Deleted {
		e.Types = []string{"Push"}
	}
}

// githubAction spells an action as triggers do.
func githubAction(action string) string {
	known := map[string]string{
		"opened": "Open", "closed": "Close", "reopened": "Reopen", "edited": "Edit", "labeled": "Label", "unlabeled": "Unlabel",
		"synchronize": "Synchronize", "ready_for_review": "ReadyForReview", "created": "Create", "deleted": "Delete",
		"prereleased": "Prerelease", "published": "Publish", "released": "Release", "unpublished": "Unpublish",
	}
	return cmp.Or(known[action], action)
}
