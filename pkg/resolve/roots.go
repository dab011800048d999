package resolve

import "slices"

// Roots are the names that a path may begin with
// (semantics/pipeline §3.5, §3.6), besides the identifiers of stages and
// steps. Some have a value only in some steps, loops or notifications.
func Roots() []string {
	return append([]string{
		"pipeline", "stages", "stage", "execution", "steps", "stepGroup", "step", "spec",
		"strategy", "matrix", "repeat", "account", "org", "project", "variable",
		"trigger", "eventPayload", "codebase", "event", "inputSet", "input", "executionInput", "notification",
		"kubernetes", "instance", "approval", "issue", "ticket", "output", "pcf",
		"secrets", "configFile", "fileStore", "exportedVariables", "json", "xml", "regex", "shell",
		"httpResponseCode", "httpResponseBody", "httpMethod", "httpUrl",
		"OnPipelineSuccess", "OnPipelineFailure", "OnStageSuccess", "OnStageFailure", "Always",
	}, deployedRoots()...)
}

// deployedRoots are those of what a stage deploys where.
func deployedRoots() []string {
	return []string{
		"service", "serviceVariables", "serviceVariableOverrides", "serviceConfig", "env", "infra", "infrastructure",
		"artifact", "artifacts", "primary", "rollbackArtifact", "lastPublished", "manifests", "manifest", "manifestConfig",
		"INFRA_KEY", "INFRA_KEY_SHORT_ID", "provisioner",
	}
}

// Deploys says whether a path with this root has a value only in a stage that
// deploys something.
func Deploys(root string) bool { return slices.Contains(deployedRoots(), root) }
