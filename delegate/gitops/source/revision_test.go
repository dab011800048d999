package source

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// semantics/gitops §4: what target revisions mean. Ids are single letters forty
// times.
func TestPick(t *testing.T) {
	t.Parallel()
	refs := gitfetch.Refs{}
	for ref, letter := range map[string]string{
		"HEAD": "a", "refs/heads/main": "a", "refs/heads/both": "b", "refs/tags/both": "c", "refs/heads/same": "a", "refs/tags/same": "a",
		"refs/tags/v1.9.0": "1", "refs/tags/v1.10.0": "2", "refs/tags/v1.11.0-rc1": "3", "refs/tags/v2.0.0": "4", "refs/tags/app1/1.2.3": "5", "refs/tags/app2/9.0.0": "6",
		"refs/tags/nightly": "7", "refs/pull/1/head": "8", "refs/heads/v1.x": "9",
	} {
		refs[ref] = strings.Repeat(letter, 40)
	}
	refs["refs/tags/close1"] = "dddddddd" + strings.Repeat("0", 32)
	refs["refs/tags/close2"] = "dddddddd" + strings.Repeat("1", 32)
	for _, tt := range []struct {
		target, prefix string
		want           string // the id's letter
		notice         string
		code           fault.Code
	}{
		{target: "", want: "a"},
		{target: "HEAD", want: "a"},
		{target: "main", want: "a"},
		{target: "both", want: "b", notice: "branch and a tag"},
		{target: "same", want: "a"},
		{target: "refs/tags/both", want: "c"},
		{target: "refs/pull/1/head", want: "8"},
		{target: "refs/heads/none", code: fault.NotFound},
		{target: "v1.*", want: "2"},
		{target: "v1.*-0", want: "3"},
		{target: "^1.9", want: "2"},
		{target: ">=1.0.0 <1.10.0", want: "1"},
		{target: "1.9.x", want: "1"},
		{target: "*", want: "4"},
		{target: "v1.x", want: "9"},
		{target: "1.*", prefix: "app1/", want: "5"},
		{target: "*", prefix: "app2/", want: "6"},
		{target: "3.*", code: fault.NotFound},
		{target: ">=a", code: fault.Invalid},
		{target: "nightly", want: "7"},
		{target: "xenial", code: fault.NotFound},
		{target: "7777777", want: "7"},
		{target: "ddddddd", code: fault.Conflict},
		{target: "dddddddd0", want: "d"},
		{target: "fffffff", code: fault.NotFound},
	} {
		got, err := pick(refs, tt.target, tt.prefix)
		ok := fault.CodeOf(err) == tt.code && strings.HasPrefix(got.Commit, tt.want) && (got.Notice != "") == (tt.notice != "") && strings.Contains(got.Notice, tt.notice)
		if !ok {
			t.Errorf("%q with prefix %q gave %+v, %v; want %s, notice %q, code %q", tt.target, tt.prefix, got, err, tt.want, tt.notice, tt.code)
		}
	}
}
