package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// decoder is what the parts of a document's decoder share: what it is checked
// against, and what it has named so far. Each part decodes what belongs together,
// and knows only those that stand in it.
type decoder struct {
	*document.Decoder
	options    Options
	kind       ref.Kind
	references []Reference
	stored     []FileReference
	barriers   []yamldoc.Value // the barrierRefs of the steps, as far as they are known
}

// The parts, each with those it decodes by.
type (
	pipelines     struct{ *decoder } // and their stages: by deployments, steps and notifications
	deployments   struct{ *decoder } // what a stage deploys, and where: by services and steps
	steps         struct{ *decoder } // and their groups, loops and failure strategies
	containers    struct{ *decoder } // where the steps of a containerized group run
	services      struct{ *decoder } // their manifests, artifacts and files
	environments  struct{ *decoder } // groups of them, infrastructure definitions and overrides: by services
	triggers      struct{ *decoder } // by inputSets
	inputSets     struct{ *decoder }
	notifications struct{ *decoder }
	settings      struct{ *decoder } // connectors, secrets, variables and user groups: by services and notifications
	roles         struct{ *decoder } // and who has them over what
	logins        struct{ *decoder } // by whom people log in: by roles
	agents        struct{ *decoder } // of GitOps, and what they keep as Argo CD says it
	templates     struct{ *decoder } // by all whose documents may be one
)
