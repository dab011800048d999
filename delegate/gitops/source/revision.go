package source

import (
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
)

var (
	wholeID = regexp.MustCompile(`^[0-9a-f]{40}$`)
	shortID = regexp.MustCompile(`^[0-9a-f]{7,39}$`)
	// ranges is what only constraints have, and no version.
	ranges = regexp.MustCompile(`[*^~<>=|]|(^|[.v])[xX]($|[.-])`)
)

func isCommit(revision string) bool { return wholeID.MatchString(revision) }

func isShort(revision string) bool { return shortID.MatchString(revision) }

// picked is a commit, and what people should know of how it was found.
type picked struct {
	Commit string
	Notice string
	Tag    string // the name of the tag that it is, as refs/tags/v1
}

// pick finds what a target revision means among the names of a repository
// (semantics/gitops §4). The error doesn't name the repository.
func pick(refs gitfetch.Refs, target, tagPrefix string) (picked, error) {
	missing := fault.New(fault.NotFound, "revision %q not found", target)
	switch {
	case target == "" || target == "HEAD":
		if refs["HEAD"] == "" {
			return picked{}, fault.New(fault.NotFound, "revision HEAD not found")
		}
		return picked{Commit: refs["HEAD"]}, nil
	case strings.HasPrefix(target, "refs/"):
		if refs[target] == "" || strings.HasSuffix(target, gitfetch.TagObject) {
			return picked{}, missing
		}
		return picked{Commit: refs[target], Tag: tagged(target)}, nil
	}
	branch, tag := refs["refs/heads/"+target], refs["refs/tags/"+target]
	switch {
	case branch != "" && tag != "" && branch != tag:
		return picked{Commit: branch, Notice: `"` + target + `" is a branch and a tag with different commits; the branch counts: write refs/heads/ or refs/tags/ before it`}, nil
	case branch != "":
		return picked{Commit: branch}, nil
	case tag != "":
		return picked{Commit: tag, Tag: "refs/tags/" + target}, nil
	case ranges.MatchString(target):
		return newest(refs, target, tagPrefix)
	case isShort(target):
		return beginning(refs, target)
	}
	return picked{}, missing
}

// newest is the tag with the highest version that a constraint allows. Only tags
// with the prefix count; it is no part of their versions.
func newest(refs gitfetch.Refs, constraint, prefix string) (picked, error) {
	var names []string
	for ref := range refs {
		if name, ok := strings.CutPrefix(ref, "refs/tags/"+prefix); ok {
			names = append(names, name)
		}
	}
	best, err := highest(names, constraint)
	if err != nil {
		return picked{}, err
	}
	return picked{Commit: refs["refs/tags/"+prefix+best], Tag: "refs/tags/" + prefix + best}, nil
}

func tagged(ref string) string {
	if strings.HasPrefix(ref, "refs/tags/") {
		return ref
	}
	return ""
}

// highest is the highest version that a constraint allows; of equal ones the first
// by name.
func highest(names []string, constraint string) (string, error) {
	allowed, err := semver.NewConstraint(constraint)
	if err != nil {
		return "", fault.New(fault.Invalid, "revision %q is no constraint on versions: %w", constraint, err)
	}
	var best *semver.Version
	bestName := ""
	for _, name := range names {
		v, err := semver.NewVersion(name)
		if err != nil || !allowed.Check(v) {
			continue
		}
		if best == nil || v.GreaterThan(best) || v.Equal(best) && name < bestName {
			best, bestName = v, name
		}
	}
	if best == nil {
		return "", fault.New(fault.NotFound, "revision %q not found: no version matches it", constraint)
	}
	return bestName, nil
}

// beginning is the only commit among the names whose id begins with some digits.
func beginning(refs gitfetch.Refs, digits string) (picked, error) {
	found := ""
	for _, id := range refs {
		switch {
		case !strings.HasPrefix(id, digits) || id == found:
		case found != "":
			return picked{}, fault.New(fault.Conflict, "revision %q is the beginning of several commits, such as %s and %s; write more of it", digits, found, id)
		default:
			found = id
		}
	}
	if found == "" {
		return picked{}, fault.New(fault.NotFound, "revision %q not found", digits)
	}
	return picked{Commit: found}, nil
}
