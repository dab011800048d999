package awslambda

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// A download that fails says why, and not its address: that is the right to read
// the code.
func TestDownloadsThatFail(t *testing.T) {
	t.Parallel()
	answer := func(status int, body io.Reader) answers {
		return func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(body), Request: r}, nil
		}
	}
	for want, transport := range map[string]answers{
		"download the code of version 3: no route to host": func(*http.Request) (*http.Response, error) { return nil, errors.New("no route to host") },
		"download the code of version 3: Forbidden":        answer(http.StatusForbidden, strings.NewReader("")),
		"download the code of version 3: broken off":       answer(http.StatusOK, iotest.ErrReader(errors.New("broken off"))),
	} {
		s := &session{http: &http.Client{Transport: transport}}
		_, err := s.codeOf(t.Context(), &lambda.GetFunctionOutput{
			Code:          &types.FunctionCodeLocation{Location: sdk.String("https://code.example.com/web?signature=hush")},
			Configuration: &types.FunctionConfiguration{Version: sdk.String("3")},
		})
		if err == nil || err.Error() != want {
			t.Errorf("it ended with %v; want %s", err, want)
		}
	}
}
