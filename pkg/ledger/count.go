package ledger

import (
	"cmp"
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// ordered sorts instances by namespace and name, and bounds how many are kept.
func ordered(list []task.Instance) []task.Instance {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b task.Instance) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), task.MaxInstances)]
}

// Version is the image of the artifact that an instance runs: the one from the
// artifact's repository, else its first. Sidecars don't count.
func Version(i task.Instance, artifact string) string {
	for _, image := range i.Images {
		if artifact != "" && repository(image) == repository(artifact) {
			return image
		}
	}
	if len(i.Images) > 0 {
		return i.Images[0]
	}
	return ""
}

// repository is an image without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		return image[:colon]
	}
	return image
}

// Versions counts a placement's instances by their version.
func Versions(p store.Placement) map[string]int {
	out := map[string]int{}
	for _, i := range p.Seen.Instances {
		out[Version(i, p.Deployed.Artifact)]++
	}
	return out
}

// moment is what a placement is now, for the history.
func moment(p store.Placement, cause string, at time.Time) store.Moment {
	return store.Moment{
		Key: p.Key, At: at, ID: rand.Text()[:10], Instances: len(p.Seen.Instances), Versions: Versions(p), Artifact: p.Deployed.Artifact, Cause: cause,
	}
}

// sameCounts says whether a history has nothing to tell of a change.
func sameCounts(a, b store.Placement) bool { return maps.Equal(Versions(a), Versions(b)) }
