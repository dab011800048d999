package yamldoc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestDropKeepsComments(t *testing.T) {
	t.Parallel()
	const text = `# the set
a: &x
  k: 1 # one
  l: 2
b:
  - one
  - {name: two, value: 2}
  # three
  - <<: *x
    m: 3
c: *x
`
	docs, report := yamldoc.Parse("", []byte(text))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	d := docs[0]
	gone := map[*yamldoc.Node]bool{
		d.At("a", "l"): true, d.Get("b").Items[1]: true, d.Get("b").Items[2].Get("m"): true, d.At("c", "k"): true,
	}
	out, err := yamldoc.Drop([]byte(text), d, func(n *yamldoc.Node) bool { return gone[n] })
	if err != nil {
		t.Fatal(err)
	}
	const want = `# the set
a: &x
  k: 1 # one
b:
  - one
  # three
  - <<: *x
c: *x
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
