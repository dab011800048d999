package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// complain shows an error: the places that are wrong if it names any, else
// its sentence, and what to do next.
func complain(w io.Writer, err error) {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Details) == 0 {
		fmt.Fprintln(w, "error:", err)
	} else {
		for _, d := range f.Details {
			fmt.Fprintln(w, finding(d))
		}
		if f.Code != fault.Invalid {
			fmt.Fprintln(w, "error:", err)
		}
	}
	if next := advice(fault.CodeOf(err)); next != "" {
		fmt.Fprintln(w, next)
	}
}

// advice is what to do about an error.
func advice(code fault.Code) string {
	switch code {
	case fault.Unauthenticated:
		return "Give a token with --token or SLIPWAY_TOKEN, or correct the one in the config file; \"slipway token create NAME\" makes one,\n" +
			"and without any token \"slipway serve --new-token\" on the server's machine."
	case fault.ExpiredToken:
		return "Make another with \"slipway token create NAME\"; \"slipway token list\" says when each ends."
	case fault.Forbidden:
		return "Use a token of the right kind and for the right scope; --org and --project say which scope is meant."
	case fault.NotFound:
		return "\"slipway get KIND\" and \"slipway executions\" list what there is; --org and --project say where to look."
	case fault.Frozen:
		return "Wait until the freeze ends, or say why it must be now: \"slipway run PIPELINE --override-freeze 'why'\"."
	case fault.PolicyDenied:
		return "Change what the messages name; \"slipway get policySet\" and \"slipway get policy ID -o yaml\" show what is asked."
	case fault.StaleVersion:
		return "Get it again with \"slipway get KIND ID -o yaml\", make the change anew, and save that."
	case fault.Referenced:
		return "Change or delete what refers to it first."
	case fault.Unavailable:
		return "Is the server running, and is --server right? \"slipway serve\" starts one on this machine."
	case fault.StorageFull:
		return "Make room on the disk of the server's data folder; what was saved is whole, and the server goes on by itself."
	case fault.Invalid, fault.Conflict, fault.Unsupported, fault.UnresolvedExpression, fault.LeaseLost, fault.TooLarge, fault.TooMany, fault.Internal:
	}
	return ""
}

// finding is one wrong place as people and editors read it, e.g.
// "a.yaml:15:19: error: stages[0].stage.type: unknown ... [UNKNOWN_STAGE_TYPE]".
func finding(d fault.Detail) string {
	out := ""
	switch {
	case d.Line > 0:
		out = fmt.Sprintf("%s:%d:%d: ", orStdin(d.File), d.Line, d.Column)
	case d.File != "":
		out = d.File + ": "
	}
	if d.Severity != "" {
		out += d.Severity + ": "
	}
	if d.Path != "" {
		out += d.Path + ": "
	}
	out += d.Message
	if d.Code != "" {
		out += " [" + d.Code + "]"
	}
	return out
}

func orStdin(file string) string {
	if file == "" {
		return "document"
	}
	return file
}
