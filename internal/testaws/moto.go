package testaws

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/slipway-cd/slipway/internal/testport"
	"github.com/slipway-cd/slipway/pkg/awshttp"
	"github.com/slipway-cd/slipway/statemachines"
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
	return start(tb, readMoto, host.URL)
}

// start starts a moto of a template; it invokes functions at host.
func start(tb testing.TB, of func() (*template, error), host string) string {
	tb.Helper()
	t, err := of()
	if err != nil {
		tb.Fatalf("start moto: %v", err)
	}
	return copied(tb, func(port string, life int) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		_, err := fmt.Fprintln(t.wanted, port, host, life)
		return err
	})
}

// copied has a copy of a moto made, for the test's time, and gives its endpoint.
func copied(tb testing.TB, ask ask) string {
	tb.Helper()
	for range 3 { // another program may take the free port first
		if endpoint := ask.start(tb); endpoint != "" {
			return endpoint
		}
	}
	tb.Fatal("moto didn't start")
	return ""
}

// ask asks for a copy that listens at a port of this machine, and connects to another.
type ask func(port string, life int) error

// template is a process that has read moto's code, and copies itself for each
// moto that is wanted. It ends with this process.
type template struct {
	mu     sync.Mutex
	wanted io.Writer
}

// readMoto starts the template of the process, at the first call.
var readMoto = sync.OnceValues(func() (*template, error) { return read() })

// read starts a template; starter.py says which arguments there are.
func read(arguments ...string) (*template, error) {
	dir, err := os.MkdirTemp("", "moto-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the temporary folder anyway
	if err := errors.Join(os.CopyFS(dir, scripts), os.WriteFile(filepath.Join(dir, "node.asl.json"), statemachines.Node, 0o600)); err != nil {
		return nil, err
	}
	cmd := exec.Command("python3", append([]string{"-B", filepath.Join(dir, "starter.py")}, arguments...)...)
	cmd.Env = append(os.Environ(), "AWS_DEFAULT_REGION="+Region)
	cmd.Stderr = os.Stderr
	wanted, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if _, err := startTied(cmd); err != nil {
		return nil, err
	}
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		return nil, fmt.Errorf("it ended before it was ready: %w", err)
	}
	return &template{wanted: wanted}, nil
}

// copyLimit bounds how long a copy may take to come and to go.
const copyLimit = time.Minute

// start starts moto on a port that is free now; the endpoint is empty if it
// ended, or if it isn't moto that listens there.
func (a ask) start(tb testing.TB) (endpoint string) {
	tb.Helper()
	addresses, err := testport.Free(1)
	if err != nil {
		tb.Fatal(err)
	}
	life := a.copy(tb, addresses[0])
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(logged{tb}, life) // its end is all that there is to know
		close(ended)
	}()
	tb.Cleanup(func() {
		_ = errors.Join(life.CloseWrite(), life.SetReadDeadline(time.Now().Add(copyLimit))) // it may have ended
		<-ended
		_ = life.Close()
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
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// copy has a copy made that listens at an address, and gives the connection that
// the copy lives as long as, and writes to.
func (a ask) copy(tb testing.TB, address string) *net.TCPConn {
	tb.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		err = listener.SetDeadline(time.Now().Add(copyLimit))
	}
	if err != nil {
		tb.Fatal(err)
	}
	if err := a(port, listener.Addr().(*net.TCPAddr).Port); err != nil {
		tb.Fatalf("start moto: %v", err)
	}
	life, err := listener.AcceptTCP()
	if err != nil {
		tb.Fatalf("moto didn't start: %v", err)
	}
	return life
}

// logged writes what moto says to the test's log.
type logged struct{ tb testing.TB }

// Write writes some lines (io.Writer).
func (l logged) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if l.tb.Context().Err() == nil {
			l.tb.Log("moto: ", strings.TrimRight(line, "\n"))
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
		Region: Region, BaseEndpoint: aws.String(endpoint), HTTPClient: awshttp.Client(nil),
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, "test", ""),
	}
}
