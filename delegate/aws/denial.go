package aws

import (
	"regexp"
	"strings"
)

// reason is why AWS denies a call, as it says it: a policy denies it, or none of its
// sort allows it. Services word it alike; some say nothing.
var reason = regexp.MustCompile(`(?i)(?:(with an explicit deny in) (?:an? |the )|because (?:no|the) )` +
	`(service control policy|resource control policy|vpc endpoint policy|permissions boundary|sessions? policy|resource-based policy|role trust policy|identity-based policy)`)

// through is said where a policy counts by another one.
const through = "transitively through a service control policy"

// hint is where to look for what a message of AWS denies; empty: it doesn't say why.
func hint(message string) string {
	if strings.Contains(message, "Encoded authorization failure message") {
		return "what denies it is encoded: who may call sts:DecodeAuthorizationMessage can read it"
	}
	found := reason.FindStringSubmatch(message)
	if found == nil {
		return ""
	}
	denied, policy := found[1] != "", strings.ToLower(found[2])
	if strings.Contains(message, through) {
		denied, policy = true, "service control policy"
	}
	switch policy {
	case "service control policy":
		return pick(denied, "it is a service control policy of the organization that denies it, not the role's own: only who administers the organization can change that",
			"no service control policy of the organization allows it: only who administers the organization can change that")
	case "resource control policy":
		return pick(denied, "it is a resource control policy of the organization that denies it, not the role's own: only who administers the organization can change that",
			"no resource control policy of the organization allows it: only who administers the organization can change that")
	case "vpc endpoint policy":
		return pick(denied, "the policy of the VPC endpoint that the delegate reaches AWS by denies it, whatever the caller's own policies allow",
			"the policy of the VPC endpoint that the delegate reaches AWS by has to allow it, too")
	case "permissions boundary":
		return pick(denied, "the caller's permissions boundary denies it, whatever its other policies allow", "the caller's permissions boundary has to allow it, too")
	case "resource-based policy":
		return pick(denied, "the policy of the resource itself denies it, whatever the caller's own policies allow", "the policy of the resource itself has to allow it to the caller")
	case "role trust policy":
		return pick(denied, "the trust policy of the role denies it to the caller", "the trust policy of the role has to name the caller")
	case "identity-based policy":
		return pick(denied, "a policy of the caller has a Deny for it: an Allow beside that changes nothing", "no policy of the caller allows it: add the action to one of them")
	}
	return pick(denied, "the session policy that the caller's credentials were made with denies it", "the session policy that the caller's credentials were made with has to allow it, too")
}

func pick(denied bool, explicit, implicit string) string {
	if denied {
		return explicit
	}
	return implicit
}
