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
	root := yamldoc.Root(docs[0])
	names := map[*yamldoc.Node]string{root.Node: "root", root.Node.Get("a"): "a", root.Node.Get("a").Items[0]: "a[0]", root.Node.Get("b"): "b"}
	var got []string
	report.Watch(func(u yamldoc.Usage) {
		got = append(got, fmt.Sprintf("%s %d %v %d", names[u.Node], u.Use, u.Words, len(u.Keys)))
	})
	for e := range report.Mapping(root) {
		switch e.Key {
		case "a":
			for item := range report.List(e) {
				report.Takes(item, yamldoc.UseEnum, "x", "y")
			}
		case "b":
			report.Within("b", func(part *yamldoc.Report) {
				part.TakesKeys(e, map[string]func(yamldoc.Value){"c": func(yamldoc.Value) {}})
			})
		}
	}
	report.Missing(root, "a", "z")
	want := []string{
		fmt.Sprintf("root %d [] 0", yamldoc.UseMapping), fmt.Sprintf("a %d [] 0", yamldoc.UseList),
		fmt.Sprintf("a[0] %d [x y] 0", yamldoc.UseEnum),
		fmt.Sprintf("b %d [] 1", yamldoc.UseKeys), fmt.Sprintf("root %d [a z] 0", yamldoc.UseNeeded),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
