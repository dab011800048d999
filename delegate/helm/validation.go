package helm

import (
	"helm.sh/helm/v4/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/openapi/cached"
	"k8s.io/kubectl/pkg/validation"

	"github.com/slipway-cd/slipway/delegate/kubernetes"
)

// factory is Helm's access to a cluster, but for one thing: that a cluster
// checks the fields of a kind by itself is found out once and not for every
// revision. It takes reading the cluster's whole API, which is longer than all
// else that Helm does for a small chart.
type factory struct {
	kube.Factory
	cluster *kubernetes.Foreign
}

// Validator checks objects as Helm's own does: by the cluster's API if the
// cluster won't do it.
func (f factory) Validator(directive string) (validation.Schema, error) {
	own, err := f.Factory.Validator(directive)
	if err != nil || directive != metav1.FieldValidationStrict {
		return own, err
	}
	objects, err := f.DynamicClient()
	if err != nil {
		return nil, err
	}
	kinds, err := f.cluster.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	asked := resource.NewQueryParamVerifierV3(objects, cached.NewClient(kinds.OpenAPIV3()), resource.QueryParamFieldValidation)
	return validation.NewParamVerifyingSchema(own, verifier{f.cluster, asked}, directive), nil
}

// verifier remembers the kinds whose fields the cluster checks.
type verifier struct {
	cluster *kubernetes.Foreign
	asked   resource.Verifier
}

// HasSupport says whether the cluster checks a kind. Where that can't be found
// out Helm's own way decides.
func (v verifier) HasSupport(kind schema.GroupVersionKind) error {
	if !v.cluster.Checks(kind, func() bool { return v.asked.HasSupport(kind) == nil }) {
		return resource.NewParamUnsupportedError(kind, resource.QueryParamFieldValidation)
	}
	return nil
}
