// Package kms is a master key that never leaves AWS's Key Management Service
// (secret.Master).
//
// It wraps and unwraps data keys of 32 bytes; sealing values with them is
// pkg/secret's.
package kms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/slipway-cd/slipway/pkg/secret"
)

// Master is a key of KMS.
type Master struct {
	client *kms.Client
	key    string
}

// New makes a Master of the key with the given ARN.
func New(client *kms.Client, key string) *Master { return &Master{client: client, key: key} }

// ID is made of the key's ARN by a hash (secret.Master).
func (m *Master) ID() secret.KeyID {
	sum := sha256.Sum256([]byte("slipway kms key id\n" + m.key))
	return secret.KeyID(sum[:len(secret.KeyID{})])
}

// String names the key.
func (m *Master) String() string { return "key " + m.key }

// Wrap encrypts a data key (secret.Master). What it is bound to is the
// encryption context, as a hash: contexts stand in CloudTrail in plain text.
func (m *Master) Wrap(ctx context.Context, dataKey, bound []byte) ([]byte, error) {
	out, err := m.client.Encrypt(ctx, &kms.EncryptInput{KeyId: &m.key, Plaintext: dataKey, EncryptionContext: encryptionContext(bound)})
	if err != nil {
		return nil, fmt.Errorf("wrap with %s: %w", m, err)
	}
	return out.CiphertextBlob, nil
}

// Unwrap decrypts what Wrap made (secret.Master).
func (m *Master) Unwrap(ctx context.Context, wrapped, bound []byte) ([]byte, error) {
	out, err := m.client.Decrypt(ctx, &kms.DecryptInput{KeyId: &m.key, CiphertextBlob: wrapped, EncryptionContext: encryptionContext(bound)})
	var invalid *types.InvalidCiphertextException
	if errors.As(err, &invalid) {
		return nil, secret.ErrDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("unwrap with %s: %w", m, err)
	}
	return out.Plaintext, nil
}

func encryptionContext(bound []byte) map[string]string {
	sum := sha256.Sum256(bound)
	return map[string]string{"slipway:for": hex.EncodeToString(sum[:])}
}
