package login

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// The examples of RFC 6238, appendix B, to six digits.
func TestCodesAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if got := codeAt([]byte("12345678901234567890"), at/30); got != want {
			t.Errorf("at %d: %s; want %s", at, got, want)
		}
	}
}

func TestAHashHasItsCost(t *testing.T) {
	t.Parallel()
	dear, cheap := New(Config{}), New(Config{Cost: Cost{Memory: 64, Passes: 1}})
	first, err := dear.hashed(t.Context(), "correct horse")
	if err != nil || !strings.HasPrefix(first, "$argon2id$v=19$m=65536,t=3,p=1$") {
		t.Fatalf("%s, %v", first, err)
	}
	second, err := cheap.hashed(t.Context(), "correct horse")
	if err != nil || strings.HasSuffix(second, first[len(first)-20:]) {
		t.Fatalf("%s, %v", second, err)
	}
	for _, kept := range []string{first, second} { // also where another cost is now that of new ones
		for password, want := range map[string]bool{"correct horse": true, "correct hors": false, "": false} {
			if got, err := cheap.matches(t.Context(), kept, password); got != want || err != nil {
				t.Errorf("%q: %v, %v", password, got, err)
			}
		}
	}
	if got, err := cheap.matches(t.Context(), "", ""); got || err != nil {
		t.Errorf("who has no password: %v, %v", got, err)
	}
	for _, broken := range []string{"x", "$argon2id$v=19$m=65536,t=3,p=1$AAAA", "$argon2id$v=19$m=4000000000,t=3,p=1$" + first[len(first)-64:], "$argon2id$v=19$m=64,t=0,p=1$" + first[len(first)-64:], "$argon2i" + first[9:]} {
		if got, err := cheap.matches(t.Context(), broken, "correct horse"); got || !fault.Is(err, fault.Internal) || strings.Contains(err.Error(), "AAAA") {
			t.Errorf("%s: %v, %v", broken, got, err)
		}
	}
}
