package origin

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseHelmFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command, flags string
		want                 HelmFlags
		err                  string
	}{
		{"none", HelmUpgrade, "", HelmFlags{HistoryMax: 10}, ""},
		{"quotes hold together", HelmUpgrade, `--set a="b c" --set-string 'd=e f' --set-literal g=h\ i`,
			HelmFlags{HistoryMax: 10, Set: []string{"a=b c"}, SetString: []string{"d=e f"}, SetLiteral: []string{"g=h i"}}, ""},
		{"Helm 3's names", HelmInstall, "--atomic --force --wait", HelmFlags{RollbackOnFailure: true, Force: true, Wait: "watcher"}, ""},
		{"Helm 4's names", HelmInstall, "--rollback-on-failure --force-replace --wait=legacy", HelmFlags{RollbackOnFailure: true, Force: true, Wait: "legacy"}, ""},
		{"a history", HelmRollback, "--history-max 3 --timeout 5m", HelmFlags{HistoryMax: 3, HistoryMaxGiven: true, Timeout: 5 * time.Minute}, ""},
		{"a list and short names", HelmTemplate, "-f a.yaml,b.yaml -s x -a v1", HelmFlags{Values: []string{"a.yaml", "b.yaml"}, ShowOnly: []string{"x"}, APIVersions: []string{"v1"}}, ""},
		{"another command's", HelmUninstall, "--set a=b", HelmFlags{}, "unknown flag: --set of the command Uninstall"},
		{"a version", HelmVersion, "--short --client", HelmFlags{Short: true}, ""},
		{"a template of a version", HelmVersion, "--template={{.Version}}", HelmFlags{}, "unknown flag: --template"},
		{"a list", HelmList, "--filter ^web -m 5 --failed --pending -r", HelmFlags{NameFilter: "^web", Max: 5, Statuses: []string{"failed", "pending"}, Reverse: true}, ""},
		{"a list by a wrong pattern", HelmList, "--filter (", HelmFlags{}, "--filter"},
		{"a list of all namespaces", HelmList, "--all-namespaces", HelmFlags{}, "unknown flag: --all-namespaces"},
		{"an update", HelmUpdate, "--fail-on-repo-update-fail --timeout 1m", HelmFlags{Timeout: time.Minute}, ""},
		{"a removal by its old name", HelmDelete, "--keep-history", HelmFlags{KeepHistory: true, Cascade: "background"}, ""},
		{"a command that isn't run", "Dance", "--short", HelmFlags{}, "no such command is run"},
		{"an open quote", HelmInstall, "--set 'a", HelmFlags{}, "a quote isn't closed"},
		{"no flag", HelmInstall, "chart", HelmFlags{}, `"chart" isn't a flag`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var list []CommandFlag
			if tt.flags != "" {
				list = []CommandFlag{{Command: tt.command, Flag: tt.flags}}
			}
			got, err := ParseHelmFlags(tt.command, list)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v; want an error about %s", err, tt.err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Words that were quoted come back as they were.
func FuzzSplitWords(f *testing.F) {
	f.Add("--set a='b c' \"d\" e\\ f")
	f.Add("'")
	f.Fuzz(func(t *testing.T, text string) {
		words, err := splitWords(text)
		if err != nil {
			return
		}
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		again, err := splitWords(strings.Join(quoted, " "))
		if diff := cmp.Diff(words, again); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
