package render_test

import (
	"fmt"
	"testing"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// BenchmarkDirectory renders 1,000 plain objects; the goal is 150 ms.
func BenchmarkDirectory(b *testing.B) {
	s := newSite(b)
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("app/%d.yaml", i)] = fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-%d\n  labels: {app: web, tier: front}\nspec:\n  replicas: 3\n  selector:\n    matchLabels: {app: web-%d}\n  template:\n    metadata:\n      labels: {app: web-%d}\n    spec:\n      containers:\n      - name: web\n        image: nginx:1.27\n        ports:\n        - containerPort: 80\n        resources:\n          requests: {cpu: 100m, memory: 64Mi}\n", i, i, i)
	}
	s.host.Commit(files)
	q := s.request(b, gitops.Source{Path: "app"})
	q.Hard = true
	for b.Loop() {
		if got, err := s.Render(b.Context(), q); err != nil || len(got.Objects) != 1000 {
			b.Fatal(len(got.Objects), err)
		}
	}
}

// BenchmarkMonorepo looks at 1,000 applications after a push that touches one.
func BenchmarkMonorepo(b *testing.B) {
	s := newSite(b)
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("apps/%d/app.yaml", i)] = config(fmt.Sprint("config-", i))
	}
	s.host.Commit(files)
	have := map[int]string{}
	push := func(n int) (rendered int) {
		q := s.request(b, gitops.Source{Path: "apps"})
		for i := range 1000 {
			one := q
			one.Sources = []gitops.Source{{RepoURL: s.host.URL, Path: fmt.Sprint("apps/", i)}}
			one.Have = have[i]
			got, err := s.Render(b.Context(), one)
			if err != nil {
				b.Fatal(err)
			}
			have[i] = got.Key
			if got.Rendered {
				rendered++
			}
		}
		return rendered
	}
	push(0)
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		s.host.Commit(map[string]string{"apps/7/app.yaml": config(fmt.Sprint("changed-", n))})
		b.StartTimer()
		if rendered := push(n); rendered != 1 {
			b.Fatalf("%d applications were rendered; want 1", rendered)
		}
	}
}
