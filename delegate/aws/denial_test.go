package aws

import (
	"context"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// What AWS's user guide of IAM shows of messages is told apart by what has to be
// changed, and by whom.
func TestDenials(t *testing.T) {
	t.Parallel()
	const user, deployments = "User: arn:aws:iam::123456789012:user/JohnDoe is not authorized to perform: ", "codedeploy:ListDeployments on resource: arn:aws:codedeploy:us-east-1:123456789012:deploymentgroup:* "
	const organization = ": only who administers the organization can change that"
	for message, want := range map[string]string{
		user + "codecommit:ListRepositories with an explicit deny in a service control policy":                                                                      "it is a service control policy of the organization that denies it, not the role's own" + organization,
		user + "codecommit:ListRepositories because no service control policy allows the codecommit:ListRepositories action":                                        "no service control policy of the organization allows it" + organization,
		user + "s3:GetObject with an explicit deny in a resource control policy":                                                                                    "it is a resource control policy of the organization that denies it, not the role's own" + organization,
		user + "codecommit:ListRepositories because no VPC endpoint policy allows the codecommit:ListRepositories action":                                           "the policy of the VPC endpoint that the delegate reaches AWS by has to allow it, too",
		user + deployments + "with an explicit deny in a VPC endpoint policy":                                                                                       "the policy of the VPC endpoint that the delegate reaches AWS by denies it, whatever the caller's own policies allow",
		user + deployments + "because no permissions boundary allows the codedeploy:ListDeployments action":                                                         "the caller's permissions boundary has to allow it, too",
		user + "sagemaker:ListModels with an explicit deny in a permissions boundary":                                                                               "the caller's permissions boundary denies it, whatever its other policies allow",
		user + "codecommit:ListRepositories because no session policy allows the codecommit:ListRepositories action":                                                "the session policy that the caller's credentials were made with has to allow it, too",
		user + deployments + "with an explicit deny in a sessions policy":                                                                                           "the session policy that the caller's credentials were made with denies it",
		user + "secretsmanager:GetSecretValue because no resource-based policy allows the secretsmanager:GetSecretValue action":                                     "the policy of the resource itself has to allow it to the caller",
		user + "secretsmanager:GetSecretValue on resource: arn:aws:secretsmanager:us-east-1:123456789012:secret:* with an explicit deny in a resource-based policy": "the policy of the resource itself denies it, whatever the caller's own policies allow",
		user + "sts:AssumeRole because the role trust policy allows the sts:AssumeRole action":                                                                      "the trust policy of the role has to name the caller", // as the guide has it
		user + "sts:AssumeRole with an explicit deny in the role trust policy":                                                                                      "the trust policy of the role denies it to the caller",
		user + "codecommit:ListRepositories because no identity-based policy allows the codecommit:ListRepositories action":                                         "no policy of the caller allows it: add the action to one of them",
		user + deployments + "with an explicit deny in an identity-based policy":                                                                                    "a policy of the caller has a Deny for it: an Allow beside that changes nothing",
		"User: arn:aws:sts::111122223333:assumed-role/role-name/role-session-name is not authorized to perform: SNS:Publish on resource: arn:aws:sns:us-east-1:444455556666:role-name-2 \nwith an explicit deny in a VPC endpoint policy transitively through a service control policy": "it is a service control policy of the organization that denies it, not the role's own" + organization,
		"You are not authorized to perform this operation. Encoded authorization failure message: 4GIOHlTkIaWHQD0Q0m6XSnuUMCm":                                                                                                                                                          "what denies it is encoded: who may call sts:DecodeAuthorizationMessage can read it",
		// Services that don't say why.
		"User: arn:aws:iam::123456789012:user/marymajor is not authorized to perform: iam:PassRole": "",
		"Access Denied": "",
	} {
		err := failed(t.Context(), "ecs:CreateService", answered(400, "AccessDeniedException", message), func(context.Context) string { return "arn:aws:sts::1:x" })
		head := "ecs:CreateService: AccessDeniedException: " + message
		if want != "" {
			want = "; " + want
		}
		if got := strings.TrimPrefix(err.Error(), head); got != want+"; the caller is arn:aws:sts::1:x (request r-1)" {
			t.Errorf("of %q it says %q; want %q", message, got, want)
		}
		if got := fault.Failures(err)[0]; got != fault.Authorization {
			t.Errorf("%q is %s", message, got)
		}
	}
	// What isn't a denial has no such hint, whatever it names.
	if err := failed(t.Context(), "iam:x", answered(400, "ValidationError", "a role with an explicit deny in a permissions boundary"), nil); strings.Contains(err.Error(), "caller's") {
		t.Errorf("a wrong request says %q", err)
	}
}
