package render

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// askFolder has the parent look into a folder of the source.
const askFolder = "folder"

// seenFolder is what is in a folder of the source, with the texts of its files: one
// question for each folder is enough.
type seenFolder struct {
	Missing bool                `json:"missing,omitempty"`
	Path    string              `json:"path"` // without links
	Entries map[string]seenFile `json:"entries"`
}

// seenFile is a file or a folder in a folder.
type seenFile struct {
	Path   string `json:"path"` // without links
	Folder bool   `json:"folder,omitempty"`
	Text   []byte `json:"text,omitempty"`
}

// answer looks into folders for a child. What is looked at doesn't count as read:
// the child says in the end what it needed.
func (j *job) answer(own *source.Files) func(ctx context.Context, name string, question json.RawMessage) (any, error) {
	own = own.Aside()
	left := maxManifests
	return func(ctx context.Context, name string, question json.RawMessage) (any, error) {
		var at string
		if err := json.Unmarshal(question, &at); err != nil {
			return nil, err
		}
		if name == askRemote {
			return j.bring(ctx, at)
		}
		if at == remotes { // whose folders are there when they are asked for
			out := seenFolder{Path: at, Entries: map[string]seenFile{}}
			for i := range j.remotes {
				number := strconv.Itoa(i)
				out.Entries[number] = seenFile{Path: path.Join(remotes, number), Folder: true}
			}
			return out, nil
		}
		files, at, prefix := j.placed(own, at)
		return look(ctx, files, at, prefix, &left)
	}
}

// look gives what is in a folder, whose paths begin with a prefix for the child. The
// texts come out of what is left for all of them.
func look(ctx context.Context, files *source.Files, at, prefix string, left *int) (seenFolder, error) {
	folder, err := files.Find(ctx, at)
	if fault.Is(err, fault.NotFound) || err == nil && !folder.Folder {
		return seenFolder{Missing: true}, nil
	}
	if err != nil {
		return seenFolder{}, err
	}
	entries, err := files.List(ctx, folder)
	if err != nil {
		return seenFolder{}, err
	}
	out := seenFolder{Path: path.Join(prefix, folder.Path), Entries: map[string]seenFile{}}
	var names []string
	var all []source.File
	for name, e := range entries {
		out.Entries[name] = seenFile{Path: path.Join(prefix, e.Path), Folder: e.Folder}
		if !e.Folder {
			names, all = append(names, name), append(all, e)
		}
	}
	texts, err := files.Read(ctx, *left, all...)
	if err != nil {
		return seenFolder{}, fault.Wrap(err, "folder %s", folder.Path)
	}
	for i, name := range names {
		*left -= len(texts[i])
		out.Entries[name] = seenFile{Path: path.Join(prefix, all[i].Path), Text: texts[i]}
	}
	return out, nil
}

// asked are the files of a source in the child.
type asked struct {
	call    sandbox.Call
	folders map[string]*seenFolder
	touched map[string]bool
}

func newAsked(c sandbox.Call) *asked {
	return &asked{call: c, folders: map[string]*seenFolder{}, touched: map[string]bool{}}
}

// find gives what is at a path from the topmost folder; nil if nothing is.
func (a *asked) find(at string) (*seenFile, error) {
	at = path.Clean(strings.TrimLeft(at, "/"))
	a.touched[at] = true
	if at == "." {
		return &seenFile{Path: ".", Folder: true}, nil
	}
	above := path.Dir(at)
	folder := a.folders[above]
	if folder == nil {
		folder = &seenFolder{}
		if err := a.call.Ask(askFolder, above, folder); err != nil {
			return nil, err
		}
		a.folders[above] = folder
	}
	e, ok := folder.Entries[path.Base(at)]
	if folder.Missing || !ok {
		return nil, nil //nolint:nilnil // nothing there is an answer
	}
	return &e, nil
}

// read are all paths of the source that were looked at.
func (a *asked) read() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a.touched)), func(at string) bool { return strings.HasPrefix(at, remotes) })
}
