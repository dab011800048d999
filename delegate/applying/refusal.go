package applying

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// untyped is how the server refuses fields that a kind doesn't have; it calls
// that an error of its own.
const untyped = "failed to create typed patch object"

// Classify gives an error of the API its failure type
// (semantics/pipeline §5.1), and a message that says what can be done.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	var coded *fault.Error
	var netErr *url.Error
	switch {
	case errors.As(err, &coded), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case apierrors.IsUnauthorized(err):
		return fault.New(fault.Unauthenticated, "the cluster refused the credentials: %w", err)
	case apierrors.IsForbidden(err):
		return forbidden(err)
	case MissingNamespace(err) != "":
		return fault.New(fault.NotFound, "the namespace %s doesn't exist; create it, or have the manifests bring it: %w", MissingNamespace(err), err)
	case apierrors.IsNotFound(err):
		return fault.New(fault.NotFound, "the cluster: %w", err)
	case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return owned(err)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return fault.New(fault.Conflict, "the cluster: %w", err)
	case strings.Contains(err.Error(), "admission webhook") && strings.Contains(err.Error(), "denied the request"):
		return fault.New(fault.Invalid, "a rule of the cluster: %w", err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), strings.Contains(err.Error(), untyped):
		return fault.New(fault.Invalid, "the cluster: %w", err)
	case apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), errors.As(err, &netErr):
		return fault.New(fault.Unavailable, "the cluster can't be reached: %w", err)
	}
	return fmt.Errorf("the cluster: %w", err)
}

// forbidden tells a lack of rights from the other reasons for which a cluster
// forbids something: quotas and admission rules, which no credentials cure.
func forbidden(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "status unknown for quota"): // a new one, which its controller hasn't counted for yet
		return fault.New(fault.Unavailable, "the namespace's quota is being counted: %w", err)
	case strings.Contains(text, "exceeded quota"), strings.Contains(text, "failed quota"):
		return fault.New(fault.Conflict, "the namespace's quota doesn't allow it: %w", err).Causing(fault.Unknown)
	case strings.Contains(text, "because it is being terminated"):
		return fault.New(fault.Conflict, "the namespace is being deleted: %w", err).Causing(fault.Unknown)
	case strings.Contains(text, "cannot "): // what RBAC says
		return fault.New(fault.Forbidden, "the cluster's access may not do this; grant it to the account of the connector or the delegate: %w", err)
	case strings.Contains(text, "admission webhook"), strings.Contains(text, "violates PodSecurity"), strings.Contains(text, "ValidatingAdmissionPolicy"):
		return fault.New(fault.Invalid, "a rule of the cluster: %w", err)
	default:
		return fault.New(fault.Forbidden, "the cluster: %w", err)
	}
}

var namespaceNotFound = regexp.MustCompile(`namespaces "([^"]+)" not found`)

// MissingNamespace is the namespace for lack of which something is refused.
func MissingNamespace(err error) string {
	if !apierrors.IsNotFound(err) {
		return ""
	}
	if m := namespaceNotFound.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return ""
}

// owned says which fields belong to whom.
func owned(err error) error {
	var status apierrors.APIStatus
	var fields []string
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			fields = append(fields, c.Field+" ("+c.Message+")")
		}
	}
	return fault.New(fault.Conflict, "%d fields belong to another owner: %s; --force-conflicts among the step's flags takes them over: %w",
		len(fields), strings.Join(fields, ", "), err).Causing(fault.Unknown)
}

// About says which object an error is about; its code stays.
func About(o *unstructured.Unstructured, err error) error {
	var coded *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return fault.New(coded.Code, "%s: %w", display(o), err).Causing(coded.Failures...)
	}
	return fmt.Errorf("%s: %w", display(o), err)
}

// display is an object as people see it: Kind/name.
func display(o *unstructured.Unstructured) string { return o.GetKind() + "/" + o.GetName() }
