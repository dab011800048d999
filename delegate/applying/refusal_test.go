package applying

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// What a cluster refuses is told apart by what cures it.
func TestClassify(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	forbidden := func(why string) error { return apierrors.NewForbidden(pods, "p", errors.New(why)) }
	owner := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: `conflict with "kubectl"`}}, "Apply failed")
	tests := []struct {
		name, want string
		err        error
		code       fault.Code
		failure    fault.FailureType
	}{
		{"rights", "may not do this; grant it", forbidden(`User "x" cannot create resource "pods"`), fault.Forbidden, fault.Authorization},
		{"a quota", "quota doesn't allow it", forbidden("exceeded quota: small, requested: pods=2"), fault.Conflict, fault.Unknown},
		{"a quota that nothing was counted for yet", "quota is being counted", forbidden("status unknown for quota: small, resources: pods"), fault.Unavailable, fault.Connectivity},
		{"a rule", "a rule of the cluster", forbidden(`violates PodSecurity "restricted:latest"`), fault.Invalid, fault.ConfigurationFailure},
		{"a namespace that goes", "namespace is being deleted", forbidden("unable to create new content in namespace x because it is being terminated"), fault.Conflict, fault.Unknown},
		{"a namespace that isn't there", "the namespace shop doesn't exist", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), fault.NotFound, fault.ConfigurationFailure},
		{"something else that isn't there", "the cluster: pods \"p\" not found", apierrors.NewNotFound(pods, "p"), fault.NotFound, fault.ConfigurationFailure},
		{"another owner", `1 fields belong to another owner: .spec.replicas (conflict with "kubectl")`, owner, fault.Conflict, fault.Unknown},
		{"credentials", "refused the credentials", apierrors.NewUnauthorized("no"), fault.Unauthenticated, fault.Authentication},
		{"no cluster", "can't be reached", &url.Error{Op: "Get", Err: errors.New("refused")}, fault.Unavailable, fault.Connectivity},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Classify(tt.err)
			if !strings.Contains(got.Error(), tt.want) || !errors.Is(got, tt.err) {
				t.Errorf("it says %q; want %q and the cause", got, tt.want)
			}
			if code := fault.CodeOf(got); code != tt.code || fault.Failures(got)[0] != tt.failure {
				t.Errorf("code %s and failures %v; want %s and %s", code, fault.Failures(got), tt.code, tt.failure)
			}
		})
	}
}
