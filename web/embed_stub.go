//go:build !console

package web

import (
	"embed"
	"io/fs"
)

//go:embed all:stub
var stub embed.FS

// Built says whether the console is in this program.
const Built = false

// files are a page that says where the console is.
func files() fs.FS {
	f, err := fs.Sub(stub, "stub")
	if err != nil { // the name is no path
		return stub
	}
	return f
}
