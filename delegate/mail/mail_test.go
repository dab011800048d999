package mail_test

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	delegatemail "github.com/slipway-cd/slipway/delegate/mail"
	"github.com/slipway-cd/slipway/internal/testmail"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/task"
)

func payload(t *testing.T, s *testmail.Server) mail.Task {
	t.Helper()
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return mail.Task{
		Server: mail.Server{Host: host, Port: n, TLS: mail.StartTLS, From: "slipway@example.com", Username: "ann", Password: "pass"},
		To:     []string{"bob@example.com"}, CC: []string{"eve@example.com"}, Subject: "Deployed", HTML: "<b>done</b>",
	}
}

func TestMailIsTaken(t *testing.T) {
	t.Parallel()
	s := testmail.Start(t, testmail.Config{TLS: mail.StartTLS, Username: "ann", Password: "pass"})
	env := executortest.New(t, nil)
	r, err := delegatemail.New(mail.Sender{Roots: s.Roots})(t.Context(), executortest.Assignment(t, task.KindMail, payload(t, s)), env.Env)
	if err != nil || r.Status != task.Succeeded {
		t.Fatalf("%v, %+v", err, r)
	}
	got := s.Received()
	if len(got) != 1 || !strings.Contains(got[0].Text, "<b>done</b>") || !strings.Contains(got[0].Text, "text/html") {
		t.Errorf("received %+v", got)
	}
	if diff := cmp.Diff([]string{"bob@example.com", "eve@example.com"}, got[0].To); diff != "" {
		t.Errorf("recipients (-want +got):\n%s", diff)
	}
	want := "Sending \"Deployed\" to bob@example.com, eve@example.com through 127.0.0.1\nThe mail server has taken the message.\n"
	if diff := cmp.Diff(want, env.Text(delegatemail.Unit, executor.Info)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestMailIsRefused(t *testing.T) {
	t.Parallel()
	s := testmail.Start(t, testmail.Config{TLS: mail.StartTLS, Username: "ann", Password: "pass", Refuse: func(string) error {
		return &smtp.SMTPError{Code: 550, Message: "nobody here"}
	}})
	const message = "the mail server 127.0.0.1 refuses the recipient bob@example.com: 550 5.0.0 nobody here"
	for forget, want := range map[bool]task.Result{
		false: executor.Fail([]fault.FailureType{fault.ConfigurationFailure, fault.Unknown}, message),
		true:  {Status: task.Succeeded, Message: message},
	} {
		env, p := executortest.New(t, nil), payload(t, s)
		p.FireAndForget = forget
		r, err := delegatemail.New(mail.Sender{Roots: s.Roots})(t.Context(), executortest.Assignment(t, task.KindMail, p), env.Env)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("result, fireAndForget %v (-want +got):\n%s", forget, diff)
		}
		if diff := cmp.Diff(message+"\n", env.Text(delegatemail.Unit, executor.Error)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	}
}
