package testservers

import (
	"net/http"
	"strconv"
	"strings"
)

// github is docs.github.com/en/rest/pulls/pulls.
func (h *PullHost) github(mux *http.ServeMux) {
	const at = "/api/v3/repos/team/app"
	show := func(p *pulled) any {
		out := map[string]any{
			"number": p.number, "html_url": h.URL + "/team/app/pull/" + strconv.Itoa(p.number), "state": "open", "merged": p.state == "merged",
			"head": map[string]any{"ref": p.head, "sha": h.tip(p.head)}, "merge_commit_sha": p.commit, "mergeable": !h.conflicts(p), "mergeable_state": "clean",
		}
		if p.state != "open" {
			out["state"] = "closed"
		}
		if h.Blocked() {
			out["mergeable_state"] = "blocked"
		}
		return out
	}
	mux.HandleFunc("GET "+at+"/pulls", h.api(func(r *http.Request) (int, any) {
		return http.StatusOK, h.found(strings.TrimPrefix(r.URL.Query().Get("head"), "team:"), r.URL.Query().Get("base"), func(p *pulled) any {
			out, _ := show(p).(map[string]any)
			out["merged_at"] = nil // lists have neither of the next
			delete(out, "merged")
			delete(out, "mergeable")
			if p.state == "merged" {
				out["merged_at"] = "2026-01-01T00:00:00Z"
			}
			return out
		})
	}))
	mux.HandleFunc("POST "+at+"/pulls", h.api(func(r *http.Request) (int, any) {
		in := h.body(r)
		p := h.open(text(in, "head"), text(in, "base"))
		if p == nil {
			return http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed"}
		}
		return http.StatusCreated, show(p)
	}))
	mux.HandleFunc("GET "+at+"/pulls/{number}", h.api(func(r *http.Request) (int, any) { return http.StatusOK, show(h.of(r)) }))
	mux.HandleFunc("PUT "+at+"/pulls/{number}/merge", h.api(func(r *http.Request) (int, any) {
		in, p := h.body(r), h.of(r)
		switch {
		case p.state != "open" || h.Blocked():
			return http.StatusMethodNotAllowed, map[string]any{"message": "Pull Request is not mergeable"}
		case text(in, "sha") != h.tip(p.head):
			return http.StatusConflict, map[string]any{"message": "Head branch was modified. Review and try the merge again."}
		}
		if why := h.merge(p, text(in, "merge_method") == "squash"); why != "" {
			return http.StatusMethodNotAllowed, map[string]any{"message": why}
		}
		return http.StatusOK, map[string]any{"sha": p.commit, "merged": true}
	}))
	mux.HandleFunc("DELETE "+at+"/git/refs/heads/{branch...}", h.api(func(r *http.Request) (int, any) { return h.drop(r.PathValue("branch")), nil }))
}

// gitlab is docs.gitlab.com/api/merge_requests and branches.
func (h *PullHost) gitlab(mux *http.ServeMux) {
	const at = "/api/v4/projects/team%2Fapp"
	show := func(p *pulled) any {
		out := map[string]any{
			"iid": p.number, "web_url": h.URL + "/team/app/-/merge_requests/" + strconv.Itoa(p.number), "state": map[string]string{"open": "opened"}[p.state],
			"sha": h.tip(p.head), "merge_commit_sha": nil, "squash_commit_sha": nil, "detailed_merge_status": "mergeable", "has_conflicts": h.conflicts(p),
		}
		if p.state != "open" {
			out["state"], out["merge_commit_sha"] = p.state, p.commit
		}
		if h.Blocked() {
			out["detailed_merge_status"] = "ci_must_pass"
		}
		return out
	}
	rest := http.NewServeMux()
	mux.Handle("/api/v4/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.EscapedPath(), at)
		if !ok {
			http.NotFound(w, r)
			return
		}
		inner := r.Clone(r.Context())
		inner.URL.Path, inner.URL.RawPath = strings.ReplaceAll(path, "%2F", "/"), ""
		rest.ServeHTTP(w, inner)
	}))
	rest.HandleFunc("GET /merge_requests", h.api(func(r *http.Request) (int, any) {
		return http.StatusOK, h.found(r.URL.Query().Get("source_branch"), r.URL.Query().Get("target_branch"), show)
	}))
	rest.HandleFunc("POST /merge_requests", h.api(func(r *http.Request) (int, any) {
		in := h.body(r)
		p := h.open(text(in, "source_branch"), text(in, "target_branch"))
		if p == nil {
			return http.StatusConflict, map[string]any{"message": []string{"Another open merge request already exists for this source branch"}}
		}
		return http.StatusCreated, show(p)
	}))
	rest.HandleFunc("GET /merge_requests/{number}", h.api(func(r *http.Request) (int, any) { return http.StatusOK, show(h.of(r)) }))
	rest.HandleFunc("PUT /merge_requests/{number}/merge", h.api(func(r *http.Request) (int, any) {
		in, p := h.body(r), h.of(r)
		squash, _ := in["squash"].(bool)
		remove, _ := in["should_remove_source_branch"].(bool)
		switch {
		case p.state != "open" || h.Blocked():
			return http.StatusMethodNotAllowed, map[string]any{"message": "405 Method Not Allowed"}
		case text(in, "sha") != h.tip(p.head):
			return http.StatusConflict, map[string]any{"message": "SHA does not match HEAD of source branch"}
		}
		if why := h.merge(p, squash); why != "" {
			return http.StatusUnprocessableEntity, map[string]any{"message": why}
		}
		out := show(p)
		if remove {
			h.drop(p.head)
		}
		return http.StatusOK, out
	}))
	rest.HandleFunc("DELETE /repository/branches/{branch...}", h.api(func(r *http.Request) (int, any) { return h.drop(r.PathValue("branch")), nil }))
}

// azure is learn.microsoft.com/rest/api/azure/devops/git/pull-requests; the repository
// is at /team/project/_git/app.
func (h *PullHost) azure(mux *http.ServeMux, git http.Handler) {
	const at = "/team/project/_apis/git/repositories/app/pullrequests"
	mux.HandleFunc("/team/project/_git/app/", func(w http.ResponseWriter, r *http.Request) {
		inner := r.Clone(r.Context())
		inner.URL.Path = "/team/app.git/" + strings.TrimPrefix(r.URL.Path, "/team/project/_git/app/")
		git.ServeHTTP(w, inner)
	})
	show := func(p *pulled) any {
		out := map[string]any{
			"pullRequestId": p.number, "status": map[string]string{"open": "active", "merged": "completed", "closed": "abandoned"}[p.state],
			"mergeStatus": "succeeded", "lastMergeSourceCommit": map[string]any{"commitId": h.tip(p.head)},
		}
		if p.commit != "" {
			out["lastMergeCommit"] = map[string]any{"commitId": p.commit}
		}
		switch {
		case h.Blocked():
			out["mergeStatus"] = "queued"
		case p.state == "open" && h.conflicts(p):
			out["mergeStatus"] = "conflicts"
		}
		return out
	}
	branch := func(text string) string { return strings.TrimPrefix(text, "refs/heads/") }
	mux.HandleFunc("GET "+at, h.api(func(r *http.Request) (int, any) {
		q := r.URL.Query()
		found := h.found(branch(q.Get("searchCriteria.sourceRefName")), branch(q.Get("searchCriteria.targetRefName")), show)
		return http.StatusOK, map[string]any{"value": found, "count": len(found)}
	}))
	mux.HandleFunc("POST "+at, h.api(func(r *http.Request) (int, any) {
		in := h.body(r)
		p := h.open(branch(text(in, "sourceRefName")), branch(text(in, "targetRefName")))
		if p == nil {
			return http.StatusConflict, map[string]any{"message": "TF401179: An active pull request for the source and target branch already exists."}
		}
		return http.StatusCreated, show(p)
	}))
	mux.HandleFunc("GET "+at+"/{number}", h.api(func(r *http.Request) (int, any) { return http.StatusOK, show(h.of(r)) }))
	mux.HandleFunc("PATCH "+at+"/{number}", h.api(func(r *http.Request) (int, any) {
		in, p := h.body(r), h.of(r)
		if text(in, "status") != "completed" || text(in, "lastMergeSourceCommit", "commitId") != h.tip(p.head) {
			return http.StatusConflict, map[string]any{"message": "TF401192: The pull request cannot be completed as it has new changes"}
		}
		before := show(p) // it is completed a little later
		if why := h.merge(p, text(in, "completionOptions", "mergeStrategy") == "squash"); why != "" {
			return http.StatusConflict, map[string]any{"message": why}
		}
		if options, _ := in["completionOptions"].(map[string]any); options["deleteSourceBranch"] == true {
			h.drop(p.head)
		}
		return http.StatusOK, before
	}))
}

// bitbucket is developer.atlassian.com/cloud/bitbucket/rest/api-group-pullrequests.
func (h *PullHost) bitbucket(mux *http.ServeMux) {
	const at = "/2.0/repositories/team/app"
	show := func(p *pulled) any {
		out := map[string]any{
			"id": p.number, "state": map[string]string{"open": "OPEN", "merged": "MERGED", "closed": "DECLINED"}[p.state],
			"links":  map[string]any{"html": map[string]any{"href": h.URL + "/team/app/pull-requests/" + strconv.Itoa(p.number)}},
			"source": map[string]any{"branch": map[string]any{"name": p.head}, "commit": map[string]any{"hash": short(h.tip(p.head))}},
		}
		if p.commit != "" {
			out["merge_commit"] = map[string]any{"hash": short(p.commit)}
		}
		return out
	}
	mux.HandleFunc("GET "+at+"/pullrequests", h.api(func(r *http.Request) (int, any) {
		parts := strings.Split(r.URL.Query().Get("q"), `"`)
		if len(parts) != 5 {
			return http.StatusBadRequest, map[string]any{"type": "error"}
		}
		return http.StatusOK, map[string]any{"values": h.found(parts[1], parts[3], show)}
	}))
	mux.HandleFunc("POST "+at+"/pullrequests", h.api(func(r *http.Request) (int, any) {
		in := h.body(r)
		p := h.open(text(in, "source", "branch", "name"), text(in, "destination", "branch", "name"))
		if p == nil {
			return http.StatusBadRequest, map[string]any{"type": "error", "error": map[string]any{"message": "There are no changes to be pulled"}}
		}
		return http.StatusCreated, show(p)
	}))
	mux.HandleFunc("GET "+at+"/pullrequests/{number}", h.api(func(r *http.Request) (int, any) { return http.StatusOK, show(h.of(r)) }))
	mux.HandleFunc("POST "+at+"/pullrequests/{number}/merge", h.api(func(r *http.Request) (int, any) {
		in, p := h.body(r), h.of(r)
		if why := h.merge(p, text(in, "merge_strategy") == "squash"); why != "" {
			return http.StatusConflict, map[string]any{"type": "error", "error": map[string]any{"message": why}}
		}
		out := show(p)
		if in["close_source_branch"] == true {
			h.drop(p.head)
		}
		return http.StatusOK, out
	}))
	mux.HandleFunc("DELETE "+at+"/refs/branches/{branch...}", h.api(func(r *http.Request) (int, any) { return h.drop(r.PathValue("branch")), nil }))
}

func short(commit string) string { return commit[:min(12, len(commit))] }
