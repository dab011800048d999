package stream

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/notify/message"
	"github.com/slipway-cd/slipway/pkg/secret"
)

// send sends a part. It has been taken if there is no error.
func (s *Streamer) send(ctx context.Context, d destination, part []audit.Record) error {
	lines, err := audit.Lines(part)
	if err != nil {
		return err
	}
	if err := s.Settle(); err != nil {
		return err
	}
	switch d.Type {
	case audit.ToS3:
		body, err := packed(lines)
		if err != nil {
			return err
		}
		return s.Put(ctx, d.Destination, objectKey(part), body)
	case audit.ToHTTP:
		return s.post(ctx, d.Destination, part, lines)
	}
	return fault.New(fault.Unsupported, "destinations of the type %q aren't supported", d.Type)
}

// objectKey is where a part is kept in a bucket: by the day of its first record,
// with numbers that sort.
func objectKey(part []audit.Record) string {
	first, last := part[0], part[len(part)-1]
	return fmt.Sprintf("audit/%s/%s/%012d-%012d.ndjson.gz", first.Scope.Account, first.Time.UTC().Format("2006/01/02"), first.Sequence, last.Sequence)
}

// packed is the same for the same lines.
func packed(lines []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(lines); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// post sends a part with the proof that it is from here. Only as long as it takes,
// the secret is open.
func (s *Streamer) post(ctx context.Context, to audit.Destination, part []audit.Record, lines []byte) error {
	key, err := s.Secret.Reveal(ctx, secret.Name(to.Secret))
	if err != nil {
		return err
	}
	if key == "" {
		return fault.New(fault.Invalid, "the secret %s is empty, and an empty one proves nothing", to.Secret.ID)
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(lines)
	return s.Post(ctx, message.Outgoing{Post: &message.Post{
		URL: to.URL, Type: "application/x-ndjson", Body: lines,
		Headers: map[string]string{
			"X-Hub-Signature-256":      "sha256=" + hex.EncodeToString(mac.Sum(nil)),
			"X-Slipway-First-Sequence": strconv.FormatInt(part[0].Sequence, 10),
			"X-Slipway-Last-Sequence":  strconv.FormatInt(part[len(part)-1].Sequence, 10),
		},
	}}, nil)
}
