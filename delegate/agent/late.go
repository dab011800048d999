package agent

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// withTexts adds to a task's secrets, pull secrets included, the texts that
// only a delegate can make. They are no secrets themselves, but for those that
// are made of some: these are masked in their new form.
func (e *environment) withTexts(ctx context.Context, secrets map[string]string, texts map[string]task.LateText) (map[string]string, error) {
	if len(texts) == 0 {
		return secrets, nil
	}
	all := extended(secrets)
	for placeholder, t := range texts {
		made, err := e.lateText(ctx, secrets, t)
		if err != nil {
			return nil, fault.Wrap(err, "%s", t.Name)
		}
		all[placeholder] = made
	}
	return all, nil
}

func (e *environment) lateText(ctx context.Context, secrets map[string]string, t task.LateText) (string, error) {
	if t.Git == nil {
		text := replacer(secrets).Replace(t.Text)
		if t.Base64 {
			text = base64.StdEncoding.EncodeToString([]byte(text))
			e.mask(text)
		}
		return text, nil
	}
	content, err := e.repositoryFile(ctx, secrets, t)
	if err != nil {
		return "", err
	}
	text, hidden := string(content), false
	if strings.Contains(text, "<+") {
		if text, hidden, err = e.resolveFile(ctx, text); err != nil {
			return "", err
		}
	}
	if t.Base64 {
		text = base64.StdEncoding.EncodeToString([]byte(text))
		if hidden {
			e.mask(text)
		}
	}
	return text, nil
}

// repositoryFile reads a file of a Git repository, once the secrets by which it
// is reached are in their places.
func (e *environment) repositoryFile(ctx context.Context, secrets map[string]string, t task.LateText) ([]byte, error) {
	if e.agent.Git == nil {
		return nil, fault.New(fault.Unsupported, "delegate %s can't read files of Git repositories", e.agent.Name)
	}
	open, err := revealed(*t.Git, secrets)
	if err != nil {
		return nil, err
	}
	return e.agent.Git.File(ctx, open, t.Stage, task.MaxText)
}

// resolveFile resolves the expressions of a file that was fetched, and says
// whether there are secrets in it now. None of them may be another such file:
// they could name each other in a circle.
func (e *environment) resolveFile(ctx context.Context, text string) (resolved string, hidden bool, err error) {
	out, err := e.ask(ctx, map[string]string{"text": text})
	if err != nil {
		return "", false, err
	}
	if len(out.LateTexts) > 0 {
		return "", false, fault.New(fault.Invalid, "its expressions name another config file of a Git repository, or encode a secret; that can't be")
	}
	hidden = len(out.Secrets)+len(out.LateSecrets) > 0
	texts, err := e.opened(ctx, out)
	return texts["text"], hidden, err
}
