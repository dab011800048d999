package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Drift says for people how what runs differs from what was deployed, one
// sentence for each difference. Nothing is known before a watch began.
func Drift(p store.Placement) []string {
	live := map[string]task.Workload{}
	for _, w := range p.Seen.Workloads {
		live[w.Resource] = w
	}
	var out []string
	for _, want := range p.Deployed.Workloads {
		if have, looked := live[want.Resource]; looked {
			out = append(out, difference(want, have)...)
		}
	}
	return out
}

func difference(want, have task.Workload) []string {
	name := shortName(want.Resource)
	if have.Gone {
		return []string{name + " isn't there any more"}
	}
	var out []string
	if want.Replicas != nil && have.Replicas != nil && *want.Replicas != *have.Replicas {
		by := ""
		if have.ReplicasBy != "" {
			by = ", set by " + have.ReplicasBy
		}
		out = append(out, fmt.Sprintf("%s has %d replicas%s; deployed were %d", name, *have.Replicas, by, *want.Replicas))
	}
	if want.State != "" && have.State != "" && want.State != have.State {
		out = append(out, fmt.Sprintf("%s is %s; deployed was %s", name, have.State, want.State))
	}
	if !slices.Equal(want.Traffic, have.Traffic) {
		out = append(out, fmt.Sprintf("%s sends its traffic to %s; deployed was to %s", name, strings.Join(have.Traffic, ", "), strings.Join(want.Traffic, ", ")))
	}
	if !slices.Equal(want.Images, have.Images) {
		out = append(out, fmt.Sprintf("%s has the images %s; deployed were %s", name, strings.Join(have.Images, ", "), strings.Join(want.Images, ", ")))
	}
	return out
}

// shortName is Kind/name of group/Kind/namespace/name.
func shortName(resource string) string {
	parts := strings.Split(resource, "/")
	if len(parts) != 4 {
		return resource
	}
	return parts[1] + "/" + parts[3]
}
