package catalog

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// keepsSettings refuses changes that the settings around them don't allow, as these will be:
// settings that loosen those above, and users with a mail address of another domain.
func keepsSettings(ctx context.Context, c *Catalog, account string, by *grants.Caller, changes ...prepared) error {
	changed := map[store.EntityKey]setting.Settings{}
	asks := false
	for _, p := range changes {
		switch {
		case p.entity != nil && p.entity.Kind == ref.Setting:
			changed[p.next.Key] = *p.entity.Setting
		case p.entity == nil && p.stored.Key.Kind == ref.Setting:
			changed[p.stored.Key] = setting.Settings{}
		case p.entity != nil && p.entity.Kind == ref.User && p.entity.User.Email != called(p.stored):
			asks = true
		}
	}
	if len(changed) == 0 && !asks {
		return nil
	}
	will := func(scope ref.Scope) (setting.Settings, error) {
		if s, ok := changed[grants.SettingsKey(scope)]; ok {
			return s, nil
		}
		saved, err := c.Store.Entity(ctx, grants.SettingsKey(scope))
		if err != nil && !fault.Is(err, fault.NotFound) {
			return setting.Settings{}, err
		}
		return grants.SettingsOf(saved)
	}
	ofAccount, err := will(ref.Scope{Account: account})
	if err != nil {
		return err
	}
	for _, p := range changes {
		switch {
		case p.entity == nil || p.change == Unchanged:
		case p.entity.Kind == ref.Setting:
			err = stricter(p, will)
		case p.entity.Kind == ref.User && p.entity.User.Email != called(p.stored) && !ofAccount.Takes(p.entity.User.Email):
			err = fault.New(fault.Invalid, "user %q has the mail address %s; the account's setting %s wants one of %s", p.next.Key.ID, p.entity.User.Email, setting.EmailDomains, ofAccount.Text(setting.EmailDomains)).
				With(wrongKey(p, "email", "the account's setting %s wants one of %s", setting.EmailDomains, ofAccount.Text(setting.EmailDomains)))
		}
		if err != nil {
			return err
		}
	}
	if _, ok := changed[grants.SettingsKey(ref.Scope{Account: account})]; !ok || by == nil {
		return nil
	}
	mail, err := by.Mail(ctx)
	if err == nil && !ofAccount.Takes(mail) {
		err = fault.New(fault.Conflict, "this would keep you out: your mail address is %s, and %s would have %s alone", mail, setting.EmailDomains, ofAccount.Text(setting.EmailDomains))
	}
	return err
}

// stricter refuses settings that are looser than those above: they would count for
// nothing, and who reads them would think otherwise.
func stricter(p prepared, will func(ref.Scope) (setting.Settings, error)) error {
	around := p.next.Key.Scope.Around()
	above := make([]setting.Settings, 0, len(around))
	for _, scope := range around[:len(around)-1] {
		s, err := will(scope)
		if err != nil {
			return err
		}
		above = append(above, s)
	}
	if len(above) == 0 {
		return nil
	}
	holds := setting.Of(above)
	var wrong []fault.Detail
	for _, name := range p.entity.Setting.Loosens(holds) {
		wrong = append(wrong, wrongKey(p, string(name), "found %s, which is looser than the %s that is set above; within it is only made stricter", p.entity.Setting.Text(name), holds.Text(name)))
	}
	if len(wrong) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "the settings of %s loosen what is set above", p.next.Key.Scope).With(wrong...)
}

// wrongKey is a finding at a key of a document.
func wrongKey(p prepared, key, format string, args ...any) fault.Detail {
	at := fault.Detail{
		File: p.file, Path: string(p.entity.Kind), Line: p.entity.Doc.Line + p.before, Column: p.entity.Doc.Column,
		Severity: "error", Code: document.WrongValue, Message: fmt.Sprintf(format, args...),
	}
	for _, e := range p.entity.Doc.Entries {
		if e.Key == key {
			at.Path, at.Line, at.Column = at.Path+"."+key, e.Line+p.before, e.Column
		}
	}
	return at
}
