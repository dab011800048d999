package sso

import (
	"crypto/sha256"
	"fmt"
	"regexp"
)

var outside = regexp.MustCompile(`[^0-9a-zA-Z_]`)

// Identifiers are those that a new user may have, by the mail address. They have all
// of the address, so that nobody gets a name that a group already has for somebody
// else.
func Identifiers(address string) []string {
	id := outside.ReplaceAllString(address, "_")
	if len(id) > 100 || id[0] >= '0' && id[0] <= '9' {
		id = "u_" + id[:min(len(id), 90)]
	}
	return []string{id, fmt.Sprintf("%s_%x", id, sha256.Sum256([]byte(address)))[:min(len(id)+13, 128)]}
}
