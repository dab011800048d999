// Command sbom writes down what a Go program was built from, as an SPDX 2.3 document.
//
//	sbom PROGRAM DOCUMENT VERSION DATE
//
// It reads the list of modules that the Go linker put into the program: what is in it, not what a go.mod allows.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: sbom PROGRAM DOCUMENT VERSION DATE, with the date as in 2026-01-02T03:04:05Z")
	}
	program, document := args[0], args[1]
	date, err := time.Parse(time.RFC3339, args[3])
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	info.Main.Version = args[2] // a checkout doesn't know what it will be called
	sum, err := digest(program)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(describe(filepath.Base(document), sum, date, info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(document, append(text, '\n'), 0o600)
}

func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// The parts of an SPDX document that are used here, by the names that the standard gives them.
type (
	spdx struct {
		Version       string        `json:"spdxVersion"`
		License       string        `json:"dataLicense"` // the document's own
		ID            string        `json:"SPDXID"`
		Name          string        `json:"name"`
		Namespace     string        `json:"documentNamespace"`
		Creation      creation      `json:"creationInfo"`
		Packages      []spdxPackage `json:"packages"`
		Relationships []relation    `json:"relationships"`
	}
	creation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID        string     `json:"SPDXID"`
		Name      string     `json:"name"`
		Version   string     `json:"versionInfo"`
		Location  string     `json:"downloadLocation"`
		Analyzed  bool       `json:"filesAnalyzed"`
		Concluded string     `json:"licenseConcluded"`
		Declared  string     `json:"licenseDeclared"`
		Copyright string     `json:"copyrightText"`
		Comment   string     `json:"comment,omitempty"`
		Checksums []checksum `json:"checksums,omitempty"`
		Refs      []external `json:"externalRefs"`
	}
	checksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	external struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	relation struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const documentID = "SPDXRef-DOCUMENT"

// describe lists the program, with the checksum sum, the Go version and every module that is in it.
func describe(name, sum string, date time.Time, info *buildinfo.BuildInfo) spdx {
	doc := spdx{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: documentID, Name: name,
		Namespace: "https://" + info.Main.Path + "/sbom/" + sum,
		Creation:  creation{Created: date.UTC().Format(time.RFC3339), Creators: []string{"Tool: slipway-sbom"}},
	}
	main := module(0, info.Main.Path, info.Main.Version)
	main.Checksums = []checksum{{"SHA256", sum}}
	doc.Packages = append(doc.Packages, main, module(1, "stdlib", strings.TrimPrefix(info.GoVersion, "go")))
	for _, m := range info.Deps {
		p := module(len(doc.Packages), m.Path, m.Version)
		if r := m.Replace; r != nil {
			p = module(len(doc.Packages), r.Path, r.Version)
			m = &debug.Module{Sum: r.Sum}
		}
		if m.Sum != "" {
			p.Comment = "The Go checksum database has it as " + m.Sum
		}
		doc.Packages = append(doc.Packages, p)
	}
	doc.Relationships = append(doc.Relationships, relation{documentID, "DESCRIBES", main.ID})
	for _, p := range doc.Packages[1:] {
		doc.Relationships = append(doc.Relationships, relation{main.ID, "CONTAINS", p.ID})
	}
	return doc
}

// module is the n-th package of a document.
func module(n int, path, version string) spdxPackage {
	const unknown = "NOASSERTION"
	return spdxPackage{
		ID: fmt.Sprintf("SPDXRef-%d", n), Name: path, Version: version,
		Location: unknown, Concluded: unknown, Declared: unknown, Copyright: unknown,
		Refs: []external{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")}},
	}
}
