package nativehelm

import (
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/helmbgdeploy"
	"github.com/slipway-cd/slipway/pkg/step/helmbluegreenswapstep"
	"github.com/slipway-cd/slipway/pkg/step/helmcanarydelete"
	"github.com/slipway-cd/slipway/pkg/step/helmcanarydeploy"
	"github.com/slipway-cd/slipway/pkg/step/helmdelete"
	"github.com/slipway-cd/slipway/pkg/step/helmdeploy"
	"github.com/slipway-cd/slipway/pkg/step/helmrollback"
)

// Steps lists the step types of its stages.
func Steps() []step.Type {
	return []step.Type{
		helmbgdeploy.Type(),
		helmbluegreenswapstep.Type(),
		helmcanarydelete.Type(),
		helmcanarydeploy.Type(),
		helmdelete.Type(),
		helmdeploy.Type(),
		helmrollback.Type(),
	}
}
