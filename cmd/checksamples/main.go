// Command checksamples says of every entity in a checkout of sample YAML
// whether Slipway accepts it, refuses it for what docs/compatibility.md lists,
// or finds a mistake in it. It is for developers: samples are kept outside of
// this repository.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func main() {
	page := flag.String("page", filepath.Join("docs", "compatibility.md"), "the page that lists what is refused")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: checksamples [-page FILE] FOLDER...")
		os.Exit(2)
	}
	listed, err := os.ReadFile(*page)
	if err == nil {
		var wrong int
		if wrong, err = run(os.Stdout, string(listed), flag.Args()); err == nil && wrong > 0 {
			os.Exit(1)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// run checks the folders and gives the number of files with mistakes.
func run(out io.Writer, listed string, folders []string) (int, error) {
	count := map[verdict]int{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !isYAML(path) {
				return err
			}
			data, err := os.ReadFile(path) //nolint:gosec // the developer names the folder
			if err != nil {
				return err
			}
			kinds, report := check(path, data)
			if len(kinds) == 0 {
				return nil
			}
			v := judge(report, listed)
			count[v]++
			fmt.Fprintf(out, "%-8s %s (%s)\n", v, path, strings.Join(kinds, ", "))
			for _, f := range report.Findings() {
				fmt.Fprintf(out, "         %s\n", f)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	fmt.Fprintf(out, "%d files accepted, %d refused, %d wrong\n", count[accepted], count[refused], count[wrong])
	return count[wrong], nil
}

// verdict is what becomes of a file.
type verdict string

const (
	accepted verdict = "accepted"
	refused  verdict = "refused" // for something that the page lists, and nothing else
	wrong    verdict = "WRONG"
)

func judge(r *yamldoc.Report, listed string) verdict {
	v := accepted
	for _, f := range r.Findings() {
		switch {
		case f.Severity == yamldoc.Warning:
		case f.Code != "UNSUPPORTED" || !lists(listed, f.Message):
			return wrong
		default:
			v = refused
		}
	}
	return v
}

var unsupported = regexp.MustCompile(`^(.+ )?(\S+) (isn't|aren't) supported yet`)

// lists says whether the page has a reason, or the word that it is about.
func lists(page, reason string) bool {
	if strings.Contains(page, reason) {
		return true
	}
	m := unsupported.FindStringSubmatch(reason)
	return m != nil && regexp.MustCompile(`\b`+regexp.QuoteMeta(m[2])+`\b`).MatchString(page)
}

func isYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yml" || ext == ".yaml"
}

// check decodes the entities of a file and names their kinds; none if it has
// none, as manifests and templates of charts do.
func check(path string, data []byte) ([]string, *yamldoc.Report) {
	docs, report := yamldoc.Parse(path, data)
	var kinds []string
	for _, doc := range docs {
		for _, k := range ref.Kinds() {
			// Values of a chart may have a key such as "service" as well.
			if body := doc.Get(string(k)); body.Get("identifier") != nil {
				kinds = append(kinds, string(k))
				entity.Decode(doc, report, builtin.Options(scope(doc)))
			}
		}
	}
	return kinds, report
}

// scope is where a sample wants to live.
func scope(doc *yamldoc.Node) ref.Scope {
	s := entity.ScopeOf(doc, ref.Scope{Account: "default"})
	return ref.Scope{Account: s.Account, Org: cmp.Or(s.Org, "default"), Project: cmp.Or(s.Project, "default_project")}
}
