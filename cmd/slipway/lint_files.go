package main

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// unmetFiles gives the files that documents name and that a server's file
// store doesn't have. Without a server nothing is known of it.
func (l *linter) unmetFiles(ctx context.Context, docs []document) ([]fault.Detail, error) {
	if !l.caller.asksServer() {
		return nil, nil
	}
	client, _, err := l.caller.connect()
	if err != nil {
		return nil, err
	}
	there := map[ref.File]bool{}
	var wrong []fault.Detail
	for _, d := range docs {
		if d.entity == nil {
			continue
		}
		for _, f := range d.entity.Files {
			if _, asked := there[f.File]; !asked {
				if there[f.File], err = storedFile(ctx, client, f.File); err != nil {
					return nil, err
				}
			}
			if !there[f.File] {
				wrong = append(wrong, d.place(fault.Detail{
					Path: f.At.Path, Line: f.At.Line, Column: f.At.Column, Severity: "error",
					Code: "UNKNOWN_REFERENCE", Message: fmt.Sprintf("there is no file or folder %q on the server", f.Text),
				}))
			}
		}
	}
	return wrong, nil
}

// storedFile asks a server whether it has a file or a folder.
func storedFile(ctx context.Context, client *apiclient.Client, f ref.File) (bool, error) {
	within, _, err := client.Files(ctx, f, apiclient.Page{Limit: 1})
	if err != nil || len(within) > 0 || f.Path == "/" {
		return len(within) > 0, err
	}
	_, err = client.File(ctx, f)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}
