package yamldoc_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestWhoWatchesSeesWhatValuesAreTakenFor(t *testing.T) {
	t.Parallel()
	docs, report := yamldoc.Parse("", []byte("{a: [x], b: {c: d}}"))
	var got []string
	report.Watch(func(u yamldoc.Usage) { got = append(got, fmt.Sprintf("%s %d %v", u.Path, u.Use, u.Words)) })
	root := yamldoc.Root(docs[0])
	for e := range report.Mapping(root) {
		switch e.Key {
		case "a":
			for item := range report.List(e) {
				report.Enum(item, "x", "y")
			}
		case "b":
			report.Within("b", func(part *yamldoc.Report) {
				for e := range part.Mapping(yamldoc.Sub(e.Node, "")) {
					part.Unknown(e, "e")
				}
			})
		}
	}
	report.Missing(root, "z")
	want := []string{
		fmt.Sprintf(" %d []", yamldoc.UseMapping), fmt.Sprintf("a %d []", yamldoc.UseList),
		fmt.Sprintf("a[0] %d []", yamldoc.UseString), fmt.Sprintf("a[0] %d [x y]", yamldoc.UseEnum),
		fmt.Sprintf("b %d []", yamldoc.UseMapping), fmt.Sprintf("b.c %d [e]", yamldoc.UseUnknown), fmt.Sprintf(" %d [z]", yamldoc.UseMissing),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
