package clusteraccess

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A token is a signed request to STS: EKS sends it, and so learns who signed.
// It takes tokens for 15 minutes, whatever the request itself says.
const (
	eksToken    = 14 * time.Minute
	eksRequest  = "60"          // seconds
	tokenPrefix = "k8s-aws-v1." //nolint:gosec // the form's name, no credential
)

func eks(ctx context.Context, c task.EKS, t http.RoundTripper, now time.Time) (access, error) {
	var options []func(*config.LoadOptions) error
	if t != nil {
		options = append(options, config.WithHTTPClient(&http.Client{Transport: t}))
	}
	cfg, err := aws.Config(ctx, c.AWS, options...)
	if err != nil {
		return access{}, err
	}
	keys, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return access{}, fault.New(fault.Unavailable, "AWS gives the connector no credentials: %w", err).Causing(fault.Authentication)
	}
	a, err := describeEKS(ctx, cfg, keys, c.Name, t, now)
	if err != nil {
		return access{}, err
	}
	a.token, err = signedToken(ctx, keys, cfg.Region, c.Name, now)
	a.expires = now.Add(eksToken)
	return a, err
}

// domain is what the names of AWS's services in a region end with.
func domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return region + ".amazonaws.com.cn"
	}
	return region + ".amazonaws.com"
}

// empty is the digest of no body.
func empty() string {
	sum := sha256.Sum256(nil)
	return hex.EncodeToString(sum[:])
}

// describeEKS asks EKS where the cluster's API is (DescribeCluster).
func describeEKS(ctx context.Context, cfg sdk.Config, keys sdk.Credentials, name string, t http.RoundTripper, now time.Time) (access, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://eks."+domain(cfg.Region)+"/clusters/"+url.PathEscape(name), nil)
	if err != nil {
		return access{}, err
	}
	if err := v4.NewSigner().SignHTTP(ctx, keys, req, empty(), "eks", cfg.Region, now); err != nil {
		return access{}, err
	}
	resp, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return access{}, fault.New(fault.Unavailable, "ask EKS for it: %w", err).Causing(fault.Connectivity, fault.RetryableTransientFailure)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return access{}, fault.New(fault.Unavailable, "read the answer of EKS: %w", err).Causing(fault.Connectivity)
	}
	var doc struct {
		Message string
		Cluster struct {
			Endpoint             string
			Status               string
			CertificateAuthority struct{ Data []byte }
		}
	}
	if err := json.Unmarshal(body, &doc); err != nil || resp.StatusCode != http.StatusOK {
		return access{}, fault.New(fault.Unavailable, "EKS answers with status %d: %s", resp.StatusCode, doc.Message).Causing(failureOf(resp.StatusCode))
	}
	if doc.Cluster.Endpoint == "" {
		return access{}, fault.New(fault.Unavailable, "it has no API yet; its status is %s", doc.Cluster.Status).Causing(fault.Connectivity)
	}
	return access{url: doc.Cluster.Endpoint, ca: doc.Cluster.CertificateAuthority.Data}, nil
}

// signedToken is what EKS takes for a token: a signed GetCallerIdentity of the
// region's STS, bound to the cluster by a header.
func signedToken(ctx context.Context, keys sdk.Credentials, region, name string, now time.Time) (string, error) {
	query := url.Values{"Action": {"GetCallerIdentity"}, "Version": {"2011-06-15"}, "X-Amz-Expires": {eksRequest}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://sts."+domain(region)+"/?"+query.Encode(), nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("x-k8s-aws-id", name)
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, keys, req, empty(), "sts", region, now)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(signed)), err
}

// AsEKS has requests to a cluster of EKS sent as an account: with tokens that are
// signed anew before they have run out. The profile is of the delegate's own
// configuration of AWS; empty: its default.
func AsEKS(account task.AWS, cluster, profile string, next http.RoundTripper) http.RoundTripper {
	return &asEKS{account: account, cluster: cluster, profile: profile, next: next}
}

type asEKS struct {
	account          task.AWS
	cluster, profile string
	next             http.RoundTripper

	mu    sync.Mutex
	token string
	until time.Time
}

// RoundTrip sends a request (http.RoundTripper).
func (a *asEKS) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := a.current(req.Context())
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.Header.Set("Authorization", "Bearer "+token)
	return a.next.RoundTrip(out)
}

func (a *asEKS) current(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if now.Before(a.until) {
		return a.token, nil
	}
	var options []func(*config.LoadOptions) error
	if a.profile != "" {
		options = append(options, config.WithSharedConfigProfile(a.profile))
	}
	cfg, err := aws.Config(ctx, a.account, options...)
	if err != nil {
		return "", err
	}
	keys, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return "", fault.New(fault.Unavailable, "AWS gives the agent no credentials: %w", err).Causing(fault.Authentication)
	}
	if a.token, err = signedToken(ctx, keys, cfg.Region, a.cluster, now); err != nil {
		return "", err
	}
	a.until = now.Add(eksToken - early)
	return a.token, nil
}

// maxAnswer is how much of a cloud's answer is read, in bytes.
const maxAnswer = 4 << 20

func failureOf(status int) fault.FailureType {
	switch {
	case status == http.StatusUnauthorized:
		return fault.Authentication
	case status == http.StatusForbidden:
		return fault.Authorization
	case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests:
		return fault.RetryableTransientFailure
	}
	return fault.Unknown
}
