// Package aws puts the control plane together from AWS's services, for the
// functions: DynamoDB, S3, Step Functions, KMS and API Gateway.
//
// It chooses and connects, and holds no rules. Nothing is called before the
// first event: making the parts only makes clients.
package aws

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/audit/bucket"
	"github.com/slipway-cd/slipway/pkg/awshttp"
	s3blob "github.com/slipway-cd/slipway/pkg/blob/s3"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/policy/remote"
	"github.com/slipway-cd/slipway/pkg/rate"
	kmskey "github.com/slipway-cd/slipway/pkg/secret/kms"
	"github.com/slipway-cd/slipway/pkg/socket"
	"github.com/slipway-cd/slipway/pkg/statemachine/stepfunctions"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

// Config is a function's environment. infra/ sets it.
type Config struct {
	Table    string // of DynamoDB
	Bucket   string // of S3, for what is too large for the table
	KMSKey   string // ARN of the key under which secrets are kept
	Machine  string // ARN of the node state machine
	EventBus string // of EventBridge, for Slipway's own events
	URL      string // of the HTTP API; only the functions api, which signs tokens, and login have it
	Socket   string // endpoint of the WebSocket API, https:// with the stage
	Policy   string // name of the function that evaluates policies
	Mail     mail.Setting
	Limits   engine.Limits // on executions at the same time
	Rates    rate.Rates    // how often callers ask, of each function
	// AuditRetention is how long audit records are kept; 0: for ever. Only the
	// function sweeper removes any.
	AuditRetention time.Duration
	LogLevel       string // DEBUG, INFO (the default), WARN or ERROR
	Version        string
}

// FromEnv reads a Config; every variable that is missing or wrong is in the
// one error.
func FromEnv(lookup func(string) (string, bool)) (Config, error) {
	var errs []error
	need := func(name string) string {
		v, _ := lookup(name)
		if v == "" {
			errs = append(errs, fmt.Errorf("the environment variable %s isn't set", name))
		}
		return v
	}
	c := Config{
		Table: need("SLIPWAY_TABLE"), Bucket: need("SLIPWAY_BUCKET"), KMSKey: need("SLIPWAY_KMS_KEY"),
		Machine: need("SLIPWAY_MACHINE"), EventBus: need("SLIPWAY_EVENT_BUS"), Socket: need("SLIPWAY_SOCKET"),
		Policy: need("SLIPWAY_POLICY_FUNCTION"),
	}
	c.URL, _ = lookup("SLIPWAY_URL")
	err := issuer.CheckURL(c.URL)
	if err != nil {
		errs = append(errs, fmt.Errorf("the environment variable SLIPWAY_URL: %w", err))
	}
	c.Mail.URL, _ = lookup("SLIPWAY_SMTP_SERVER")
	c.Mail.From, _ = lookup("SLIPWAY_SMTP_FROM")
	c.Mail.Password, _ = lookup("SLIPWAY_SMTP_PASSWORD")
	number := func(name string, otherwise int) int {
		v, _ := lookup(name)
		n, err := strconv.Atoi(cmp.Or(v, strconv.Itoa(otherwise)))
		if err != nil || n < 0 {
			errs = append(errs, fmt.Errorf("the environment variable %s is %q; want a number, 0 for no limit", name, v))
		}
		return n
	}
	c.Limits = engine.Limits{Account: number("SLIPWAY_MAX_EXECUTIONS", 0), Pipeline: number("SLIPWAY_MAX_PIPELINE_EXECUTIONS", 0)}
	c.Rates = rate.Rates{Requests: number("SLIPWAY_REQUEST_RATE", rate.DefaultRequests), Logins: number("SLIPWAY_LOGIN_RATE", rate.DefaultLogins)}
	days, _ := lookup("SLIPWAY_AUDIT_RETENTION")
	if c.AuditRetention, err = audit.Retention(cmp.Or(days, audit.TwoYears)); err != nil {
		errs = append(errs, fmt.Errorf("the environment variable SLIPWAY_AUDIT_RETENTION: %w", err))
	}
	c.LogLevel, _ = lookup("SLIPWAY_LOG_LEVEL")
	c.Version, _ = lookup("SLIPWAY_VERSION")
	return c, errors.Join(errs...)
}

// Logger writes JSON lines, as CloudWatch takes them apart.
func (c Config) Logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cmp.Or(c.LogLevel, "INFO"))); err != nil {
		return nil, fmt.Errorf("SLIPWAY_LOG_LEVEL: %w", err)
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})), nil
}

// Parts is the control plane with what only functions need of it.
type Parts struct {
	*plane.Plane
	Store *dynamo.Store
	Log   *slog.Logger
	sdk   awssdk.Config
	cfg   Config

	gateway *apigatewaymanagementapi.Client // of the WebSocket API
}

// New makes the parts. With, unless nil, adds what only one function has.
func New(ctx context.Context, cfg Config, with func(*plane.Parts)) (*Parts, error) {
	log, err := cfg.Logger()
	if err != nil {
		return nil, err
	}
	sdk, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration: %w", err)
	}
	sdk.HTTPClient = awshttp.Client(sdk.HTTPClient)
	address, err := socket.Address(cfg.Socket)
	if err != nil {
		return nil, err
	}
	mailServer, err := cfg.Mail.Server()
	if err != nil {
		return nil, err
	}
	master := kmskey.New(kms.NewFromConfig(sdk), cfg.KMSKey)
	st := NewStore(sdk, cfg)
	gateway := apigatewaymanagementapi.NewFromConfig(sdk, func(o *apigatewaymanagementapi.Options) {
		o.BaseEndpoint = awssdk.String(cfg.Socket)
	})
	parts := plane.Parts{
		Store: st.Store, Runner: stepfunctions.New(sfn.NewFromConfig(sdk), cfg.Machine), Waker: socket.NewWaker(st.Connections, gateway, time.Now, log),
		Master: master, URL: cfg.URL, Socket: address, Viewers: st.Viewers, Poll: 5 * time.Minute, // each poll is billed
		Mail: mailServer, Limits: cfg.Limits, Rates: cfg.Rates, Version: cfg.Version, Log: log,
		Bucket:         bucket.New(func(context.Context) (awssdk.Config, error) { return sdk, nil }).Put,
		AuditRetention: cfg.AuditRetention,
		Policies:       remote.New(lambda.NewFromConfig(sdk), cfg.Policy), NoDirectory: login.NoDirectoryOnAWS,
	}
	if with != nil {
		with(&parts)
	}
	return &Parts{Plane: plane.New(parts), Store: st, Log: log, sdk: sdk, cfg: cfg, gateway: gateway}, nil
}

// NewStore makes the store alone.
func NewStore(sdk awssdk.Config, cfg Config) *dynamo.Store {
	return dynamo.New(dynamodb.NewFromConfig(sdk), dynamo.Config{
		Table: cfg.Table, Blobs: s3blob.New(s3.NewFromConfig(sdk), cfg.Bucket), PageKey: cfg.pageKey(),
	})
}

// pageKey seals page tokens. It is made of the KMS key's ARN, whose id is
// random and known only within the AWS account: whoever could forge a token
// with it may read the table itself.
func (c Config) pageKey() []byte {
	sum := sha256.Sum256([]byte("slipway page tokens\n" + c.KMSKey))
	return sum[:]
}

// Lobby lets delegates and pages in.
func (p *Parts) Lobby() *socket.Lobby {
	return &socket.Lobby{Account: plane.Account, Store: p.Store.Store, Connections: p.Store.Connections, Viewers: p.Store.Viewers, Now: time.Now, Log: p.Log}
}

// Hints tells pages which executions have changed.
func (p *Parts) Hints() *socket.Hints {
	return &socket.Hints{
		Account: plane.Account, Store: p.Store.Store, Viewers: p.Store.Viewers, Grants: grants.New(p.Store.Entities), Gateway: p.gateway, Now: time.Now, Log: p.Log,
	}
}

// Bucket keeps what is too large for the table.
func (p *Parts) Bucket() *s3blob.Bucket { return s3blob.New(s3.NewFromConfig(p.sdk), p.cfg.Bucket) }

// SDK is the SDK's configuration, and Config the function's, for clients that
// only one function has.
func (p *Parts) SDK() (awssdk.Config, Config) { return p.sdk, p.cfg }
