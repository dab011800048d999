// Command checksamples says of every entity in a checkout of sample YAML
// whether Slipway accepts it. It is for developers: samples are kept outside
// of this repository.
package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step/builtin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: checksamples FOLDER...")
		os.Exit(2)
	}
	failed, err := run(os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// run checks the folders and gives the number of files with errors.
func run(out io.Writer, folders []string) (int, error) {
	checked, failed := 0, 0
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
			checked++
			verdict := "ok  "
			if report.Failed() {
				verdict = "FAIL"
				failed++
			}
			fmt.Fprintf(out, "%s %s (%s)\n", verdict, path, strings.Join(kinds, ", "))
			for _, f := range report.Findings() {
				fmt.Fprintf(out, "     %s\n", f)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	fmt.Fprintf(out, "%d files with entities, %d with errors\n", checked, failed)
	return failed, nil
}

func isYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yml" || ext == ".yaml"
}

// check decodes the entities of a file and names their kinds; none if it has
// none, as manifests and templates of charts do.
func check(path string, data []byte) ([]string, *yamldoc.Report) {
	docs, report := yamldoc.Parse(path, data)
	options := entity.Options{
		Scope:     ref.Scope{Account: "default", Org: "default", Project: "default_project"},
		CheckStep: builtin.Check,
	}
	var kinds []string
	for _, doc := range docs {
		for _, k := range ref.Kinds() {
			// Values of a chart may have a key such as "service" as well.
			if doc.At(string(k), "identifier") != nil {
				kinds = append(kinds, string(k))
				entity.Decode(doc, report, options)
			}
		}
	}
	return kinds, report
}
