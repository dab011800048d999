package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func environments(n int) api.DocumentSet {
	var set api.DocumentSet
	for i := range n {
		set.Documents = append(set.Documents, api.SetDocument{
			Org: "default", Project: "web", File: "all.yaml", YAML: fmt.Sprintf("environment: {name: e%d, identifier: e%d, type: Production}\n", i, i),
		})
	}
	return set
}

func TestASetIsBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var saved api.SavedSet
	s.apply(environments(api.MaxSet)).want(http.StatusOK, &saved)
	if len(saved.Entities) != api.MaxSet {
		t.Errorf("%d documents were saved; want %d", len(saved.Entities), api.MaxSet)
	}
	if p := s.apply(environments(api.MaxSet + 1)).problem(http.StatusBadRequest); p.Code != fault.Invalid {
		t.Errorf("one document too many is %s; want %s", p.Code, fault.Invalid)
	}
	large := environments(1)
	large.Documents[0].YAML += "#" + strings.Repeat("x", api.MaxSetBytes)
	if p := s.apply(large).problem(http.StatusRequestEntityTooLarge); p.Code != fault.TooLarge {
		t.Errorf("too many bytes are %s; want %s", p.Code, fault.TooLarge)
	}
}

func TestASetIsSavedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := setup(t)
	set := environments(3)
	set.Documents[2].Before, set.Documents[2].YAML = 4, "environment: {name: e, identifier: e, type: Prod}\n"
	p := s.apply(set).problem(http.StatusBadRequest)
	if len(p.Details) != 1 || p.Details[0].File != "all.yaml" || p.Details[0].Line != 5 {
		t.Errorf("the details are %v; want one in line 5 of all.yaml", p.Details)
	}
	var left api.EntityList
	s.ask("GET", "/v1/entities/environment"+scope, "").want(http.StatusOK, &left)
	if len(left.Entities) != 0 {
		t.Errorf("%d documents were saved", len(left.Entities))
	}
	set = environments(2)
	set.DryRun = true
	var would api.SavedSet
	s.apply(set).want(http.StatusOK, &would)
	s.ask("GET", "/v1/entities/environment"+scope, "").want(http.StatusOK, &left)
	if len(would.Entities) != 2 || len(left.Entities) != 0 {
		t.Errorf("a dry run told of %d documents and saved %d; want 2 and none", len(would.Entities), len(left.Entities))
	}
}

// apply saves a set of documents.
func (s *server) apply(set api.DocumentSet) answer {
	s.t.Helper()
	body, err := json.Marshal(set)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.ask("POST", "/v1/entities:apply", string(body), "Content-Type", "application/json")
}
