package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	ldapserver "github.com/slipway-cd/slipway/internal/testservers/directory"
	"github.com/slipway-cd/slipway/internal/testservers/idp"
)

// TestLoginSSO logs in at a terminal by an identity provider on loopback.
func TestLoginSSO(t *testing.T) {
	t.Parallel()
	provider := idp.New(t)
	provider.Person(idp.Claims{"sub": "1", "email": "ada@example.com", "email_verified": true})
	provider.Device(true, "authorization_pending")
	people := ldapserver.New(t, true)
	people.Set(ldapserver.Entry{DN: "uid=ada," + ldapserver.People, Password: "corr3ct", Attributes: map[string][]string{"mail": {"ada@example.com"}}})
	servers := &servers{running: map[*testscript.TestScript]*server{}}
	// The scripts run beside each other, after this function has come back.
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir: filepath.Join("testdata", "sso"),
			Setup: func(e *testscript.Env) error {
				e.Setenv("HOME", e.WorkDir)
				e.Setenv("SLIPWAY_CONFIG", filepath.Join(e.WorkDir, "config.yaml"))
				e.Setenv("ISSUER", provider.URL)
				e.Setenv("LDAP_PORT", strconv.Itoa(people.Port))
				if err := os.WriteFile(filepath.Join(e.WorkDir, "token"), []byte(provider.IDToken("slipway", "")+"\n"), 0o600); err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(e.WorkDir, "ca.pem"), []byte(people.CA), 0o600)
			},
			Cmds:                map[string]func(*testscript.TestScript, bool, []string){"server": servers.start},
			RequireExplicitExec: true,
			UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		})
	})
}
