package testaws

import (
	"embed"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/slipway-cd/slipway/internal/testport"
)

// The region and the account in which everything is.
const (
	Region  = "eu-west-1"
	Account = "123456789012" // moto's
)

// FunctionARN is the ARN of a function.
func FunctionARN(name string) string {
	return "arn:aws:lambda:" + Region + ":" + Account + ":function:" + name
}

//go:embed *.py
var scripts embed.FS

// Moto starts moto with the functions of a host, for the test's time, and
// gives its endpoint.
func Moto(tb testing.TB, host *Host) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.CopyFS(dir, scripts); err != nil {
		tb.Fatal(err)
	}
	for range 3 { // another program may take the free port first
		if endpoint := startMoto(tb, filepath.Join(dir, "starter.py"), host); endpoint != "" {
			return endpoint
		}
	}
	tb.Fatal("moto didn't start")
	return ""
}

// startMoto starts moto on a port that is free now; the endpoint is empty if
// it ended, or if it isn't moto that listens there.
func startMoto(tb testing.TB, starter string, host *Host) (endpoint string) {
	tb.Helper()
	addresses, err := testport.Free(1)
	if err != nil {
		tb.Fatal(err)
	}
	_, port, err := net.SplitHostPort(addresses[0])
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command("python3", "-B", starter, port, host.URL)
	cmd.Env = append(os.Environ(), "MOTO_PORT="+port, "AWS_DEFAULT_REGION="+Region)
	log := &filtered{tb: tb}
	cmd.Stdout, cmd.Stderr = log, log
	wait, err := startTied(cmd)
	if err != nil {
		tb.Fatalf("start moto: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = wait()
		close(ended)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	endpoint = "http://" + addresses[0]
	config := `{"stepfunctions":{"execute_state_machine":true},"lambda":{"use_docker":false}}`
	for {
		resp, err := http.Post(endpoint+"/moto-api/config", "application/json", strings.NewReader(config))
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode/100 != 2 {
				tb.Logf("configure moto: status %d", resp.StatusCode)
				return ""
			}
			return endpoint
		}
		select {
		case <-ended:
			return ""
		case <-tb.Context().Done():
			tb.Fatal(tb.Context().Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// filtered writes what moto says to the test's log, but for a line for each
// request.
type filtered struct{ tb testing.TB }

// Write writes some lines (io.Writer).
func (f *filtered) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if !strings.Contains(line, " HTTP/1.1\" ") && f.tb.Context().Err() == nil {
			f.tb.Log("moto: ", strings.TrimRight(line, "\n"))
		}
	}
	return len(p), nil
}

// Config is a configuration of the SDK for an endpoint on this machine.
func Config(endpoint string) aws.Config { return ConfigWith("test", endpoint) }

// ConfigWith is a Config with an access key: those with different ones see
// different tables in DynamoDB Local.
func ConfigWith(accessKey, endpoint string) aws.Config {
	return aws.Config{
		Region: Region, BaseEndpoint: aws.String(endpoint),
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, "test", ""),
	}
}
