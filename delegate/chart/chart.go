// Package chart is the Helm chart of a delegate, for programs that install one; what
// "helm install" reads is the folder itself. Rendering it is left to delegate/helm/chart.
package chart

import "embed"

// Files are the chart's.
//
//go:embed Chart.yaml values.yaml templates
var Files embed.FS
