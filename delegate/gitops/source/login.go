package source

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/githubapp"
	"github.com/slipway-cd/slipway/delegate/google"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// login is who asks a repository for a while.
type login struct {
	user, password string
	token          string // a bearer's
	until          time.Time
}

// How long logins are used that somebody gives for a while: two thirds of how long
// they are good for, at most.
const (
	loginECR   = 8 * time.Hour
	loginToken = 40 * time.Minute
)

// login is who asks: as the repository says, or by a token that is asked for.
func (s *Sources) login(ctx context.Context, r repository) (login, error) {
	var get func(context.Context, repository) (login, error)
	switch {
	case r.GitHubAppID != 0:
		get = s.loginGitHub
	case r.GCPKey != "":
		get = s.loginGoogle
	case r.ECR != nil:
		get = s.loginECR
	default:
		return login{user: r.Username, password: r.Password, token: r.BearerToken}, nil
	}
	begun := time.Now()
	for since := (time.Time{}); ; since = begun {
		a, err := s.ask(ctx, "login\n"+r.id, since, func(a *answer) { a.login, a.err = get(ctx, r) })
		if err != nil {
			return login{}, fault.Wrap(err, "log in to %s", r.URL)
		}
		if begun.Before(a.login.until) || !a.begun.Before(begun) {
			return a.login, nil
		}
	}
}

func (s *Sources) loginECR(ctx context.Context, r repository) (login, error) {
	account := task.AWS{Auth: task.AWSInherit, Region: r.ECR.Region}
	if r.ECR.AccessKey != "" {
		account.Auth, account.AccessKey, account.SecretKey, account.SessionToken = task.AWSKeys, r.ECR.AccessKey, r.ECR.SecretKey, r.ECR.SessionToken
	}
	cfg, err := aws.ConfigOver(ctx, account, s.charts.Via)
	if err != nil {
		return login{}, err
	}
	got, err := aws.Login(ctx, cfg)
	return login{user: got.User, password: got.Password, until: time.Now().Add(loginECR)}, err
}

func (s *Sources) loginGoogle(ctx context.Context, r repository) (login, error) {
	got, err := google.Login(ctx, task.Google{Key: r.GCPKey}, s.charts.Via)
	return login{user: google.RegistryUser, password: got.Token, until: time.Now().Add(loginToken)}, err
}

// loginGitHub asks for a token of the installation of an app, with which the app is
// who asks.
func (s *Sources) loginGitHub(ctx context.Context, r repository) (login, error) {
	app := githubapp.App{ID: r.GitHubAppID, Installation: r.GitHubAppInstallation, Key: r.GitHubAppKey, URL: r.GitHubAppURL}
	if r.over != nil {
		over := *r.over
		over.ClientCertPEM, over.ClientKeyPEM = "", "" // it is for the repository
		app.Over = &over
	}
	at, err := url.Parse(r.URL)
	if err != nil {
		return login{}, fault.New(fault.Invalid, "found a URL that can't be read")
	}
	got, err := app.Token(ctx, "repos/"+strings.Trim(strings.TrimSuffix(at.EscapedPath(), ".git"), "/"))
	return login{user: githubapp.User, password: got.Text, until: got.Until}, err
}
