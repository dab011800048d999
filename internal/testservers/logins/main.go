// Command logins is an identity provider that speaks SAML and an LDAP directory on
// loopback, for tests that are no program of Go. It says on its output where they
// are, lets Sam in by one and Lea by the other, and ends with its input.
//
// What they do is samlidp's and directory's.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/slipway-cd/slipway/internal/testservers/directory"
	"github.com/slipway-cd/slipway/internal/testservers/samlidp"
)

// Where they are.
type places struct {
	Metadata string `json:"metadata"` // of the identity provider
	Port     int    `json:"port"`     // of the directory, with TLS
	CA       string `json:"ca"`       // of its certificate
}

// alone is a test of nothing: what fails ends the program.
type alone struct{ testing.TB }

func (alone) Helper()           {}
func (alone) Cleanup(func())    {}
func (alone) Error(args ...any) { fmt.Fprintln(os.Stderr, args...) }
func (alone) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	people, provider := directory.New(alone{}, true), samlidp.New(alone{})
	people.Set(
		directory.Entry{DN: "uid=lea," + directory.People, Password: "corr3ct", Attributes: map[string][]string{
			"mail": {"lea@example.com"}, "cn": {"Lea"}, "memberOf": {"cn=developers," + directory.Groups},
		}},
	)
	provider.Person("sam@example.com", samlidp.Attributes{"groups": {"developers"}})
	at := places{Metadata: provider.URL + "/metadata", Port: people.Port, CA: people.CA}
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		return fmt.Errorf("say where they are: %w", err)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return fmt.Errorf("wait for the end: %w", err)
	}
	return nil
}
