// Package mail sends mail from the delegate's network: the executor of Email
// steps (semantics/pipeline §7.6).
//
// A step has ended when the mail server has taken the message. Whether it
// arrives isn't known to anybody here. SMTP is pkg/mail's.
package mail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Unit is the command unit of a message's log.
const Unit = "Execute"

// New makes the executor.
func New(sender mail.Sender) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		p, err := executor.Payload[mail.Task](a)
		if err != nil {
			return task.Result{}, err
		}
		id := sha256.Sum256([]byte(a.ID))
		m := mail.Message{
			ID: hex.EncodeToString(id[:16]), Date: time.Now(), To: p.To, CC: p.CC, Subject: p.Subject, HTML: true, Body: p.HTML,
		}
		fmt.Fprintf(env.Log(Unit), "Sending %q to %s through %s\n", p.Subject, strings.Join(append(p.To, p.CC...), ", "), p.Server.Host)
		if err := sender.Send(ctx, p.Server, m); err != nil {
			if ctx.Err() != nil {
				return task.Result{}, context.Cause(ctx)
			}
			fmt.Fprintln(env.LogError(Unit), err)
			if p.FireAndForget {
				return task.Result{Status: task.Succeeded, Message: err.Error()}, nil
			}
			return executor.Fail(fault.Failures(err), "%s", err), nil
		}
		fmt.Fprintln(env.Log(Unit), "The mail server has taken the message.")
		return task.Result{Status: task.Succeeded}, nil
	}
}
