package harnessapproval

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
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
	// ServiceAccounts are references.
	ServiceAccounts []string
}

func decodeApprovers(v yamldoc.Value, d *document.Decoder) approvers {
	var a approvers
	d.Fields(v, document.Keys{
		"minimumCount": func(e yamldoc.Value) {
			a.Minimum = d.Int(e)
			if a.Minimum.Set && a.Minimum.Expr == "" && a.Minimum.Value < 1 {
				d.Errorf(e, "WRONG_VALUE", "found %d; want 1 or more", a.Minimum.Value)
			}
		},
		"disallowPipelineExecutor": d.Flag(&a.NotExecutor),
		"userGroups": func(e yamldoc.Value) {
			a.Groups = step.Texts(e, d)
			for _, g := range a.Groups {
				if !plan.EverybodysGroup(g) {
					checkName("user group", g, e, d)
				}
			}
		},
		"serviceAccounts": func(e yamldoc.Value) {
			a.ServiceAccounts = step.Texts(e, d)
			for _, account := range a.ServiceAccounts {
				checkName("service account", account, e, d)
			}
		},
		"disallowedUserEmails": func(e yamldoc.Value) { a.Refused = step.Texts(e, d) },
	})
	if v.Is(yamldoc.Mapping) {
		d.Missing(v, "minimumCount")
		if len(a.ServiceAccounts) == 0 {
			d.Missing(v, "userGroups")
		}
		if g := v.Node.Get("userGroups"); g != nil && g.Kind != yamldoc.Null && len(a.Groups) == 0 && len(a.ServiceAccounts) == 0 {
			d.Errorf(v, "WRONG_VALUE", "userGroups is empty; want at least one group")
		}
	}
	return a
}

// checkName checks how something that approves is spelled. Whether there is such a thing
// is known when the step starts.
func checkName(what, name string, at yamldoc.Value, d *document.Decoder) {
	if strings.Contains(name, "<+") {
		return
	}
	if _, err := ref.Parse(name, ref.Scope{Org: "org", Project: "project"}); err != nil {
		d.Errorf(at, "WRONG_VALUE", "%s %s", what, err)
	}
}
