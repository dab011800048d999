package e2e_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/audit/stream"
	"github.com/slipway-cd/slipway/pkg/wire/function"
)

// canary is the value of a secret, and the key of a destination: nobody is told.
const canary = "canary-5ecr3t"

// A server that is killed while it brings the trail to its destinations goes on
// where it was: nothing is missing there, and what comes twice is the same.
func TestAuditStreamOfAKilledServer(t *testing.T) {
	t.Parallel()
	world := testaws.NewWorld(t)
	bucket := newBucket(t, world.Config())
	env := []string{
		serveEnv + "=" + filepath.Join(t.TempDir(), "data"), addrEnv + "=" + freeAddr(t), "AWS_ENDPOINT_URL=" + world.Endpoint,
		"AWS_REGION=" + testaws.Region, "AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=s",
	}
	first := spawn(t, env...)
	s := client(first)
	in := startReceiver(t)
	ofTheAccount(t, s, secretCanary, streamed(bucket, ""), `streamingDestination: {identifier: siem, name: SIEM, status: ACTIVE, spec: {type: HTTP, url: '`+in.URL+`', secretRef: account.canary}}`)
	records(t, s, 620)
	first.kill()
	in.killAt = 1 // when it has sent the first part, which the next one sends again
	second := spawn(t, env...)
	in.victim <- second
	select {
	case <-in.killed:
	case <-time.After(e2e.Patience):
		t.Fatal("the webhook got nothing")
	}
	second.kill() // waits for its end
	spawn(t, env...)
	var all []stream.AuditStream
	delivered(t, s, &all, func(d stream.AuditStream) bool { return d.Lag == 0 && d.Sequence > 620 })
	parts := in.all()
	if len(parts) < 3 || !bytes.Equal(parts[0], parts[1]) {
		t.Errorf("got %d parts; want the first one twice, and another", len(parts))
	}
	if last := whole(t, parts); last < all[0].Sequence {
		t.Errorf("the webhook got up to %d of %d", last, all[0].Sequence)
	}
	if last := whole(t, objects(t, world.Config(), bucket)); last < all[0].Sequence {
		t.Errorf("the bucket got up to %d of %d", last, all[0].Sequence)
	}
}

// On AWS the sweeper brings the trail into a bucket, each minute, also by a role.
func TestAuditStreamOnAWS(t *testing.T) {
	t.Parallel()
	a := e2e.StartAWS(t)
	moto := testaws.Config(strings.TrimPrefix(a.Env[0], "AWS_ENDPOINT_URL="))
	bucket := newBucket(t, moto)
	ofTheAccount(t, a.Server, secretCanary, streamed(bucket, ", roleArn: 'arn:aws:iam::"+testaws.Account+":role/audit', externalId: slipway"))
	records(t, a.Server, 510)
	event, err := json.Marshal(map[string]string{"detail-type": function.AuditStream})
	if err != nil {
		t.Fatal(err)
	}
	a.Host.Fail("sweeper", testaws.Faults{After: 0.5}) // it has done all, and nobody hears of it
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	for range 3 {
		if _, err := a.Host.Invoke(ctx, "sweeper", event); err != nil {
			t.Fatal(err)
		}
	}
	var all []stream.AuditStream
	delivered(t, a.Server, &all, func(d stream.AuditStream) bool { return d.Lag == 0 && d.Sequence > 510 })
	if last := whole(t, objects(t, moto, bucket)); last != all[0].Sequence {
		t.Errorf("the bucket got up to %d of %d", last, all[0].Sequence)
	}
}

const secretCanary = `secret: {type: SecretText, name: canary, identifier: canary, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: ` + canary + `}}`

// streamed is a destination in a bucket.
func streamed(bucket, more string) string {
	return `streamingDestination: {identifier: archive, name: Archive, status: ACTIVE, spec: {type: AWS_S3, bucket: ` + bucket + `, region: ` + testaws.Region + more + `}}`
}

// ofTheAccount saves documents there.
func ofTheAccount(t *testing.T, s *e2e.Server, documents ...string) {
	t.Helper()
	var set api.DocumentSet
	for _, d := range documents {
		set.Documents = append(set.Documents, api.SetDocument{YAML: d})
	}
	if _, err := apiclient.New(s.URL, s.Token).SaveAll(t.Context(), set); err != nil {
		t.Fatal(err)
	}
}

// records makes so many.
func records(t *testing.T, s *e2e.Server, n int) {
	t.Helper()
	var docs []string
	for i := range n {
		docs = append(docs, fmt.Sprintf("variable: {identifier: v%[1]d, name: v%[1]d, type: String, spec: {valueType: FIXED, fixedValue: x}}", i))
	}
	ofTheAccount(t, s, docs...)
}

// delivered waits until all destinations are as wanted.
func delivered(t *testing.T, s *e2e.Server, all *[]stream.AuditStream, wanted func(stream.AuditStream) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	for {
		var got stream.AuditStreams
		if err := s.Call(ctx, http.MethodGet, "/v1/audit/destinations", nil, &got); err != nil {
			t.Fatal(err)
		}
		*all = got.Destinations
		if len(*all) > 0 && !slices.ContainsFunc(*all, func(d stream.AuditStream) bool { return !wanted(d) }) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the destinations are %+v", *all)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// whole checks that parts hold one chain from its beginning, where a record may come
// again as it was, and no secret. It gives the number of the last record.
func whole(t *testing.T, parts [][]byte) int64 {
	t.Helper()
	var v audit.Verifier
	hashes := map[int64]string{}
	for _, part := range parts {
		if bytes.Contains(part, []byte(canary)) {
			t.Error("a record tells a secret")
		}
		if err := audit.ReadLines(bytes.NewReader(part), func(r audit.Record) error {
			if had, ok := hashes[r.Sequence]; ok {
				if had != r.Hash {
					t.Errorf("record %d came twice, and wasn't the same", r.Sequence)
				}
				return nil
			}
			hashes[r.Sequence] = r.Hash
			return v.Check(r)
		}); err != nil {
			t.Error(err)
		}
	}
	return v.Last().Sequence
}

func newBucket(t *testing.T, cfg aws.Config) string {
	t.Helper()
	bucket := "audit-trail"
	if _, err := pathStyle(cfg).CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: &bucket, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	}); err != nil {
		t.Fatal(err)
	}
	return bucket
}

func pathStyle(cfg aws.Config) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
}

// objects reads what is in a bucket, by key.
func objects(t *testing.T, cfg aws.Config, bucket string) [][]byte {
	t.Helper()
	list, err := pathStyle(cfg).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String("audit/default/")})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Contents, func(x, y types.Object) int { return cmp.Compare(*x.Key, *y.Key) })
	var all [][]byte
	for _, o := range list.Contents {
		got, err := pathStyle(cfg).GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: o.Key})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		in, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close() // it was read
		all = append(all, text)
	}
	return all
}

// receiver is a webhook that keeps what it gets, and kills who sends it at a part.
type receiver struct {
	URL    string
	killAt int // the part at which; 0: none
	victim chan *process
	killed chan struct{}

	mu    sync.Mutex
	parts [][]byte
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	c := &receiver{victim: make(chan *process, 1), killed: make(chan struct{})}
	at, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(at) }() // until the test closes it
	t.Cleanup(func() { _ = server.Close() })
	c.URL = "http://" + at.Addr().String() + "/audit"
	return c
}

// ServeHTTP takes a part in (http.Handler).
func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !strings.HasPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256=") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.parts = append(c.parts, body)
	now := len(c.parts) == c.killAt
	c.mu.Unlock()
	if now {
		_ = (<-c.victim).cmd.Process.Kill() // who is gone can't be told that it was taken
		close(c.killed)
		<-r.Context().Done()
	}
}

func (c *receiver) all() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.parts)
}
