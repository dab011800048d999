package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"good.yaml":          "service: {name: a, identifier: a}\n",
		"more/bad.yml":       "service: {name: a, identifier: a-b}\n",
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
	failed, err := run(&out, []string{folder})
	want := "ok   " + folder + "/good.yaml (service)\n" +
		"FAIL " + folder + "/more/bad.yml (service)\n" +
		"     " + folder + `/more/bad.yml:1:32 identifier: identifier "a-b" is wrong: it must start with a letter or _, and have at most 128 letters, digits, _ and $ [BAD_IDENTIFIER]` + "\n" +
		"2 files with entities, 1 with errors\n"
	if err != nil || failed != 1 || out.String() != want {
		t.Errorf("%d failed, %v:\n%s\nwant:\n%s", failed, err, out.String(), want)
	}
}
