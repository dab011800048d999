package trigger

import "cmp"

// bitbucketPayload is what triggers know of the events of Bitbucket Cloud and
// of Bitbucket Data Center, which tell the same in other words.
type bitbucketPayload struct {
	Actor struct {
		Nickname string `json:"nickname"` // Cloud
		Name     string `json:"name"`     // Data Center
		Email    string `json:"emailAddress"`
	} `json:"actor"`
	Repository bitbucketRepository `json:"repository"`
	Push       struct {
		Changes []struct {
			New *bitbucketTarget `json:"new"` // none: it was deleted
			Old *bitbucketTarget `json:"old"`
		} `json:"changes"`
	} `json:"push"` // Cloud
	Changes []struct {
		Ref struct {
			ID string `json:"id"`
		} `json:"ref"`
		Type     string `json:"type"`
		FromHash string `json:"fromHash"`
		ToHash   string `json:"toHash"`
	} `json:"changes"` // Data Center
	CloudPull struct {
		ID          int64         `json:"id"`
		Title       string        `json:"title"`
		Source      bitbucketSide `json:"source"`
		Destination bitbucketSide `json:"destination"`
	} `json:"pullrequest"`
	CenterPull struct {
		ID    int64           `json:"id"`
		Title string          `json:"title"`
		From  bitbucketBranch `json:"fromRef"`
		To    bitbucketBranch `json:"toRef"`
	} `json:"pullRequest"`
}

type bitbucketRepository struct {
	Links struct {
		HTML  bitbucketLink   `json:"html"`
		Clone []bitbucketLink `json:"clone"`
	} `json:"links"`
}

type bitbucketLink struct {
	Href string `json:"href"`
}

type bitbucketTarget struct {
	Type   string `json:"type"` // branch or tag
	Name   string `json:"name"`
	Target struct {
		Hash string `json:"hash"`
	} `json:"target"`
}

type bitbucketSide struct {
	Branch struct {
		Name string `json:"name"`
	} `json:"branch"`
	Commit struct {
		Hash string `json:"hash"`
	} `json:"commit"`
}

type bitbucketBranch struct {
	Name       string              `json:"displayId"`
	Commit     string              `json:"latestCommit"`
	Repository bitbucketRepository `json:"repository"`
}

func (r bitbucketRepository) urls() []string {
	list := []string{r.Links.HTML.Href}
	for _, l := range r.Links.Clone {
		list = append(list, l.Href)
	}
	return urls(list...)
}

func readBitbucket(e Event, key string) ([]Event, error) {
	p, err := decode[bitbucketPayload](e)
	if err != nil {
		return nil, err
	}
	e.Repository = p.Repository.urls()
	e.User, e.Email = cmp.Or(p.Actor.Nickname, p.Actor.Name), p.Actor.Email
	switch key {
	case "repo:push", "repo:refs_changed":
		return p.pushes(e), nil
	}
	e.Types, e.Action = bitbucketAction(key)
	if pr := p.CloudPull; pr.ID != 0 {
		e.PullRequest, e.Title, e.SourceBranch, e.TargetBranch = pr.ID, pr.Title, pr.Source.Branch.Name, pr.Destination.Branch.Name
		e.CommitSHA, e.BaseSHA = pr.Source.Commit.Hash, pr.Destination.Commit.Hash
	}
	if pr := p.CenterPull; pr.From.Name != "" {
		e.Repository = pr.To.Repository.urls()
		e.PullRequest, e.Title, e.SourceBranch, e.TargetBranch = pr.ID, pr.Title, pr.From.Name, pr.To.Name
		e.CommitSHA, e.BaseSHA = pr.From.Commit, pr.To.Commit
	}
	return []Event{e}, nil
}

// pushes are the changes of a push, without deletions.
func (p bitbucketPayload) pushes(e Event) []Event {
	e.Types = []string{"Push"}
	var out []Event
	for _, c := range p.Push.Changes {
		if c.New == nil {
			continue
		}
		one := e
		one.CommitSHA = c.New.Target.Hash
		if c.Old != nil {
			one.BaseSHA = c.Old.Target.Hash
		}
		one.pushed("refs/heads/" + c.New.Name)
		if c.New.Type == "tag" {
			one.pushed("refs/tags/" + c.New.Name)
		}
		out = append(out, one)
	}
	for _, c := range p.Changes {
		if c.Type == "DELETE" {
			continue
		}
		one := e
		one.CommitSHA, one.BaseSHA = c.ToHash, c.FromHash
		one.pushed(c.Ref.ID)
		out = append(out, one)
	}
	return out
}

// bitbucketAction is an event of a pull request as triggers spell it.
func bitbucketAction(key string) (types []string, action string) {
	switch key {
	case "pullrequest:created", "pr:opened":
		return []string{"PullRequest"}, "Create"
	case "pullrequest:updated", "pr:modified", "pr:from_ref_updated":
		return []string{"PullRequest"}, "Update"
	case "pullrequest:fulfilled", "pr:merged":
		return []string{"PullRequest"}, "Merge"
	case "pullrequest:rejected", "pr:declined":
		return []string{"PullRequest"}, "Decline"
	case "pullrequest:comment_created":
		return []string{"PRComment"}, "Create"
	case "pullrequest:comment_updated":
		return []string{"PRComment"}, "Edit"
	case "pullrequest:comment_deleted":
		return []string{"PRComment"}, "Delete"
	}
	return nil, ""
}
