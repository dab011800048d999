package harnessapproval

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// approvers says who may approve, and how many must.
type approvers struct {
	Groups      []string
	Minimum     yamldoc.Field[int]
	NotExecutor yamldoc.Field[bool]
	Refused     []string // users
}

func decodeApprovers(v yamldoc.Value, r *yamldoc.Report) approvers {
	var a approvers
	for e := range r.Mapping(v) {
		switch e.Key {
		case "minimumCount":
			a.Minimum = r.Int(e)
			if a.Minimum.Set && a.Minimum.Expr == "" && a.Minimum.Value < 1 {
				r.Errorf(e, "WRONG_VALUE", "found %d; want 1 or more", a.Minimum.Value)
			}
		case "disallowPipelineExecutor":
			a.NotExecutor = r.Bool(e)
		case "userGroups":
			a.Groups = step.Texts(e, r)
			for _, g := range a.Groups {
				checkGroup(g, e, r)
			}
		case "serviceAccounts":
			if len(step.Texts(e, r)) > 0 {
				r.Unsupported(e, "approval by service accounts isn't supported yet; name userGroups")
			}
		case "disallowedUserEmails":
			a.Refused = step.Texts(e, r)
		default:
			r.Unknown(e, "minimumCount", "disallowPipelineExecutor", "userGroups", "serviceAccounts", "disallowedUserEmails")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "minimumCount", "userGroups")
		if g := v.Node.Get("userGroups"); g != nil && g.Kind != yamldoc.Null && len(a.Groups) == 0 {
			r.Errorf(v, "WRONG_VALUE", "userGroups is empty; want at least one group")
		}
	}
	return a
}

// checkGroup checks how a group's name is spelled. Whether there is one is
// known when the step starts.
func checkGroup(name string, at yamldoc.Value, r *yamldoc.Report) {
	if plan.EverybodysGroup(name) || strings.Contains(name, "<+") {
		return
	}
	if _, err := ref.Parse(name, ref.Scope{Org: "org", Project: "project"}); err != nil {
		r.Errorf(at, "WRONG_VALUE", "user group %s", err)
	}
}
