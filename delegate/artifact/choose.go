package artifact

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// choose finds the version that is asked for.
func choose(ctx context.Context, src source, p lookup.Artifact, env executor.Env) (found, error) {
	id := p.Choice.Version
	if id == "" {
		var err error
		if id, err = newest(ctx, src, p, env); err != nil {
			return found{}, err
		}
	}
	f, err := src.find(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound) && p.Choice.Unchecked && p.Choice.Version != "":
		f.Version = id
		fmt.Fprintf(env.Log(Unit), "%s has no version %s; going on, because the stage asks for no check\n", p.Name, id)
		return f, nil
	case fault.Is(err, fault.NotFound):
		return found{}, missing(ctx, src, p.Name, id)
	case err != nil:
		return found{}, err
	}
	f.Version = id
	if want := p.Choice.Digest; want != "" {
		if want = lookup.CanonicalDigest(want); f.Digest != want {
			return found{}, fault.New(fault.Conflict, "%s of %s has the digest %s; want %s", id, p.Name, f.Digest, want).Causing(fault.Verification)
		}
		f.Image += "@" + want
	}
	fmt.Fprintf(env.Log(Unit), "Artifact: %s %s %s\n", p.Name, id, f.Digest)
	return f, nil
}

// newest is the newest version all of which matches the pattern.
func newest(ctx context.Context, src source, p lookup.Artifact, env executor.Env) (string, error) {
	re, err := regexp.Compile(`\A(?:` + p.Choice.Pattern + `)\z`)
	if err != nil {
		return "", fault.New(fault.Invalid, "the regular expression %q: %w", p.Choice.Pattern, err)
	}
	all, err := src.versions(ctx)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(env.Log(Unit), "%s has %d versions\n", p.Name, len(all))
	for _, v := range all {
		if re.MatchString(v.id) {
			return v.id, nil
		}
	}
	return "", fault.New(fault.NotFound, "no version of %s matches %s: %s", p.Name, p.Choice.Pattern, newestFew(all)).Causing(fault.Unknown)
}

// missing says that there is no such version, and which there are.
func missing(ctx context.Context, src source, name, id string) error {
	all, err := src.versions(ctx)
	if err != nil {
		return fault.New(fault.NotFound, "%s has no version %s, and its versions can't be listed: %w", name, id, err).Causing(fault.Unknown)
	}
	return fault.New(fault.NotFound, "%s has no version %s: %s", name, id, newestFew(all)).Causing(fault.Unknown)
}

// shown is how many versions a message lists.
const shown = 5

func newestFew(all []version) string {
	if len(all) == 0 {
		return "it has none"
	}
	var ids []string
	for _, v := range all[:min(shown, len(all))] {
		ids = append(ids, v.id)
	}
	return fmt.Sprintf("it has %d, the newest of which are %s", len(all), strings.Join(ids, ", "))
}
