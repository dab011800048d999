package setting_test

import (
	"slices"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/setting"
)

func TestTheStrictestHolds(t *testing.T) {
	t.Parallel()
	token := func(d time.Duration) setting.Settings { return setting.Settings{MaxTokenLifetime: d} }
	mark := func(c setting.Choice) setting.Settings { return setting.Settings{MarkAsFailed: c} }
	for _, c := range []struct {
		name   string
		around []setting.Settings
		of     setting.Name
		want   string
	}{
		{"nobody sets it", []setting.Settings{{}, {}, {}}, setting.MaxTokenLifetime, ""},
		{"the account alone", []setting.Settings{token(time.Hour), {}, {}}, setting.MaxTokenLifetime, "1h"},
		{"the project alone", []setting.Settings{{}, {}, token(time.Hour)}, setting.MaxTokenLifetime, "1h"},
		{"stricter within", []setting.Settings{token(36 * time.Hour), {}, token(time.Hour)}, setting.MaxTokenLifetime, "1h"},
		{"looser within", []setting.Settings{token(36 * time.Hour), token(48 * time.Hour), {}}, setting.MaxTokenLifetime, "1d12h"},
		{"no above", []setting.Settings{mark(setting.No), mark(setting.Yes), {}}, setting.AllowMarkAsFailed, "false"},
		{"no within", []setting.Settings{mark(setting.Yes), {}, mark(setting.No)}, setting.AllowMarkAsFailed, "false"},
		{"yes within", []setting.Settings{{}, mark(setting.Yes)}, setting.AllowMarkAsFailed, "true"},
		{"the account's, within", []setting.Settings{{SessionAbsolute: time.Hour}, {SessionAbsolute: time.Minute}}, setting.SessionAbsolute, "1h"},
	} {
		if got := setting.Of(c.around).Text(c.of); got != c.want {
			t.Errorf("%s: %s is %q; want %q", c.name, c.of, got, c.want)
		}
	}
	if got := token(2 * time.Hour).Loosens(token(time.Hour)); !slices.Equal(got, []setting.Name{setting.MaxTokenLifetime}) {
		t.Errorf("twice as long loosens %v", got)
	}
	for _, above := range []setting.Settings{{}, token(2 * time.Hour), token(3 * time.Hour), mark(setting.Yes)} {
		if got := token(2 * time.Hour).Loosens(above); len(got) > 0 {
			t.Errorf("below %+v it loosens %v", above, got)
		}
	}
}

func TestWhoMayBeAUser(t *testing.T) {
	t.Parallel()
	s := setting.Settings{EmailDomains: []string{"example.com"}}
	for mail, want := range map[string]bool{
		"": true, "a@example.com": true, "a@EXAMPLE.com": true, "a@sub.example.com": false, "a@example.com.evil.example": false,
		`"a@example.com"@evil.example`: false, "evil.example": false, "a@": false,
	} {
		if got := s.Takes(mail); got != want {
			t.Errorf("%q: %v; want %v", mail, got, want)
		}
	}
	if !(setting.Settings{}).Takes("a@evil.example") {
		t.Error("without domains somebody is kept out")
	}
}
