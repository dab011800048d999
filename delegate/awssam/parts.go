package awssam

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A template may have a megabyte, which is more than one checkpoint takes: a large one
// is kept compressed, and in parts.

const (
	// whole is how large a template may be that is kept as it is, in bytes: JSON writes
	// some characters by six.
	whole = task.MaxCheckpoint / 8
	// partSize is how large a part of another is, which JSON writes by four characters
	// for three bytes.
	partSize = task.MaxCheckpoint / 2
	// maxWhole is how large CloudFormation takes a template, in bytes, and more.
	maxWhole = 4 << 20
	// partKey begins the keys of parts. What follows is the digest of the template, so
	// that parts of two are never mixed.
	partKey = "sam:template:"
)

// divide keeps a large template in parts.
func (j *job) divide(ctx context.Context, b *before) error {
	if len(b.Template) <= whole {
		return nil
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := io.WriteString(z, b.Template)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return fmt.Errorf("compress the template of stack %s: %w", b.Stack, err)
	}
	digest := sum([]byte(b.Template))
	for part := range slices.Chunk(packed.Bytes(), partSize) {
		key := fmt.Sprintf("%s%s:%03d", partKey, digest, len(b.Parts))
		if _, err := executor.Keep(ctx, j.Env, key, part); err != nil {
			return err
		}
		b.Parts = append(b.Parts, key)
	}
	b.Template = ""
	return nil
}

// join makes a template whole again that was kept in parts.
func (j *job) join(ctx context.Context, b *before) error {
	if len(b.Parts) == 0 {
		return nil
	}
	var packed []byte
	for _, key := range b.Parts {
		part, err := executor.Kept[[]byte](ctx, j.Env, key)
		if err != nil {
			return err
		}
		if len(part) != 1 {
			return fault.New(fault.NotFound, "the template that stack %s had before the stage lacks its part %s", b.Stack, key).Causing(fault.Unknown)
		}
		packed = append(packed, part[0]...)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("read the template that stack %s had before the stage: %w", b.Stack, err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxWhole))
	if err != nil {
		return fmt.Errorf("read the template that stack %s had before the stage: %w", b.Stack, err)
	}
	b.Template = string(text)
	return nil
}
