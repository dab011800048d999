package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// config is what the context says (cdk.json, or -c key=value).
type config struct {
	Stage     string // names everything; default dev
	Functions string // folder of the functions' zip files; default ../dist/functions
	Machines  string // folder of the state machines; default ../statemachines
	// Keep is whether data outlive the stacks: always but in stages named dev
	// or dev-*.
	Keep     bool
	LogLevel string
	// Domain and Certificate give the HTTP API a name of its own; both or none.
	Domain, Certificate string
	// Alarms is the address that alarms are mailed to; none: only shown.
	Alarms string
	// Limits on executions at the same time; none: no limit.
	MaxExecutions, MaxPipelineExecutions string
	// RequestRate and LoginRate are how often callers ask in a second, 0 as often as
	// they like; none: as pkg/wire/aws has it.
	RequestRate, LoginRate string
	// The mail server, as in docs/notifications.md; none: no mail can be sent.
	SMTPServer, SMTPFrom, SMTPPassword string
	// ArtifactBuckets are those whose new objects fire triggers; none: all that
	// send their events to EventBridge.
	ArtifactBuckets []string
	// AuditRetention is for how many days audit records are kept, 0 for ever; none:
	// as pkg/wire/aws has it.
	AuditRetention string
	// AuditBuckets are those that the audit trail may be written into, below audit/,
	// AuditRoles the roles that may be assumed to write it: of streaming destinations.
	AuditBuckets, AuditRoles []string
	// Delegate is one on ECS Fargate; nil for none.
	Delegate *delegateConfig
}

var (
	stageName  = regexp.MustCompile(`^[a-z][a-z0-9-]{0,15}$`)
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	roleARN    = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[-+=,.@_/0-9A-Za-z]{1,512}$`)
)

// fromContext reads and checks the context; every mistake is in the one error.
func fromContext(node constructs.Node) (config, error) {
	get := func(key, otherwise string) string {
		if v, ok := node.TryGetContext(jsii.String(key)).(string); ok && v != "" {
			return v
		}
		return otherwise
	}
	list := func(key string) []string {
		if names := get(key, ""); names != "" {
			return strings.Split(names, ",")
		}
		return nil
	}
	c := config{
		Stage: get("stage", "dev"), Functions: get("functions", "../dist/functions"), Machines: get("statemachines", "../statemachines"),
		LogLevel: get("logLevel", "INFO"), Domain: get("domain", ""), Certificate: get("certificate", ""), Alarms: get("alarms", ""),
		MaxExecutions: get("maxExecutions", ""), MaxPipelineExecutions: get("maxPipelineExecutions", ""),
		RequestRate: get("requestRate", ""), LoginRate: get("loginRate", ""),
		AuditRetention: get("auditRetention", ""), AuditBuckets: list("auditBuckets"), AuditRoles: list("auditRoles"), ArtifactBuckets: list("artifactBuckets"),
		SMTPServer: get("smtpServer", ""), SMTPFrom: get("smtpFrom", ""), SMTPPassword: get("smtpPassword", ""),
	}
	c.Keep = c.Stage != "dev" && !strings.HasPrefix(c.Stage, "dev-")
	var errs []error
	var err error
	if c.Delegate, err = delegateFromContext(get); err != nil {
		errs = append(errs, err)
	}
	if !stageName.MatchString(c.Stage) {
		errs = append(errs, fmt.Errorf("stage %q: want a lower-case letter, then at most 15 lower-case letters, digits and -", c.Stage))
	}
	if (c.Domain == "") != (c.Certificate == "") {
		errs = append(errs, errors.New("domain and certificate (an ARN) belong together; one of them is missing"))
	}
	for key, v := range map[string]string{"maxExecutions": c.MaxExecutions, "maxPipelineExecutions": c.MaxPipelineExecutions, "requestRate": c.RequestRate, "loginRate": c.LoginRate} {
		if n, err := strconv.Atoi(v); v != "" && (err != nil || n < 0) {
			errs = append(errs, fmt.Errorf("%s %q: want a number, 0 for no limit", key, v))
		}
	}
	if n, err := strconv.Atoi(c.AuditRetention); c.AuditRetention != "" && (err != nil || n < 0 || n > 36500) {
		errs = append(errs, fmt.Errorf("auditRetention %q: want a number of days up to 36500, 0 for ever", c.AuditRetention))
	}
	for _, name := range c.AuditBuckets {
		if !bucketName.MatchString(name) {
			errs = append(errs, fmt.Errorf("auditBuckets: found %q; want names of buckets, with commas between them", name))
		}
	}
	for _, arn := range c.AuditRoles {
		if !roleARN.MatchString(arn) {
			errs = append(errs, fmt.Errorf("auditRoles: found %q; want ARNs of roles, with commas between them", arn))
		}
	}
	for _, name := range functionNames() {
		if _, err := os.Stat(c.zip(name)); err != nil {
			errs = append(errs, fmt.Errorf("function %s: %w; \"make functions\" builds it", name, err))
		}
	}
	return c, errors.Join(errs...)
}

// name is a resource's name: slipway-<stage>-<what>.
func (c config) name(what string) string { return "slipway-" + c.Stage + "-" + what }

func (c config) zip(function string) string { return filepath.Join(c.Functions, function+".zip") }

// retention is how long logs are kept.
func (c config) retention() awslogs.RetentionDays {
	if c.Keep {
		return awslogs.RetentionDays_THREE_MONTHS
	}
	return awslogs.RetentionDays_ONE_WEEK
}
