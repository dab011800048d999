package login

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // what authenticators speak (RFC 6238); a weakness against collisions is none here
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
)

const (
	// totpStep is how long a code counts, totpDrift how many steps a clock may be off.
	totpStep, totpDrift = 30 * time.Second, 1
	totpDigits          = 1_000_000
	seedSize            = 20
	// maxRecovery is how many recovery codes there are, each for one login.
	maxRecovery = 10
)

var seeds = base32.StdEncoding.WithPadding(base32.NoPadding)

// Enrolment is what an authenticator is told, once.
type Enrolment struct {
	Secret string `json:"secret" doc:"In base32. It is shown once"`
	URI    string `json:"uri" doc:"The same as authenticators read it of a QR code: otpauth://totp/..."`
}

// Recovery is what logs in without the authenticator.
type Recovery struct {
	Codes []string `json:"recoveryCodes" nullable:"false" doc:"Each logs in once, without the authenticator. They are shown once"`
}

// codeAt is the code of a seed at a step (RFC 6238).
func codeAt(seed []byte, step int64) string {
	mac := hmac.New(sha1.New, seed)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash takes everything
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[at:])&0x7fffffff)%totpDigits)
}

// code says whether a code is of a user's seed now. Each counts once.
func (d *Desk) code(ctx context.Context, who local, typed string) error {
	seed, err := seeds.DecodeString(who.Seed)
	if err != nil {
		return fault.New(fault.Internal, "the second factor of user %s can't be read", who.key.ID)
	}
	now := d.Now().Unix() / int64(totpStep/time.Second)
	for step := now - totpDrift; step <= now+totpDrift; step++ {
		if !hmac.Equal([]byte(codeAt(seed, step)), []byte(typed)) {
			continue
		}
		until := time.Unix(0, 0).Add(time.Duration(step+totpDrift+1) * totpStep)
		err := d.first(ctx, "code", fmt.Sprintf("%s %s %d", who.key.ID, who.Seed, step), until)
		var r *Refusal
		if errors.As(err, &r) {
			return refuse(WrongCode, r)
		}
		return err
	}
	return refuse(WrongCode, errors.New("the code isn't one of now"))
}

// second asks for the second factor of who has one: a code, or a recovery code.
func (d *Desk) second(ctx context.Context, who local, typed, request string) error {
	typed = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(typed))
	switch {
	case !who.Confirmed:
		return nil
	case typed == "":
		return refuse(Second, errors.New("there is no code"))
	case len(typed) == len("123456"):
		return d.code(ctx, who, typed)
	}
	at := slices.Index(who.Recovery, recoveryHash(typed))
	if at < 0 {
		return refuse(WrongCode, errors.New("it is no recovery code, or one that was used"))
	}
	who.Recovery = slices.Delete(slices.Clone(who.Recovery), at, at+1)
	what := fmt.Sprintf("logs in with a recovery code, of which %d are left", len(who.Recovery))
	err := d.keep(ctx, who, audit.Author{Actor: who.key.ID, Request: request}, what)
	if fault.Is(err, fault.StaleVersion) { // another has used it, or something else
		return refuse(WrongCode, err)
	}
	return err
}

// recoveryHash is what is kept of a recovery code, which nobody guesses.
func recoveryHash(code string) string {
	sum := sha256.Sum256([]byte("recovery code " + code))
	return hex.EncodeToString(sum[:])
}

// Enrol begins a second factor of who types the password. Nothing asks for it until
// a code was shown.
func (d *Desk) Enrol(ctx context.Context, t Typed) (Enrolment, error) {
	who, err := d.someone(ctx, t.User)
	if err != nil {
		return Enrolment{}, err
	}
	if who.Hash == "" {
		return Enrolment{}, fault.New(fault.Conflict, "user %s has no password here that a second factor could go with", t.User)
	}
	if who.Confirmed {
		return Enrolment{}, fault.New(fault.Conflict, "user %s has a second factor; who administrates Slipway takes it away", t.User)
	}
	if err := d.proves(ctx, who, t, func() error { return nil }); err != nil {
		return Enrolment{}, err
	}
	seed := make([]byte, seedSize)
	_, _ = rand.Read(seed) // which never fails
	who.Seed, who.Recovery = seeds.EncodeToString(seed), nil
	if err := d.keep(ctx, who, audit.Author{Actor: who.key.ID, Request: t.Request}, "begins a second factor"); err != nil {
		return Enrolment{}, raced(err)
	}
	address := url.URL{
		Scheme: "otpauth", Host: "totp", Path: "/Slipway:" + who.key.ID,
		RawQuery: url.Values{"secret": {who.Seed}, "issuer": {"Slipway"}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}}.Encode(),
	}
	return Enrolment{Secret: who.Seed, URI: address.String()}, nil
}

// Confirm ends the enrolment of who shows a code of it: the recovery codes, which are
// shown once.
func (d *Desk) Confirm(ctx context.Context, t Typed) ([]string, error) {
	who, err := d.someone(ctx, t.User)
	if err != nil {
		return nil, err
	}
	if who.Seed == "" || who.Confirmed {
		return nil, fault.New(fault.Conflict, "user %s has begun no second factor, or has one already", t.User)
	}
	if err := d.counted(ctx, who, t, func() error { return d.code(ctx, who, strings.ReplaceAll(string(t.Code), " ", "")) }); err != nil {
		return nil, err
	}
	codes := make([]string, maxRecovery)
	who.Recovery = make([]string, maxRecovery)
	for i := range codes {
		text := rand.Text()[:16] // 80 bits
		who.Recovery[i] = recoveryHash(text)
		codes[i] = strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-")
	}
	who.Confirmed = true
	return codes, raced(d.keep(ctx, who, audit.Author{Actor: who.key.ID, Request: t.Request}, "has a second factor"))
}

// RemoveSecond takes the second factor of a user away.
func (d *Desk) RemoveSecond(ctx context.Context, user string, by audit.Author) error {
	who, err := d.someone(ctx, user)
	if err != nil || who.Seed == "" {
		return err
	}
	who.Seed, who.Confirmed, who.Recovery = "", false, nil
	return raced(d.keep(ctx, who, by, "has no second factor any more"))
}
