package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What of the facts has changed is named, whatever it was and is.
func TestChangedFacts(t *testing.T) {
	t.Parallel()
	was := Facts{"artifact of deploy": "web:1", "environment of deploy": "prod", "sidecar log of deploy": "log:1"}
	now := Facts{"artifact of deploy": "web:2", "environment of deploy": "prod", "policies of gate": "pass"}
	want := []string{`artifact of deploy was "web:1" and is "web:2"`, `policies of gate wasn't known and is "pass"`, `sidecar log of deploy was "log:1" and isn't known any more`}
	if diff := cmp.Diff(want, was.Changes(now)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got := was.Changes(was); got != nil {
		t.Errorf("of the same: %q", got)
	}
}

// However many facts there are, and however long, an approval has room for them, and
// none of them changes unnoticed.
func TestFactsAreBounded(t *testing.T) {
	t.Parallel()
	many := func(last string) Facts {
		f := Facts{"long": strings.Repeat("x", 5000) + last}
		for n := range 200 {
			f[fmt.Sprintf("service of s%03d", n)] = "web"
		}
		f["service of s199"] += last
		bounded, err := f.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		return bounded
	}
	one, other := many("a"), many("b")
	if len(one) > maxFacts+1 || len(one["long"]) > maxFact {
		t.Errorf("%d facts, the long one with %d bytes", len(one), len(one["long"]))
	}
	if got := one.Changes(other); len(got) != 2 || one.Changes(many("a")) != nil {
		t.Errorf("changes: %q; want of the long one and of the rest", got)
	}
}

// An answer is bound to the question, the plan and the facts; asking anew forgets what
// was answered before.
func TestAnApprovalIsBound(t *testing.T) {
	t.Parallel()
	digest := func(question, plan string, f Facts) string {
		a := Approval{Question: question}
		if err := a.Bind(plan, f); err != nil {
			t.Fatal(err)
		}
		return a.Digest
	}
	base := digest("q", "p", Facts{"a": "1"})
	for name, other := range map[string]string{
		"another question": digest("r", "p", Facts{"a": "1"}), "another plan": digest("q", "o", Facts{"a": "1"}), "another fact": digest("q", "p", Facts{"a": "2"}),
	} {
		if other == base {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	a := Approval{Question: "q", Facts: Facts{"a": "1"}, Activities: []ApprovalActivity{{User: "ada", Action: Approve}}}
	if err := a.Renew("p", Facts{"a": "2"}); err != nil || len(a.Activities) > 0 || len(a.Changed) != 1 || a.Digest != digest("q", "p", Facts{"a": "2"}) {
		t.Errorf("asked anew: %+v (%v)", a, err)
	}
}
