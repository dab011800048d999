package source_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/slipway-cd/slipway/delegate/gitops/signature"
	"github.com/slipway-cd/slipway/internal/gitserver/gittest"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
)

// signer is somebody with a key.
type signer struct {
	*openpgp.Entity

	key access.Key
}

func newSigner(t *testing.T, settings *packet.Config) signer {
	t.Helper()
	settings.Algorithm = packet.PubKeyAlgoEdDSA
	e, err := openpgp.NewEntity("Ann", "", "ann@example.com", settings)
	check(t, err)
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	check(t, err)
	check(t, e.Serialize(w))
	check(t, w.Close())
	id := signature.ID(e.PrimaryKey.KeyId)
	return signer{e, access.Key{ID: id, Data: b.String()}}
}

func (s signer) sign(t *testing.T, text string, settings *packet.Config) string {
	t.Helper()
	var b bytes.Buffer
	check(t, openpgp.ArmoredDetachSign(&b, s.Entity, strings.NewReader(text), settings))
	return b.String() + "\n"
}

// commit signs the commit at hand, and gives it to a branch.
func (s signer) commit(t *testing.T, host *gittest.Repository, branch string, signature func(text string) string) string {
	t.Helper()
	text := host.Git("cat-file", "commit", "HEAD") + "\n"
	head, message, _ := strings.Cut(text, "\n\n")
	signed := strings.ReplaceAll(strings.TrimSpace(signature(text)), "\n", "\n ")
	id := host.Object("commit", head+"\ngpgsig "+signed+"\n\n"+message)
	host.Git("push", "--quiet", "--force", "origin", id+":refs/heads/"+branch)
	return id
}

// What has to be signed is taken if one of some keys has signed it, and no other.
func TestSignatures(t *testing.T) {
	t.Parallel()
	host := gittest.New(t)
	plain := host.Commit(map[string]string{"a.yaml": "kind: Text"})
	old := time.Now().Add(-48 * time.Hour)
	ann, bob := newSigner(t, &packet.Config{}), newSigner(t, &packet.Config{})
	late := newSigner(t, &packet.Config{KeyLifetimeSecs: 3600, Time: func() time.Time { return old }})
	by := func(s signer, settings *packet.Config) func(string) string {
		return func(text string) string { return s.sign(t, text, settings) }
	}
	good := ann.commit(t, host, "signed", by(ann, nil))
	ann.commit(t, host, "other", by(bob, nil))
	ann.commit(t, host, "expired", by(late, &packet.Config{Time: func() time.Time { return old.Add(time.Minute) }}))
	ann.commit(t, host, "changed", func(text string) string { return ann.sign(t, text+"x", nil) })
	ann.commit(t, host, "ssh", func(string) string { return "-----BEGIN SSH SIGNATURE-----\nx\n-----END SSH SIGNATURE-----" })
	ann.commit(t, host, "none", func(string) string { return "-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----" })
	tag := func(name, of string, sign func(string) string) {
		text := fmt.Sprintf("object %s\ntype commit\ntag %s\ntagger a <a@example.com> 1 +0000\n\nrelease\n", of, name)
		host.Git("push", "--quiet", "origin", host.Object("tag", text+sign(text))+":refs/tags/"+name)
	}
	tag("v1.0.0", plain, by(ann, nil))
	tag("v2.0.0", good, by(bob, nil))
	tag("v3.0.0", good, func(string) string { return "" })
	host.Git("push", "--quiet", "origin", good+":refs/tags/light")

	s := newSources(t)
	known := &access.Known{Keys: []access.Key{bob.key, ann.key, late.key}}
	for _, tt := range []struct {
		target string
		known  *access.Known
		keys   []string
		want   string // in the error; empty: it is signed
	}{
		{target: "main", want: "commit " + plain + " of " + host.URL + " has to be signed by " + ann.key.ID + ": it isn't signed"},
		{target: "signed"},
		{target: good},
		{target: good[:12]},
		{target: "signed", keys: []string{bob.key.ID, ann.key.ID}},
		{target: "signed", keys: []string{bob.key.ID}, want: "it is signed with the key " + ann.key.ID + ", which is none of " + bob.key.ID},
		{target: "signed", known: &access.Known{}, want: "a key that isn't among those that are saved"},
		{target: "signed", known: &access.Known{Keys: []access.Key{{ID: "1", Data: "x"}}}, want: "the key 1 that is saved can't be read"},
		{target: "other", want: "which is none of"},
		{target: "expired", keys: []string{late.key.ID}, want: "a key that has expired"},
		{target: "changed", want: "its signature is bad"},
		{target: "ssh", want: "a key of SSH; want a signature of OpenPGP"},
		{target: "none", want: "its signature is bad"},
		{target: "light"},
		{target: "v1.0.0"},
		{target: "v1.*"},
		{target: "refs/tags/v2.0.0", want: "v2.0.0 of " + host.URL + " has to be signed by"},
		{target: "v3.0.0", want: "it isn't signed"},
	} {
		t.Run(tt.target, func(t *testing.T) {
			t.Parallel()
			src := gitops.Source{RepoURL: host.URL, TargetRevision: tt.target}
			at, err := resolve(t, s, time.Now(), src)
			check(t, err)
			if tt.known == nil {
				tt.known = known
			}
			if tt.keys == nil {
				tt.keys = []string{ann.key.ID}
			}
			for range 2 { // an error isn't remembered for what it isn't
				err = s.Signed(t.Context(), "", &src, tt.known, at.Revisions[0], tt.keys)
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("it says %v; want %q", err, tt.want)
				}
			}
		})
	}
	chart := gitops.Source{RepoURL: "https://charts.example.com", Chart: "web", TargetRevision: "1.0.0"}
	if err := s.Signed(t.Context(), "", &chart, known, "1.0.0", []string{ann.key.ID}); err == nil || !strings.Contains(err.Error(), "which only what is in Git can be") {
		t.Errorf("a chart gave %v", err)
	}
	// A commit that the tag doesn't point to any more is to be signed itself.
	src := gitops.Source{RepoURL: host.URL, TargetRevision: "v2.0.0"}
	if err := s.Signed(t.Context(), "", &src, known, plain, []string{ann.key.ID}); err == nil {
		t.Error("a commit that isn't signed is taken for a tag that points elsewhere")
	}
}
