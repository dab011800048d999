package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/google"
	"github.com/slipway-cd/slipway/delegate/transport"
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
	loginECR    = 8 * time.Hour
	loginGitHub = 40 * time.Minute
	loginToken  = 40 * time.Minute
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

// github is the address of GitHub's own API.
const github = "https://api.github.com"

// loginGitHub asks for a token of the installation of an app, with which the app is
// who asks.
func (s *Sources) loginGitHub(ctx context.Context, r repository) (login, error) {
	signed, err := appToken(r)
	if err != nil {
		return login{}, err
	}
	api := strings.TrimRight(cmp.Or(r.GitHubAppURL, github), "/")
	installation := r.GitHubAppInstallation
	if installation == 0 {
		var found struct{ ID int64 }
		at, err := url.Parse(r.URL)
		if err != nil {
			return login{}, fault.New(fault.Invalid, "found a URL that can't be read")
		}
		if err := r.askGitHub(ctx, http.MethodGet, api+"/repos/"+strings.Trim(strings.TrimSuffix(at.EscapedPath(), ".git"), "/")+"/installation", signed, &found); err != nil {
			return login{}, err
		}
		installation = found.ID
	}
	var got struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	if err := r.askGitHub(ctx, http.MethodPost, fmt.Sprintf("%s/app/installations/%d/access_tokens", api, installation), signed, &got); err != nil {
		return login{}, err
	}
	until := time.Now().Add(loginGitHub)
	if early := got.Expires.Add(-5 * time.Minute); !got.Expires.IsZero() && early.Before(until) {
		until = early
	}
	return login{user: "x-access-token", password: got.Token, until: until}, nil
}

// appToken says, signed, which app asks.
func appToken(r repository) (string, error) {
	wrong := fault.New(fault.Invalid, "githubAppPrivateKey is no RSA key; want one in PEM")
	block, _ := pem.Decode([]byte(r.GitHubAppKey))
	if block == nil {
		return "", wrong
	}
	var key any
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		if key, err = x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
			return "", wrong
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, nil)
	if err != nil {
		return "", wrong
	}
	now := time.Now()
	const late, long = time.Minute, 9 * time.Minute // of clocks that differ; GitHub takes ten minutes
	token, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: strconv.FormatInt(r.GitHubAppID, 10), IssuedAt: jwt.NewNumericDate(now.Add(-late)), Expiry: jwt.NewNumericDate(now.Add(long)),
	}).Serialize()
	if err != nil {
		return "", wrong
	}
	return token, nil
}

// maxAnswer is how much of GitHub's answer is read, in bytes.
const maxAnswer = 1 << 20

func (r *repository) askGitHub(ctx context.Context, method, at, token string, into any) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return fault.New(fault.Invalid, "githubAppEnterpriseBaseUrl is no address")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/vnd.github+json")
	over := task.Over{}
	if r.over != nil {
		over = *r.over
		over.ClientCertPEM, over.ClientKeyPEM = "", "" // it is for the repository
	}
	via, err := transport.New(&over)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: via, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		return fault.New(fault.Unavailable, "ask GitHub for a token: %w", err).Causing(fault.Connectivity)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fault.New(fault.Unavailable, "read GitHub's answer: %w", err).Causing(fault.Connectivity)
	}
	if resp.StatusCode/100 != 2 {
		var said struct{ Message string }
		_ = json.Unmarshal(text, &said) // it says nothing else
		return fault.New(fault.Unavailable, "GitHub gives the app no token: status %d: %s", resp.StatusCode, said.Message).Causing(fault.Authentication)
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(into); err != nil {
		return fault.New(fault.Unavailable, "GitHub's answer can't be read").Causing(fault.Connectivity)
	}
	return nil
}
