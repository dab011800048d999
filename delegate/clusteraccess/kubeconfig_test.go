package clusteraccess

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/task"
)

// What is written for other programs is read as it was meant, and nobody else
// may read it.
func TestKubeconfigsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cluster task.Cluster
		want    access
	}{
		"a token": {
			task.Cluster{URL: "https://c", Token: "t", CAPEM: "ca"},
			access{url: "https://c", token: "t", ca: []byte("ca"), cert: []byte{}, key: []byte{}},
		},
		"a certificate": {
			task.Cluster{URL: "https://c", ClientCertPEM: "cert", ClientKeyPEM: "key"},
			access{url: "https://c", ca: []byte{}, cert: []byte("cert"), key: []byte("key")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, _, err := WriteKubeconfig(t.Context(), tt.cluster, t.TempDir(), func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			doc, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := readKubeconfig(doc)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(access{})); diff != "" {
				t.Errorf("access (-want +got):\n%s", diff)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}
		})
	}
}
