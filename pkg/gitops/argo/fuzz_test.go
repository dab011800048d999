package argo_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/gitops/argo"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// FuzzDocument reads anything as a document of Argo CD. What is right stays what it
// is when it is written anew and read again.
func FuzzDocument(f *testing.F) {
	for _, pattern := range []string{"ok/gitops*.yaml", "err/gitops*.yaml"} {
		paths, err := filepath.Glob(filepath.Join("..", "..", "entity", "testdata", pattern))
		if err != nil || len(paths) == 0 {
			f.Fatal("no documents: ", err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			for _, part := range yamldoc.Cut(data) {
				f.Add(part.Text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, ok := decoded(data)
		if !ok {
			return
		}
		again, ok := decoded(yamldoc.Format(first.Doc, nil))
		if !ok {
			t.Fatalf("written anew it is wrong:\n%s", yamldoc.Format(first.Doc, nil))
		}
		for _, pair := range [][2]any{
			{first.Application, again.Application}, {first.AppProject, again.AppProject}, {first.Repository, again.Repository}, {first.Cluster, again.Cluster},
			{first.Certificates, again.Certificates}, {first.Keys, again.Keys}, {first.Settings, again.Settings}, {len(first.Values.Found), len(again.Values.Found)},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Errorf("read it is\n%+v; written anew\n%+v", pair[0], pair[1])
			}
		}
	})
}

// decoded is a document of Argo CD without anything wrong.
func decoded(data []byte) (*entity.Entity, bool) {
	docs, report := yamldoc.Parse("", data)
	if len(docs) != 1 || !argo.Is(docs[0]) {
		return nil, false
	}
	o := builtin.Options(ref.Scope{Account: "acme"})
	o.Agent = "eu1"
	e := entity.Decode(docs[0], report, o)
	return e, e != nil && !report.Failed()
}
