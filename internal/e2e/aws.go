package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/pullsecret"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testdynamo"
	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	slipwayaws "github.com/slipway-cd/slipway/pkg/wire/aws"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

// AWS is an installation on AWS as far as one machine can have it: the
// compiled functions, DynamoDB Local, moto's Step Functions, S3 and KMS.
type AWS struct {
	*Server
	Host    *testaws.Host
	Sockets *testaws.SocketGateway
	Bus     *testaws.Bus
	Machine string // ARN of the state machine
	SFN     *sfn.Client
	Store   *dynamo.Store
	Outputs map[string]string // of the stacks, as "slipway login" reads them
	Env     []string          // for programs that speak to this AWS
	Calls   testaws.Recorder  // what the functions have called

	functions []string
	rights    map[string][]string // what each function may do, by the template
	throttled atomic.Uint64       // the part of the table's calls that are refused, as math.Float64bits
	repeats   atomic.Bool         // the delegate's results come late and twice
}

// Throttle makes the table refuse a part of all calls from now on.
func (a *AWS) Throttle(part float64) { a.throttled.Store(math.Float64bits(part)) }

// RepeatResults makes every result of the delegate come late and twice from
// now on; the first answer is lost.
func (a *AWS) RepeatResults() { a.repeats.Store(true) }

// Functions are the names of those that are installed.
func (a *AWS) Functions() []string { return a.functions }

// Rights are the actions that the synthesized template allows a function.
func (a *AWS) Rights(function string) []string { return a.rights[function] }

// Functions builds every function once for the process, into a folder with a
// file for each.
var Functions = sync.OnceValues(func() (string, error) {
	return build("-tags=lambda.norpc", "github.com/slipway-cd/slipway/functions/...")
})

// CommandLine builds the program slipway once for the process, into a folder
// with nothing else.
var CommandLine = sync.OnceValues(func() (string, error) { return build("github.com/slipway-cd/slipway/cmd/slipway") })

// programs is the folder of what is built.
var programs = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "slipway-programs-") })

// RemovePrograms removes what has been built, a quarter of a gigabyte. It is
// for who ends the process.
func RemovePrograms() error {
	dir, err := programs()
	return errors.Join(err, os.RemoveAll(dir))
}

// build compiles programs into a folder of their own. Without what debuggers
// read they are linked in half the time.
func build(args ...string) (string, error) {
	all, err := programs()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(all, "")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", slices.Concat([]string{"build", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}, args)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", args[len(args)-1], err, out)
	}
	return dir, nil
}

// slack is how many times as long as on AWS a function may take here: there it
// has a processor for itself, and here all tests share one or two. The
// functions know the end of their time, so what they do then is theirs to test.
const slack = 10

// reached is the URL under which functions are told that clouds reach them.
const reached = "https://slipway.example.com"

// StartAWS installs Slipway and runs a delegate for it, for the test's time.
// More variables ("NAME=value") may be given to all functions. It skips the test where an emulator is missing.
func StartAWS(tb testing.TB, more ...string) *AWS {
	tb.Helper()
	local, err := testdynamo.Start()
	if err != nil {
		tb.Skip(err)
	}
	dir, err := Functions()
	if err != nil {
		tb.Fatal(err)
	}
	installed := readTemplate(tb)
	tb.Cleanup(func() { forget(tb, local.Endpoint()) }) // when the functions have ended
	host := testaws.NewHost(tb)
	moto := testaws.Moto(tb, host)
	a := &AWS{Host: host, Sockets: testaws.NewSocketGateway(tb, host, "connect"), Bus: testaws.NewBus(tb, host), SFN: sfn.NewFromConfig(testaws.Config(moto))}
	values := a.resources(tb, installed, moto, local.Endpoint())
	a.rights, a.functions = installed.rights, slices.Sorted(maps.Keys(installed.functions))
	table := testaws.Proxy(tb, local.Endpoint(), &a.Calls, func() float64 { return math.Float64frombits(a.throttled.Load()) })
	others := testaws.Proxy(tb, moto, &a.Calls, func() float64 { return 0 })
	bus := testaws.Proxy(tb, a.Bus.URL, &a.Calls, func() float64 { return 0 })
	lambda := testaws.Proxy(tb, host.URL, &a.Calls, func() float64 { return 0 })
	for name, f := range installed.functions {
		env := []string{"AWS_ACCESS_KEY_ID=" + accessKey(tb.Name()), "AWS_ENDPOINT_URL=" + others, "AWS_ENDPOINT_URL_DYNAMODB=" + table, "AWS_ENDPOINT_URL_EVENTBRIDGE=" + bus, "AWS_ENDPOINT_URL_LAMBDA=" + lambda, testaws.AppID + "=" + name}
		for _, variable := range f.env {
			v, known := values[variable]
			if !known {
				tb.Fatalf("function %s has the variable %s, which the emulators have no value for", name, variable)
			}
			env = append(env, variable+"="+v)
		}
		env = append(env, more...)
		host.Add(testaws.Function{Name: name, Binary: filepath.Join(dir, name), Env: env, Timeout: slack * time.Duration(f.timeout) * time.Second})
	}
	for _, r := range installed.rules {
		host.AddRule(r)
	}
	host.Map(tb, local.Endpoint(), accessKey(tb.Name()), a.Outputs["TableName"], &a.Calls, installed.mappings...)
	a.Server = &Server{
		URL: testaws.HTTPGateway(tb, host, "api", installed.routed()...), Org: "default", Project: "default_project", Token: a.mint(tb, store.TokenUser),
		Poll: 100 * time.Millisecond,
	}
	a.Outputs["ApiUrl"] = a.URL
	a.Env = []string{
		"AWS_ENDPOINT_URL=" + moto, "AWS_ENDPOINT_URL_DYNAMODB=" + local.Endpoint(), "AWS_REGION=" + testaws.Region,
		"AWS_ACCESS_KEY_ID=" + accessKey(tb.Name()), "AWS_SECRET_ACCESS_KEY=test",
	}
	a.delegate(tb)
	return a
}

// resources makes what the template says, and gives the values of the
// functions' variables.
func (a *AWS) resources(tb testing.TB, installed template, moto, local string) map[string]string {
	tb.Helper()
	ctx := tb.Context()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	table := tableName(tb.Name())
	installed.table.TableName = &table
	tables := dynamodb.NewFromConfig(testaws.ConfigWith(accessKey(tb.Name()), local))
	_, err := tables.CreateTable(ctx, &installed.table)
	must(err)
	_, err = tables.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &table, TimeToLiveSpecification: &types.TimeToLiveSpecification{
		AttributeName: &installed.expires, Enabled: aws.Bool(true),
	}})
	must(err)
	_, err = s3.NewFromConfig(testaws.Config(moto), func(o *s3.Options) { o.UsePathStyle = true }).CreateBucket(ctx, &s3.CreateBucketInput{
		Bucket: aws.String("blobs"), CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	})
	must(err)
	key, err := kms.NewFromConfig(testaws.Config(moto)).CreateKey(ctx, &kms.CreateKeyInput{})
	must(err)
	a.Machine = "arn:aws:states:" + testaws.Region + ":" + testaws.Account + ":stateMachine:" + installed.machine
	definition := installed.definition
	for _, name := range installed.substitute {
		arn := map[string]string{"EngineFunctionArn": testaws.FunctionARN("engine"), "NodeMachineArn": a.Machine}[name]
		definition = strings.ReplaceAll(definition, "${"+name+"}", arn)
	}
	_, err = a.SFN.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: &installed.machine, Definition: &definition, RoleArn: aws.String("arn:aws:iam::" + testaws.Account + ":role/machine"),
	})
	must(err)
	cfg := slipwayaws.Config{Table: table, Bucket: "blobs", KMSKey: aws.ToString(key.KeyMetadata.Arn)}
	a.Store = slipwayaws.NewStore(testaws.ConfigWith(accessKey(tb.Name()), local), cfg)
	a.Outputs = map[string]string{"TableName": cfg.Table, "BucketName": cfg.Bucket, "KeyArn": cfg.KMSKey}
	return map[string]string{
		"SLIPWAY_TABLE": cfg.Table, "SLIPWAY_BUCKET": cfg.Bucket, "SLIPWAY_KMS_KEY": cfg.KMSKey, "SLIPWAY_MACHINE": a.Machine,
		"SLIPWAY_EVENT_BUS": busName, "SLIPWAY_SOCKET": a.Sockets.URL, "SLIPWAY_URL": reached, "SLIPWAY_LOG_LEVEL": "WARN",
		"SLIPWAY_POLICY_FUNCTION": "policy", "SLIPWAY_REQUEST_RATE": "0", "SLIPWAY_LOGIN_RATE": "0", // tests ask as fast as they can
	}
}

// tableName is a test's own.
func tableName(test string) string { return strings.ReplaceAll(test, "/", "-") }

// forget deletes a test's table: the server keeps it, and the test may run again.
func forget(tb testing.TB, local string) {
	tb.Helper()
	tables := dynamodb.NewFromConfig(testaws.ConfigWith(accessKey(tb.Name()), local))
	if _, err := tables.DeleteTable(context.WithoutCancel(tb.Context()), &dynamodb.DeleteTableInput{TableName: aws.String(tableName(tb.Name()))}); err != nil {
		tb.Errorf("delete the table: %v", err)
	}
}

// accessKey is a test's own, which has tables of its own in the DynamoDB that
// all tests share. The server keeps the streams of all that one key has in one
// list, and looks through it from where a reader stopped.
func accessKey(test string) string {
	return regexp.MustCompile(`\W|_`).ReplaceAllString(test, "")
}

// mint makes a token, as whoever installs Slipway does.
func (a *AWS) mint(tb testing.TB, kind store.TokenKind) string {
	tb.Helper()
	t, text := access.Mint(access.Grant{Kind: kind, Scope: ref.Scope{Account: plane.Account}, Name: "test", Actor: "admin"}, time.Now())
	if err := a.Store.PutToken(tb.Context(), t); err != nil {
		tb.Fatal(err)
	}
	return text
}

// delegate runs a delegate that speaks to the gateways.
func (a *AWS) delegate(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	d := agent.New(agent.Config{
		URL: a.URL, Token: a.mint(tb, store.TokenDelegate), Name: "embedded", Tags: []string{"embedded"}, Capacity: 10,
		Kinds: WithoutTools(delegate.Kinds(delegate.Config{Cache: tb.TempDir()})), PullSecret: pullsecret.New(), Git: gitfetch.New(tb.TempDir(), gitfetch.HostKeys{}),
		HTTP: &http.Client{Transport: repeater{&a.repeats}},
		Log:  slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("the delegate: %v", err)
		}
	})
}
