package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/k8sapply"
	"github.com/slipway-cd/slipway/pkg/step/k8sbgswapservices"
	"github.com/slipway-cd/slipway/pkg/step/k8sbluegreendeploy"
	"github.com/slipway-cd/slipway/pkg/step/k8sbluegreenstagescaledown"
	"github.com/slipway-cd/slipway/pkg/step/k8sbluegreenstagescaleup"
	"github.com/slipway-cd/slipway/pkg/step/k8scanarydelete"
	"github.com/slipway-cd/slipway/pkg/step/k8scanarydeploy"
	"github.com/slipway-cd/slipway/pkg/step/k8sdelete"
	"github.com/slipway-cd/slipway/pkg/step/k8sdiff"
	"github.com/slipway-cd/slipway/pkg/step/k8sdryrun"
	"github.com/slipway-cd/slipway/pkg/step/k8spatch"
	"github.com/slipway-cd/slipway/pkg/step/k8sprogressivecanaryrollback"
	"github.com/slipway-cd/slipway/pkg/step/k8srollingdeploy"
	"github.com/slipway-cd/slipway/pkg/step/k8srollingrollback"
	"github.com/slipway-cd/slipway/pkg/step/k8srollout"
	"github.com/slipway-cd/slipway/pkg/step/k8sscale"
	"github.com/slipway-cd/slipway/pkg/step/k8strafficrouting"
)

// Steps lists the step types of its stages.
func Steps() []step.Type {
	return []step.Type{
		k8sapply.Type(),
		k8sbgswapservices.Type(),
		k8sbluegreendeploy.Type(),
		k8sbluegreenstagescaledown.Type(),
		k8sbluegreenstagescaleup.Type(),
		k8scanarydelete.Type(),
		k8scanarydeploy.Type(),
		k8sdelete.Type(),
		k8sdiff.Type(),
		k8sdryrun.Type(),
		k8spatch.Type(),
		k8sprogressivecanaryrollback.Type(),
		k8srollingdeploy.Type(),
		k8srollingrollback.Type(),
		k8srollout.Type(),
		k8sscale.Type(),
		k8strafficrouting.Type(),
	}
}
