//go:build console

package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Built says whether the console is in this program.
const Built = true

// files are the console's.
func files() fs.FS {
	f, err := fs.Sub(dist, "dist")
	if err != nil { // the name is no path
		return dist
	}
	return f
}
