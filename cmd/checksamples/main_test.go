package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"good.yaml":          "service: {name: a, identifier: a}\n",
		"more/bad.yml":       "service: {name: a, identifier: a-b}\n",
		"more/refused.yaml":  "secret: {name: a, identifier: a, type: WinRmCredentials, spec: {type: NTLM}}\n",
		"more/values.yaml":   "service: {type: ClusterIP}\n",
		"more/manifest.yaml": "kind: Service\n",
		"more/template.yaml": "name: {{ .Values.name }}\n",
		"more/notes.txt":     "service: {name: a, identifier: a-b}\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	wrong, err := run(&out, "| secret | `secret.type` | SecretText | WinRmCredentials |", []string{folder})
	want := "accepted " + folder + "/good.yaml (service)\n" +
		"WRONG    " + folder + "/more/bad.yml (service)\n" +
		"         " + folder + `/more/bad.yml:1:32 identifier: identifier "a-b" can't have "-"; it may have letters, digits, _ and $ [BAD_IDENTIFIER]` + "\n" +
		"refused  " + folder + "/more/refused.yaml (secret)\n" +
		"         " + folder + "/more/refused.yaml:1:34 type: secret type WinRmCredentials isn't supported yet; want one of SecretText, SecretFile, SSHKey [UNSUPPORTED]\n" +
		"1 files accepted, 1 refused, 1 wrong\n"
	if diff := cmp.Diff(want, out.String()); err != nil || wrong != 1 || diff != "" {
		t.Errorf("%d wrong, %v (-want +got):\n%s", wrong, err, diff)
	}
}

func TestWhatThePageLists(t *testing.T) {
	t.Parallel()
	page := "Asg, Ssh | proxies of a connector aren't supported yet"
	for reason, want := range map[string]bool{
		"proxies of a connector aren't supported yet":                   true,
		"deployment type Ssh isn't supported yet; want Kubernetes":      true,
		"deployment type SshWinRm isn't supported yet; want Kubernetes": false,
		"sidecar artifacts aren't supported yet":                        false,
		"what nobody has thought of":                                    false,
	} {
		if got := lists(page, reason); got != want {
			t.Errorf("%q is listed: %v", reason, got)
		}
	}
}
