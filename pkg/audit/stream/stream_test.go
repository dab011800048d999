package stream_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/audit/stream"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify/message"
	"github.com/slipway-cd/slipway/pkg/notify/send"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

var account = ref.Scope{Account: "acme"}

// bench is a Streamer over a store, with a bucket and a clock.
type bench struct {
	*stream.Streamer
	t      *testing.T
	store  *sqlite.Store
	secret *secret.Keeper
	now    time.Time
	log    bytes.Buffer

	objects  []string                  // their keys, in the order in which they came
	got      map[string][]audit.Record // what is in them
	refuse   func(keys string) error   // of Put; nil: it takes all
	posted   func(*message.Post) error // of Post, if it isn't the real one
	versions map[string]int64          // of the destinations
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC), got: map[string][]audit.Record{}, versions: map[string]int64{}}
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	b.must(err)
	t.Cleanup(func() { b.must(db.Close()) })
	b.store, err = sqlite.New(t.Context(), db)
	b.must(err)
	key, err := secret.LoadKey(filepath.Join(t.TempDir(), "secret.key"))
	b.must(err)
	clock := func() time.Time { return b.now }
	b.secret = secret.New(key, b.store, clock)
	sender := send.New(mail.Sender{}, true)
	b.Streamer = stream.New(stream.Config{
		Account: "acme", Store: b.store.Store, Secret: b.secret, Settle: db.Settle, Now: clock, Log: slog.New(slog.NewTextHandler(&b.log, nil)),
		Post: func(ctx context.Context, out message.Outgoing, none *mail.Server) error {
			if b.posted != nil {
				return b.posted(out.Post)
			}
			return sender.Send(ctx, out, none)
		},
		Put: b.put,
	})
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) put(_ context.Context, to audit.Destination, key string, body []byte) error {
	if b.refuse != nil {
		if err := b.refuse(key); err != nil {
			return err
		}
	}
	in, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return err
	}
	name := to.Bucket + "/" + key
	b.objects, b.got[name] = append(b.objects, name), nil
	return audit.ReadLines(in, func(r audit.Record) error {
		b.got[name] = append(b.got[name], r)
		return nil
	})
}

// save saves a document of a streaming destination, which is a record, too.
func (b *bench) save(id, rest string) {
	b.t.Helper()
	e, err := b.store.SaveEntity(b.t.Context(), store.Entity{
		Key: store.EntityKey{Scope: account, Kind: ref.StreamingDestination, ID: id}, Version: b.versions[id], CreatedAt: b.now, UpdatedAt: b.now,
		YAML: []byte("streamingDestination: {identifier: " + id + ", name: " + id + ", " + rest + "}"),
	}, audit.Record{Time: b.now, Actor: "ann", Scope: account, Action: audit.Update, Kind: "streamingDestination", ID: id})
	b.must(err)
	b.versions[id] = e.Version
}

const toBucket = "status: ACTIVE, spec: {type: AWS_S3, bucket: acme-audit}"

func (b *bench) append(n int) {
	b.t.Helper()
	for i := range n {
		_, err := b.store.AppendAudit(b.t.Context(), audit.Record{Time: b.now, Actor: "ann@example.com", Scope: account, Action: audit.Update, Kind: "pipeline", ID: fmt.Sprint(i)})
		b.must(err)
	}
}

func (b *bench) pass() time.Duration {
	b.t.Helper()
	late, err := b.Pass(b.t.Context())
	b.must(err)
	return late
}

func (b *bench) status(id string) stream.AuditStream {
	b.t.Helper()
	all, err := b.Destinations(b.t.Context())
	b.must(err)
	i := slices.IndexFunc(all.Destinations, func(s stream.AuditStream) bool { return s.Identifier == id })
	if i < 0 {
		b.t.Fatalf("%s isn't among %+v", id, all)
	}
	return all.Destinations[i]
}

// verified checks that the objects that came hold one chain, in which a record may
// come again, and gives the number of the last.
func (b *bench) verified(before audit.Place) int64 {
	b.t.Helper()
	var v audit.Verifier
	v.From(before)
	for _, name := range b.objects {
		for _, r := range b.got[name] {
			if r.Sequence > v.Last().Sequence {
				b.must(v.Check(r))
			}
		}
	}
	return v.Last().Sequence
}

func TestPartsOfTheTrail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save("archive", toBucket)
	b.save("off", strings.Replace(toBucket, "ACTIVE", "INACTIVE", 1))
	b.append(1200)
	b.pass()
	b.pass() // nothing is new
	want := []string{
		"acme-audit/audit/acme/2026/11/02/000000000001-000000000500.ndjson.gz",
		"acme-audit/audit/acme/2026/11/02/000000000501-000000001000.ndjson.gz",
		"acme-audit/audit/acme/2026/11/02/000000001001-000000001202.ndjson.gz",
	}
	if diff := cmp.Diff(want, b.objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if last := b.verified(audit.Place{}); last != 1202 {
		t.Errorf("the last record is %d", last)
	}
	wanted := stream.AuditStream{Identifier: "archive", Name: "archive", Status: "ACTIVE", Type: audit.ToS3, Sequence: 1202, Sent: b.now}
	if diff := cmp.Diff(wanted, b.status("archive")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if off := b.status("off"); off.Lag != 1202 || off.Status != "INACTIVE" {
		t.Errorf("the inactive one is %+v", off)
	}
	b.append(1)
	b.pass()
	if last := b.objects[len(b.objects)-1]; !strings.HasSuffix(last, "/000000001203-000000001203.ndjson.gz") {
		t.Errorf("the next object is %s", last)
	}
}

// Large records make smaller parts, and one goes however large it is.
func TestLargeRecords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, size := range []int{900 << 10, 900 << 10, 900 << 10, 5 << 20, 1} {
		_, err := b.store.AppendAudit(t.Context(), audit.Record{Time: b.now, Scope: account, After: strings.Repeat("x", size)})
		b.must(err)
	}
	b.save("archive", toBucket)
	b.pass()
	var got [][]int64
	for _, name := range b.objects {
		var numbers []int64
		for _, r := range b.got[name] {
			numbers = append(numbers, r.Sequence)
		}
		got = append(got, numbers)
	}
	if diff := cmp.Diff([][]int64{{1, 2}, {3}, {4}, {5, 6}}, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// What isn't taken comes again, later and later; nothing is passed over.
func TestPausesAfterFailures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save("archive", toBucket)
	b.append(2)
	failing := errors.New("AccessDenied")
	b.refuse = func(string) error { return failing }
	begun := b.now
	var pauses []string
	for range 9 {
		if late := b.pass(); late != b.now.Sub(begun) {
			t.Errorf("it is late by %s after %s", late, b.now.Sub(begun))
		}
		failures := b.status("archive").Failures
		next := b.status("archive").Next
		pauses = append(pauses, next.Sub(b.now).String())
		b.now = next.Add(-time.Second)
		b.pass() // which isn't a try
		if again := b.status("archive").Failures; again != failures {
			t.Errorf("it was tried %d times before it was due", again-failures)
		}
		b.now = next
	}
	if diff := cmp.Diff([]string{"15s", "30s", "1m0s", "2m0s", "4m0s", "8m0s", "15m0s", "15m0s", "15m0s"}, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if s := b.status("archive"); s.Error != "AccessDenied" || s.Sequence != 0 || s.Lag != 3 || !s.Since.Equal(begun) {
		t.Errorf("the status is %+v", s)
	}
	b.pass() // and waits for a quarter of an hour
	b.refuse = nil
	b.save("archive", toBucket+", description: repaired") // whoever changes it wants it tried
	b.pass()
	if s := b.status("archive"); s.Error != "" || s.Failures != 0 || s.Lag != 0 || !s.Next.IsZero() {
		t.Errorf("the status is %+v", s)
	}
	if last := b.verified(audit.Place{}); last != 4 {
		t.Errorf("the last record is %d", last)
	}
}

// A pause keeps the place; another destination of the name begins anew.
func TestGoesOnWhereItPaused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save("archive", toBucket)
	b.append(1)
	b.pass()
	b.save("archive", strings.Replace(toBucket, "ACTIVE", "INACTIVE", 1))
	b.append(2)
	b.pass()
	if len(b.objects) != 1 {
		t.Errorf("a paused one got %v", b.objects)
	}
	b.save("archive", toBucket)
	b.pass()
	if last := b.verified(audit.Place{}); last != 6 || len(b.objects) != 2 {
		t.Errorf("the last record is %d, of %v", last, b.objects)
	}
	b.must(b.store.DeleteEntity(t.Context(), store.EntityKey{Scope: account, Kind: ref.StreamingDestination, ID: "archive"}, b.versions["archive"],
		audit.Record{Time: b.now, Scope: account, Action: audit.Delete}))
	b.versions["archive"], b.now, b.objects = 0, b.now.Add(time.Hour), nil
	b.save("archive", strings.Replace(toBucket, "acme-audit", "other", 1))
	b.pass()
	if last := b.verified(audit.Place{}); last != 8 || len(b.got[b.objects[0]]) != 8 {
		t.Errorf("another one got up to %d, of %v", last, b.objects)
	}
}

// One destination that takes nothing is in no other's way.
func TestDestinationsGoByThemselves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save("archive", toBucket)
	b.save("broken", "status: ACTIVE, spec: {type: NEWER}")
	b.save("silent", "status: ACTIVE, spec: {type: HTTP, url: 'https://siem.example.com', secretRef: account.nothing}")
	b.pass()
	if s := b.status("archive"); s.Lag != 0 {
		t.Errorf("the good one is %+v", s)
	}
	if s := b.status("broken"); s.Status != "INACTIVE" || s.Error == "" {
		t.Errorf("one that can't be read is %+v", s)
	}
	if s := b.status("silent"); s.Failures != 1 || !strings.Contains(s.Error, "nothing") {
		t.Errorf("one whose secret is missing is %+v", s)
	}
}

func TestPostsAreSigned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(b.secret.Put(t.Context(), ref.Ref{Scope: account, ID: "siem"}, "s3cr3t"))
	answers := []int{503, 200}
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte("s3cr3t"))
		mac.Write(body)
		if got := r.Header.Get("X-Hub-Signature-256"); got != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			t.Errorf("the signature is %q", got)
		}
		if r.Header.Get("Content-Type") != "application/x-ndjson" || r.Header.Get("X-Slipway-First-Sequence") != "1" || r.Header.Get("X-Slipway-Last-Sequence") != "3" {
			t.Errorf("headers are %v", r.Header)
		}
		w.WriteHeader(answers[len(bodies)])
		bodies = append(bodies, string(body))
	}))
	defer server.Close()
	b.append(2)
	b.save("siem", "status: ACTIVE, spec: {type: HTTP, url: '"+server.URL+"/hook', secretRef: account.siem}")
	b.pass()
	if len(bodies) != 2 || bodies[0] != bodies[1] {
		t.Fatalf("got %d bodies, want the same one twice", len(bodies))
	}
	if s := b.status("siem"); s.Lag != 0 || s.Failures != 0 {
		t.Errorf("the status is %+v", s)
	}
	if strings.Contains(bodies[0]+b.log.String(), "s3cr3t") {
		t.Error("the secret is told")
	}
}

// A process that ends after a destination has taken a part, and before that is
// kept, sends it again: with the same numbers.
func TestEndsBeforeItIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save("archive", toBucket)
	b.append(3)
	ctx, cancel := context.WithCancel(t.Context())
	b.refuse = func(string) error { cancel(); return nil }
	if _, err := b.Pass(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if s := b.status("archive"); s.Sequence != 0 || s.Failures != 0 {
		t.Errorf("the status is %+v", s)
	}
	b.refuse = nil
	b.pass()
	if len(b.objects) != 2 || b.objects[0] != b.objects[1] {
		t.Errorf("objects are %v; want the same one twice", b.objects)
	}
}
