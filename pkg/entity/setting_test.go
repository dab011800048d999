package entity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestSettingsAreBounded(t *testing.T) {
	t.Parallel()
	domains := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("d%d.example.com", i))
		}
		return "restrictEmailDomains: [" + strings.Join(all, ", ") + "]"
	}
	for _, c := range []struct{ keys, wrong string }{
		{domains(100), ""},
		{domains(101), "found 101 domains; want at most 100"},
		{"restrictEmailDomains: []", "found nothing"},
		{"restrictEmailDomains: ['*']", `found "*"; want a domain`},
		{"banner: {text: " + strings.Repeat("é", 512) + "}", ""},
		{"banner: {text: " + strings.Repeat("é", 513) + "}", "found 513 characters; want at most 512"},
		{`banner: {text: "\e[31mred"}`, "found characters that can't be seen"},
		{"banner: {text: a, from: '2026-12-06T09:00:00Z', to: '2026-12-06T09:00:00Z'}", "ends before it begins"},
		{"banner: {text: a, from: tomorrow}", `found "tomorrow"; want a time`},
		{"banner: {text: a, level: loud}", "level"},
		{"banner: {level: info}", `key "text" is missing`},
		{"sessionInactivity: 29m", "want from 30m to 3d"},
		{"sessionInactivity: 30m", ""},
		{"sessionAbsolute: 72h", ""},
		{"sessionAbsolute: 72h 1s", "want from 1h to 3d"},
		{"sessionAbsolute: 0", "want from 1h to 3d"},
		{"maxTokenLifetime: 365d", ""},
		{"allowMarkStepFailed: maybe", "allowMarkStepFailed"},
		{"mandatoryWebhookSecret: true", ""},
		{"mandatoryWebhookSecret: false", "no delivery is taken that proves nothing"},
		{"maxTokenLifetimes: 1d", "unknown key"},
	} {
		docs, report := yamldoc.Parse("", []byte("setting: {identifier: settings, name: Settings, "+c.keys+"}"))
		entity.Decode(docs[0], report, entity.Options{Scope: ref.Scope{Account: "default"}})
		err := report.Err()
		if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(fmt.Sprint(report.Findings()), c.wrong) {
			t.Errorf("%.60s: %v %v; want %q", c.keys, err, report.Findings(), c.wrong)
		}
	}
}
