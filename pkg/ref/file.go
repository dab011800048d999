package ref

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// File names a file or a folder of the file store (semantics/entities §10.1): a
// path in a scope. The path begins with "/" and doesn't end with one; that of
// a scope's root is "/".
type File struct {
	Scope Scope
	Path  string
}

// String is the scope and the path, e.g. "acme/default/web:/manifests/web.yaml".
func (f File) String() string { return f.Scope.String() + ":" + f.Path }

// Text is the reference as a document of the given scope writes it.
func (f File) Text(from Scope) string {
	switch {
	case f.Scope == from:
		return f.Path
	case f.Scope.Org == "":
		return "account:" + f.Path
	}
	return "org:" + f.Path
}

// Folder is what the paths of the files in a folder begin with.
func (f File) Folder() string { return strings.TrimSuffix(f.Path, "/") + "/" }

// Of says how a file is called within f: its path below f where that is a
// folder, its own name where f is the file itself.
func (f File) Of(path string) string {
	if path == f.Path {
		return path[strings.LastIndexByte(path, '/')+1:]
	}
	return strings.TrimPrefix(path, f.Folder())
}

// ParseFile reads a reference as written in a document of the given scope:
// "/path" is in that scope, "org:/path" in its organization, "account:/path"
// in its account.
func ParseFile(text string, from Scope) (File, error) {
	prefix, path, found := strings.Cut(text, ":")
	if !found {
		prefix, path = "", text
	}
	path, err := cleanPath(path)
	if err != nil {
		return File{}, fmt.Errorf("%q isn't a file of the file store: %w", text, err)
	}
	switch {
	case !found:
		return File{Scope: from, Path: path}, nil
	case prefix == "account":
		return File{Scope: Scope{Account: from.Account}, Path: path}, nil
	case prefix == "org" && from.Org == "":
		return File{}, fmt.Errorf("%q names an organization's file, but it stands in an account's", text)
	case prefix == "org":
		return File{Scope: Scope{Account: from.Account, Org: from.Org}, Path: path}, nil
	}
	return File{}, fmt.Errorf("%q has the scope %q; want account:, org: or none", text, prefix)
}

// The bounds of paths in the file store: two in bytes, and how many names one
// may have. Each folder around a file is a condition of its deletion, and a
// transaction takes a hundred.
const (
	maxPath    = 512
	maxSegment = 128
	maxDepth   = 40
)

// CheckFile checks the path of a file that is saved.
func CheckFile(path string) error {
	clean, err := cleanPath(path)
	switch {
	case err != nil:
		return err
	case clean != path || path == "/":
		return fmt.Errorf("path %q has no file's name at its end", path)
	}
	return nil
}

// cleanPath checks a path, and takes the slash from a folder's end.
func cleanPath(path string) (string, error) {
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("path %q doesn't begin with /", path)
	}
	if len(path) > maxPath {
		return "", fmt.Errorf("the path has %d bytes; the limit is %d", len(path), maxPath)
	}
	if path == "/" {
		return path, nil
	}
	path = strings.TrimSuffix(path, "/")
	if n := strings.Count(path, "/"); n > maxDepth {
		return "", fmt.Errorf("the path has %d names; the limit is %d", n, maxDepth)
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if err := checkSegment(part); err != nil {
			return "", err
		}
	}
	return path, nil
}

// checkSegment checks a folder's or a file's name: one that every file system
// takes, because delegates write it to one.
func checkSegment(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("two slashes stand side by side in the path")
	case name == "." || name == "..":
		return fmt.Errorf("%q is no name of a file or a folder", name)
	case len(name) > maxSegment:
		return fmt.Errorf("the name %q has %d bytes; the limit is %d", name, len(name), maxSegment)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f || strings.ContainsRune(`\:*?"<>|`, c) }):
		return fmt.Errorf(`the name %q has a character that no name may have: one of \:*?"<>| or a control character`, name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("the name %q begins or ends with a space", name)
	}
	return nil
}
