package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// destinationsOf reads "a=60 b=30 c", where c has no weight.
func destinationsOf(text string) []lane.TrafficDestination {
	var out []lane.TrafficDestination
	for word := range strings.FieldsSeq(text) {
		d := lane.TrafficDestination{}
		var weight int
		name, number, weighted := strings.Cut(word, "=")
		d.Host = name
		if weighted {
			_, _ = fmt.Sscan(number, &weight)
			d.Weight = &weight
		}
		out = append(out, d)
	}
	return out
}

func destinationsText(list []lane.TrafficDestination) string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s=%d", d.Host, *d.Weight))
	}
	return strings.Join(out, " ")
}

// semantics/kubernetes §23.28: weights become percentages.
func TestNormalWeights(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, given, want string
		changed           bool
	}{
		{"as they are", "a=90 b=10", "a=90 b=10", false},
		{"one", "a", "a=100", false},
		{"none is given", "a b c", "a=34 b=33 c=33", false},
		{"1 to 1", "a=1 b=1", "a=50 b=50", true},
		{"the largest remainder is rounded up", "a=1 b=2 c=4", "a=14 b=29 c=57", true},
		{"the rest is shared", "a=40 b c", "a=40 b=30 c=30", false},
		{"no rest", "a=100 b", "a=100 b=0", false},
		{"nothing for anybody", "a=0 b=0", "a=50 b=50", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, changed := normal(destinationsOf(tt.given))
			if diff := cmp.Diff(tt.want, destinationsText(got)); diff != "" || changed != tt.changed {
				t.Errorf("changed %v (-want +got):\n%s", changed, diff)
			}
		})
	}
}

// semantics/kubernetes §23.28: the others keep their ratio.
func TestShiftWeights(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, updates, want, err string }{
		{"kubernetes §23.28 40/45/15", "a=60 b=30 c=10", "a=40", "a=40 b=45 c=15", ""},
		{"two of three", "a=60 b=30 c=10", "a=40 b=50", "a=40 b=50 c=10", ""},
		{"all", "a=90 b=10", "a=10 b=90", "a=10 b=90", ""},
		{"others that have nothing", "a=100 b=0 c=0", "a=50", "a=50 b=25 c=25", ""},
		{"back", "a=50 b=50", "b=0", "a=100 b=0", ""},
		{"too much", "a=50 b=50", "b=101", "", "the weights add up to 101"},
		{"too little for all", "a=50 b=50", "a=10 b=10", "", "the weights add up to 20"},
		{"an unknown one", "a=50 b=50", "c=10", "", "no destination c"},
		{"no weight", "a=50 b=50", "a", "", "a has no weight"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := shift(destinationsOf(tt.old), destinationsOf(tt.updates))
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v; want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, destinationsText(got)); diff != "" {
				t.Errorf("weights (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzNormalWeights: shares add up and none is negative.
func FuzzNormalWeights(f *testing.F) {
	f.Add(uint16(1), uint16(2), uint16(4), false)
	f.Fuzz(func(t *testing.T, a, b, c uint16, open bool) {
		list := destinationsOf(fmt.Sprintf("a=%d b=%d c=%d", a, b, c))
		if open {
			list[2].Weight = nil
		}
		got, _ := normal(list)
		sum := 0
		for _, d := range got {
			if *d.Weight < 0 {
				t.Errorf("%s", destinationsText(got))
			}
			sum += *d.Weight
		}
		if sum != whole {
			t.Errorf("%s add up to %d", destinationsText(got), sum)
		}
	})
}
