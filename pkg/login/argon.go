package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"

	"golang.org/x/crypto/argon2"

	"github.com/slipway-cd/slipway/pkg/fault"
)

const (
	saltSize, hashSize = 16, 32
	// maxHashed is how many are hashed at once: two take 128 MiB and two processors.
	maxHashed = 2
	// argonForm is how a hash is written, with its cost, so that another cost is that
	// of new passwords alone.
	argonForm = "$argon2id$v=%d$m=%d,t=%d,p=1$%s"
	// maxMemory and maxPasses bound what a hash that is kept may cost.
	maxMemory, maxPasses = 1 << 20, 64
)

// Cost is what a password costs whoever tries it (RFC 9106). Its zero value is that
// of a machine: 64 MiB and three passes.
type Cost struct{ Memory, Passes uint32 } // memory in KiB

func (c Cost) orDefault() Cost {
	if c == (Cost{}) {
		return Cost{Memory: 64 << 10, Passes: 3}
	}
	return c
}

// hashed is what is kept of a password.
func (d *Desk) hashed(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // which never fails
	cost := d.Cost.orDefault()
	sum, err := d.argon(ctx, cost, password, salt)
	return fmt.Sprintf(argonForm, argon2.Version, cost.Memory, cost.Passes, base64.RawStdEncoding.EncodeToString(append(salt, sum...))), err
}

// matches says whether a password is the one of which a hash is kept. Where there is
// none it takes as long.
func (d *Desk) matches(ctx context.Context, kept, password string) (bool, error) {
	cost, text := d.Cost.orDefault(), make([]byte, saltSize+hashSize)
	if kept != "" {
		var err error
		if cost, text, err = parseHash(kept); err != nil {
			return false, err
		}
	}
	sum, err := d.argon(ctx, cost, password, text[:saltSize])
	return subtle.ConstantTimeCompare(sum, text[saltSize:]) == 1 && kept != "", err
}

// parseHash reads what hashed has written: its cost, and salt and sum.
func parseHash(kept string) (Cost, []byte, error) {
	var version int
	var c Cost
	var encoded string
	_, err := fmt.Sscanf(kept, argonForm, &version, &c.Memory, &c.Passes, &encoded)
	text, failed := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || failed != nil || version != argon2.Version || len(text) != saltSize+hashSize || c.Passes < 1 || c.Passes > maxPasses || c.Memory > maxMemory {
		return Cost{}, nil, fault.New(fault.Internal, "the hash of a password can't be read")
	}
	return c, text, nil
}

// argon hashes, in turn.
func (d *Desk) argon(ctx context.Context, cost Cost, password string, salt []byte) ([]byte, error) {
	select {
	case d.hash <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other passwords: %w", context.Cause(ctx))
	}
	defer func() { <-d.hash }()
	return argon2.IDKey([]byte(password), salt, cost.Passes, cost.Memory, 1, hashSize), nil
}
