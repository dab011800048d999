package aws

import (
	"crypto/sha256"
	"encoding/base32"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/task"
)

// maxTag is how long AWS lets a tag's value be.
const maxTag = 256

// untaggable is what a tag's value can't have.
var untaggable = regexp.MustCompile(`[^\pL\pN_ .:/=+\-@]`)

// ExecutionTag is the tag that says which execution made a resource.
const ExecutionTag = "slipway:execution"

// Tags mark a resource that a task makes: what it is of, and which execution made
// it. A tag of the same name in its definition wins. There are none where the
// delegate was told so.
func (s *Accesses) Tags(w task.Work) map[string]string {
	if s.Untagged {
		return nil
	}
	tags := map[string]string{
		"slipway:service": w.Target.Service, "slipway:environment": w.Target.Environment,
		"slipway:infrastructure": w.Target.Infrastructure, ExecutionTag: w.Execution,
	}
	for name, value := range tags {
		tags[name] = cut(untaggable.ReplaceAllString(value, "_"), maxTag)
	}
	return tags
}

// setTag is the tag that says which tags of a resource its definition has set.
const setTag = "slipway:tags"

// Marks are Tags of a resource that is deployed again and again, and one that says
// which tags its definition has, so that a later definition that lacks one takes it
// away and leaves alone what others have set.
func (s *Accesses) Marks(w task.Work, keys ...string) map[string]string {
	tags := s.Tags(w)
	if tags == nil || len(keys) == 0 {
		return tags
	}
	digests := make([]string, len(keys))
	for i, key := range keys {
		digests[i] = digest(key)
	}
	slices.Sort(digests)
	tags[setTag] = strings.Join(digests, "")
	return tags
}

// keyLength is how much of a key's digest is kept: the fifty tags that a resource
// may have then fit into a value.
const keyLength = 5

func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base32.StdEncoding.EncodeToString(sum[:])[:keyLength]
}

// Dropped are those of a resource's tags that go: an earlier definition has set
// them, and they aren't among the wanted ones.
func Dropped(live, wanted map[string]string) []string {
	return less(live, wanted, func(key string) bool { return key == setTag })
}

// Added are those of a resource's tags that go when it gets back what it had: its
// definition has added them, or Slipway has.
func Added(live, had map[string]string) []string { return less(live, had, Own) }

// less are the live keys that don't stay, of those that a definition has set or that
// are ours.
func less(live, stay map[string]string, ours func(key string) bool) []string {
	set := map[string]bool{}
	for one := range slices.Chunk([]byte(live[setTag]), keyLength) {
		set[string(one)] = true
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(live)) {
		if _, stays := stay[key]; !stays && (ours(key) || set[digest(key)]) {
			out = append(out, key)
		}
	}
	return out
}

// Another says whether a tag of a resource that a stage has made, or changed, says
// that another execution has deployed it since.
func (s *Accesses) Another(w task.Work, tag string) bool {
	own := s.Tags(w)[ExecutionTag]
	return own != "" && tag != "" && tag != own
}

// Own says whether a tag is one of Tags.
func Own(tag string) bool { return strings.HasPrefix(tag, "slipway:") }

// Token is a client token of a call: the same for the same attempt of a step, so
// that AWS knows a call again which is delivered twice, and another for the next.
// name tells the calls of an attempt apart.
func Token(a task.Assignment, name string) string {
	sum := sha256.Sum256([]byte(a.Execution + "\x00" + a.Node + "\x00" + strconv.Itoa(a.Attempt) + "\x00" + name))
	return base32.StdEncoding.EncodeToString(sum[:])[:32]
}

// maxSession is how long STS lets a session's name be.
const maxSession = 64

var unnameable = regexp.MustCompile(`[^\w+=,.@-]`)

// session names what a delegate does in a role, in AWS's own logs: by the
// execution for which it does so.
func session(execution string) string {
	if execution == "" {
		return "slipway-delegate"
	}
	return cut("slipway-"+unnameable.ReplaceAllString(execution, "_"), maxSession)
}

// cut is the beginning of a text, in characters.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most])
	}
	return text
}
