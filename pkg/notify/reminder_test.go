package notify_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/testmail"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func TestOwnersAreToldOfTheEndOfTokens(t *testing.T) {
	t.Parallel()
	refuses := true
	mails := testmail.Start(t, testmail.Config{TLS: mail.StartTLS, Username: "slipway", Password: "mail-pass", Refuse: func(to string) error {
		if refuses && to == "bob@example.com" {
			return errors.New("no such mailbox")
		}
		return nil
	}})
	b := setup(t, "    []", mail.Setting{URL: "smtp://slipway@" + mails.Address, From: "slipway@example.com", Password: "account.smtp"}, mail.Sender{Roots: mails.Roots})
	account := ref.Scope{Account: "acme"}
	key := func(kind ref.Kind, id string) store.EntityKey {
		return store.EntityKey{Scope: account, Kind: kind, ID: id}
	}
	for id, more := range map[string]string{"ada": "email: ada@example.com", "bob": "email: bob@example.com", "eve": "email: eve@example.com, disabled: true", "nomail": "tags: {}"} {
		_, err := b.Entities.SaveEntity(t.Context(), store.Entity{
			Key: key(ref.User, id), YAML: []byte("user: {identifier: " + id + ", name: " + id + ", " + more + "}"), CreatedAt: noon.Add(-1000 * time.Hour),
		}, audit.Record{Scope: account, Action: audit.Create})
		must(t, err)
	}
	day := 24 * time.Hour
	for _, c := range []struct {
		name    string
		of      store.EntityKey
		lasts   time.Duration
		revoked bool
	}{
		{"month", key(ref.User, "ada"), 30 * day, false},
		{"week", key(ref.User, "ada"), 7 * day, false},
		{"login", key(ref.User, "ada"), day, false},
		{"revoked", key(ref.User, "ada"), 30 * day, true},
		{"ever", key(ref.User, "ada"), 0, false},
		{"his", key(ref.User, "bob"), 10 * day, false},
		{"hers", key(ref.User, "eve"), 30 * day, false},
		{"nobodys", store.EntityKey{}, 30 * day, false},
		{"ci", key(ref.ServiceAccount, "ci"), 30 * day, false},
		{"mute", key(ref.User, "nomail"), 30 * day, false},
	} {
		token := store.AccessToken{ID: c.name, Hash: []byte{1}, Kind: store.TokenUser, Scope: account, Name: c.name, Actor: "a", CreatedAt: noon, Principal: c.of, Revoked: c.revoked}
		if c.lasts > 0 {
			token.ExpiresAt = noon.Add(c.lasts)
		}
		must(t, b.Sent.PutToken(t.Context(), token))
	}
	var got []string
	const step = 4
	for hour := step; hour <= 31*24; hour += step {
		b.later(step * time.Hour)
		if hour == 3*24+12 {
			refuses = false
		}
		for range 2 { // also where it is asked for more often, or by another process
			must(t, notify.Reminder{Notifier: b.Notifier, Account: "acme"}.Pass(t.Context()))
		}
		for _, m := range mails.Received()[len(got):] {
			token := strings.Fields(m.Text[strings.Index(m.Text, "your token ")+len("your token "):])[0]
			got = append(got, fmt.Sprintf("day %d: %s to %s", hour/24, token, m.To[0]))
		}
	}
	want := []string{
		"day 3: his to bob@example.com", // a mail that couldn't be sent on day 3 is, later that day
		"day 6: week to ada@example.com", "day 9: his to bob@example.com",
		"day 16: month to ada@example.com", "day 23: month to ada@example.com", "day 29: month to ada@example.com",
	}
	if !slices.Equal(got, want) {
		t.Errorf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if text := mails.Received()[0].Text; !strings.Contains(text, "slipway token rotate his") || strings.Contains(text, "mail-pass") {
		t.Errorf("the mail is %s", text)
	}
	if log := b.log.String(); !strings.Contains(log, "couldn't be told") || strings.Contains(log, "mail-pass") {
		t.Errorf("the log is %.500s", log)
	}
	b.Mail = nil
	b.later(time.Hour)
	must(t, notify.Reminder{Notifier: b.Notifier, Account: "acme"}.Pass(t.Context()))
}
