package entity_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/connector/secretmanager"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// What is taken and changes nothing is said to, and never fails a save.
func TestWhatHasNoEffectIsWarnedOf(t *testing.T) {
	t.Parallel()
	connector := func(typ, spec string) string {
		return "connector: {identifier: c, name: c, type: " + typ + ", spec: {" + spec + "}}"
	}
	const (
		github = "url: https://github.com/acme, type: Account, authentication: {type: Http, spec: {type: Anonymous}}"
		vault  = "vaultUrl: http://v, secretEngineName: kv, authToken: t"
		aws    = "region: eu-west-1, credential: {type: AssumeIAMRole}"
		stage  = "pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Deployment, failureStrategies: [{onFailure: {errors: [AllErrors], " +
			"action: {type: StageRollback}}}], spec: {deploymentType: Kubernetes, service: {serviceRef: a, SERVICE}, environment: {environmentRef: e, " +
			"infrastructureDefinitions: [{identifier: i}], ENVIRONMENT}, execution: {steps: [{step: {identifier: a, name: a, type: Wait}}]}}}}]}"
		trigger = "trigger: {identifier: t, name: t, orgIdentifier: default, projectIdentifier: default_project, pipelineIdentifier: p, " +
			"source: {type: Webhook, spec: {type: Custom, spec: {}}}, "
	)
	for key, doc := range map[string]string{
		"ignoreTestConnection":           connector("Github", github+", ignoreTestConnection: true"),
		"apiAccess":                      connector("Github", github+", apiAccess: {type: GithubApp, spec: {privateKeyRef: t}}"),
		"branchName":                     connector("Git", "url: http://g, connectionType: Repo, type: Http, branchName: main, spec: {}"),
		"secretNamePrefix":               connector("AwsSecretManager", aws+", secretNamePrefix: a"),
		"usePutSecret":                   connector("AwsSecretManager", aws+", usePutSecret: true"),
		"forceDeleteWithoutRecovery":     connector("AwsSecretManager", aws+", forceDeleteWithoutRecovery: true"),
		"recoveryWindowInDays":           connector("AwsSecretManager", aws+", recoveryWindowInDays: 7"),
		"default":                        connector("AwsSecretManager", aws+", default: true"),
		"basePath":                       connector("Vault", vault+", basePath: /a"),
		"readOnly":                       connector("Vault", vault+", readOnly: true"),
		"renewalIntervalMinutes":         connector("Vault", vault+", renewalIntervalMinutes: 10"),
		"enableCache":                    connector("Vault", vault+", enableCache: true"),
		"secretEngineManuallyConfigured": connector("Vault", vault+", secretEngineManuallyConfigured: true"),
		"service.gitBranch":              strings.Replace(strings.Replace(stage, "SERVICE", "gitBranch: main", 1), ", ENVIRONMENT", "", 1),
		"environment.gitBranch":          strings.Replace(strings.Replace(stage, ", SERVICE", "", 1), "ENVIRONMENT", "gitBranch: main", 1),
		"pipelineBranchName":             trigger + "pipelineBranchName: <+trigger.branch>}",
		"inputSetBranchName":             trigger + "inputSetBranchName: main}",
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			_, report := decode("", []byte(doc), project)
			got := report.Findings()
			if len(got) != 1 || got[0].Code != "NO_EFFECT" || got[0].Severity != yamldoc.Warning || !strings.HasSuffix(got[0].Path, key) {
				t.Errorf("found\n%s\nwant one warning NO_EFFECT about %s", lines(report), key)
			}
		})
	}
}

// Harness's documents say how one logs in to Vault by accessType, by a flag, or by both.
func TestVaultAccess(t *testing.T) {
	t.Parallel()
	for spec, tt := range map[string]struct{ want, finding string }{
		"authToken: t": {want: "TOKEN"},
		"accessType: APP_ROLE, appRoleId: a, secretId: b":             {want: "APP_ROLE"},
		"useVaultAgent: true, sinkPath: /t":                           {want: "VAULT_AGENT"},
		"useVaultAgent: true":                                         {want: "VAULT_AGENT", finding: `key "sinkPath" is missing`},
		"useK8sAuth: true, vaultK8sAuthRole: r":                       {want: "K8s_AUTH"},
		"useVaultAgent: false, authToken: t":                          {want: "TOKEN"},
		"useAwsIam: true":                                             {want: "AWS_IAM", finding: "the access AWS_IAM (useAwsIam) isn't supported yet"},
		"useJwtAuth: true":                                            {want: "JWT", finding: "the access JWT (useJwtAuth) isn't supported yet"},
		"accessType: K8s_AUTH, useK8sAuth: true, vaultK8sAuthRole: r": {want: "K8s_AUTH"},
		"accessType: TOKEN, authToken: t, useK8sAuth: true":           {want: "TOKEN", finding: "found useK8sAuth beside the access TOKEN"},
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			doc := "connector: {identifier: c, name: c, type: Vault, spec: {vaultUrl: http://v, secretEngineName: kv, " + spec + "}}"
			entities, report := decode("", []byte(doc), project)
			if vault, ok := entities[0].Connector.Spec.(*secretmanager.Vault); !ok || vault.Access != tt.want {
				t.Errorf("the connector is %+v; want the access %s", entities[0].Connector.Spec, tt.want)
			}
			if got := lines(report); tt.finding == "" && got != "" || !strings.Contains(got, tt.finding) {
				t.Errorf("found %q; want %q", got, tt.finding)
			}
		})
	}
}

// The groups of all users are in Harness's documents, often beside others. They
// have no members here, so a rule that names nothing else is refused.
func TestTheGroupOfAllUsersIsToldNothing(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"userGroups: [account._account_all_users, ops]":                     "warning: nobody is told by account._account_all_users",
		"userGroups: [_project_all_users], recipients: [a@example.com]":     "warning: nobody is told by _project_all_users",
		"userGroups: [org._organization_all_users]":                         "nobody would be told; want recipients or userGroups",
		"userGroups: [account._account_all_users, _project_all_users, ops]": "warning: nobody is told by _project_all_users",
	} {
		doc := "pipeline: {identifier: p, name: p, notificationRules: [{name: r, identifier: r, enabled: true, pipelineEvents: [{type: AllEvents}], " +
			"notificationMethod: {type: Email, spec: {" + spec + "}}}], stages: [{stage: {identifier: s, name: s, type: Custom, " +
			"spec: {execution: {steps: [{step: {identifier: a, name: a, type: Wait}}]}}}}]}"
		entities, report := decode("", []byte(doc), project)
		if got := lines(report); !strings.Contains(got, want) || report.Failed() != strings.HasPrefix(want, "nobody would") {
			t.Errorf("%s: found\n%s\nwant %s", spec, got, want)
		}
		for _, g := range entities[0].Pipeline.NotificationRules[0].Method.Groups {
			if strings.HasSuffix(g, "_all_users") {
				t.Errorf("%s: %s would be told", spec, g)
			}
		}
	}
}
