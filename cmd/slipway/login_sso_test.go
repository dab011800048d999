package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slipway-cd/slipway/internal/testservers/idp"
)

// TestLoginSSO logs in at a terminal by an identity provider on loopback.
func TestLoginSSO(t *testing.T) {
	t.Parallel()
	provider := idp.New(t)
	provider.Person(idp.Claims{"sub": "1", "email": "ada@example.com", "email_verified": true})
	provider.Device(true, "authorization_pending")
	servers := &servers{running: map[*testscript.TestScript]*server{}}
	// The scripts run beside each other, after this function has come back.
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir: filepath.Join("testdata", "sso"),
			Setup: func(e *testscript.Env) error {
				e.Setenv("HOME", e.WorkDir)
				e.Setenv("SLIPWAY_CONFIG", filepath.Join(e.WorkDir, "config.yaml"))
				e.Setenv("ISSUER", provider.URL)
				return nil
			},
			Cmds:                map[string]func(*testscript.TestScript, bool, []string){"server": servers.start},
			RequireExplicitExec: true,
			UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		})
	})
}
