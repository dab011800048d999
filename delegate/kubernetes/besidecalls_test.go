package kubernetes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/manifest"
)

// A chart as "helm create" makes it has one name for all of its objects: pods
// call the service by its common name, and all else keeps the colour's.
func TestCall(t *testing.T) {
	t.Parallel()
	const pod = `
serviceAccountName: rel-blue-web
serviceAccount: rel-blue-web
subdomain: CALLED
imagePullSecrets: [{name: rel-blue-web}]
hostAliases: [{ip: 127.0.0.1, hostnames: [CALLED]}]
dnsConfig: {searches: [CALLED.default.svc]}
initContainers:
- name: rel-blue-web
  command: [wait, "CALLED:80", "--to=CALLED.default.svc.cluster.local"]
containers:
- name: rel-blue-web
  image: registry/rel-blue-web:1
  args: ["--upstream=http://CALLED/", --other=rel-blue-web-db]
  env:
  - {name: SELF, value: "http://CALLED:80"}
  - {name: rel-blue-web, value: plain}
  - {name: KEY, valueFrom: {secretKeyRef: {name: rel-blue-web, key: rel-blue-web}}}
  - {name: CONFIG, valueFrom: {configMapKeyRef: {name: rel-blue-web, key: a}}}
  envFrom: [{configMapRef: {name: rel-blue-web}}, {secretRef: {name: rel-blue-web}}]
  livenessProbe: {httpGet: {host: CALLED, path: /, port: 80, httpHeaders: [{name: Host, value: CALLED}]}}
  lifecycle: {preStop: {exec: {command: [curl, CALLED]}}}
  volumeMounts: [{name: rel-blue-web, mountPath: /rel-blue-web}]
volumes:
- {name: rel-blue-web, configMap: {name: rel-blue-web}}
- {name: b, secret: {secretName: rel-blue-web}}
- {name: c, persistentVolumeClaim: {claimName: rel-blue-web}}
- {name: d, projected: {sources: [{configMap: {name: rel-blue-web}}, {secret: {name: rel-blue-web}}]}}
- {name: e, nfs: {server: CALLED, path: /rel-blue-web}}
- {name: f, csi: {driver: secrets, volumeAttributes: {secretProviderClass: rel-blue-web}}}
`
	spec := func(called string) map[string]any {
		m, err := manifest.Decode(replaceWord(pod, "CALLED", called, ""))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, kind := range []string{"Deployment", "CronJob", "Pod"} {
		o := &unstructured.Unstructured{Object: map[string]any{"kind": kind}}
		set(o, spec("rel-blue-web"), podSpecPath(kind)...)
		call([]*unstructured.Unstructured{o}, map[string]string{"rel-blue-web": "rel-web"})
		got, _, _ := unstructured.NestedMap(o.Object, podSpecPath(kind)...)
		if diff := cmp.Diff(spec("rel-web"), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}
