package resolve

import (
	"encoding/base64"
	"slices"
	"unicode/utf8"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// configFile is the content of a config file of what the stage deploys, its
// expressions resolved: the file of the last layer that has one of that name.
func (in files) configFile(id string, encoded bool) (expr.Value, error) {
	d, err := in.scope.deployments().of(in.scope.Node.Stage())
	if err != nil {
		return expr.Null(), fault.New(fault.Invalid, "config file %q: %w", id, err)
	}
	for _, layer := range slices.Backward(d.layers) {
		i := slices.IndexFunc(layer.configFiles, func(f entity.ConfigFile) bool { return f.Identifier.Text == id })
		if i < 0 {
			continue
		}
		v, err := in.configText(layer.configFiles[i], encoded)
		if err != nil {
			return expr.Null(), fault.Wrap(err, "config file %q", id)
		}
		return v, nil
	}
	return expr.Null(), fault.New(fault.UnresolvedExpression, "there is no config file %q", id)
}

// configText is the content of the one file in a config file's store.
func (in files) configText(file entity.ConfigFile, encoded bool) (expr.Value, error) {
	id, typ := file.Identifier.Text, file.Store.Type.Text
	if typ == filesource.Inline {
		return in.content(id, file.Store.Content.Text, encoded)
	}
	store, err := in.scope.tree(file.StoreDoc, "store")
	if err != nil {
		return expr.Null(), err
	}
	from, err := in.scope.Store(filesource.Decode(document.New(yamldoc.NewReport("").Resolved()), yamldoc.Sub(store, "store"), filesource.Form{
		Stores: append(filesource.Git(), filesource.Harness),
	}))
	if err != nil {
		return expr.Null(), err
	}
	switch {
	case from.Git != nil && len(from.Git.Paths) == 1:
		return in.scope.secrets.lateText(task.LateText{Name: "config file " + id, Git: from.Git, Stage: in.stagePin(), Base64: encoded}), nil
	case from.Files != nil && len(from.Files.Paths) == 1:
		return in.text(from.Files.Paths[0], encoded)
	case from.Files != nil && len(from.Files.Secrets) == 1:
		// An encrypted file is taken as it is (semantics/entities §2.5).
		v := expr.SecretRef(from.Files.Secrets[0].Text)
		if encoded {
			v = in.scope.secrets.lateText(task.LateText{Name: "config file " + id, Text: v.Text(), Base64: true})
		}
		return v, nil
	case from.Git != nil || from.Files != nil:
		return expr.Null(), fault.New(fault.Invalid, "its store names several files; an expression reads one")
	}
	return expr.Null(), fault.New(fault.Unsupported, "a store of the type %s can't be read here", typ)
}

// stagePin names the stage of an execution: for all of its steps a branch is
// the same commit.
func (in files) stagePin() string {
	var stage plan.NodeID
	if n := in.scope.Node.Stage(); n != nil {
		stage = n.ID
	}
	return in.scope.Execution.ID + string(stage)
}

// text is the content of a file of the file store, by its path as written
// (semantics/entities §10.1), its expressions resolved.
func (in files) text(path string, encoded bool) (expr.Value, error) {
	of, err := in.scope.documents().file(path)
	if err != nil {
		return expr.Null(), err
	}
	content, err := in.scope.documents().storedText(of)
	if err != nil {
		return expr.Null(), err
	}
	switch {
	case utf8.ValidString(content):
		return in.content("file "+path, content, encoded)
	case encoded:
		return expr.String(base64.StdEncoding.EncodeToString([]byte(content))), nil
	}
	return expr.Null(), fault.New(fault.Invalid, "file %s isn't text; getAsBase64 gives it", path)
}

// storedText is the content of a file of the file store as it was saved.
func (d documents) storedText(of ref.File) (string, error) {
	if d.files == nil {
		return "", fault.New(fault.Unsupported, "files of the file store can't be read here")
	}
	return filestore.Text(d.ctx, d.files, of, task.MaxText)
}

// File is the text of a file of the file store for a step, such as a script.
func (s *Scope) File(path string) (string, error) {
	v, err := s.files().text(path, false)
	return v.Text(), err
}

// content is a file's text with its expressions resolved. One with a secret in
// it is encoded by the delegate.
func (in files) content(name, content string, encoded bool) (expr.Value, error) {
	v, err := in.scope.value(content)
	switch {
	case err != nil:
		return expr.Null(), err
	case len(v.Text()) > task.MaxText:
		return expr.Null(), fault.New(fault.TooLarge, "it has %d bytes; the limit is %d", len(v.Text()), task.MaxText)
	case !encoded:
		return v, nil
	case v.Secret():
		return in.scope.secrets.lateText(task.LateText{Name: name, Text: v.Text(), Base64: true}), nil
	}
	return expr.String(base64.StdEncoding.EncodeToString([]byte(v.Text()))), nil
}
