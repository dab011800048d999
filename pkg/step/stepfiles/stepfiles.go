// Package stepfiles knows where the example and the cases of a step type stand:
// in the folder of the type, or in one of its name below the testdata of its
// lane or provisioner. Who holds all types against something, such as their pages, asks here.
// The cases themselves are pkg/step/steptest's.
package stepfiles

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Files are what a step type is shown and tested by.
type Files struct {
	Example string // a pipeline that uses the type
	Cases   string // the folder of its txtar files
}

// cases is the folder of a lane, or of a provisioner, in which each of its step
// types has one.
const cases = "testdata"

// Own are the files of a type that has a folder of its own.
func Own(folder string) Files {
	return Files{Example: filepath.Join(folder, "example.yaml"), Cases: filepath.Join(folder, "testdata")}
}

// Shared are those of a type in the folder of its lane or provisioner.
func Shared(owner, typ string) Files {
	folder := filepath.Join(owner, cases, strings.ToLower(typ))
	return Files{Example: filepath.Join(folder, "example.yaml"), Cases: folder}
}

// All finds those of every step type, by the types' names in small letters.
// root is the module's folder.
func All(root string) (map[string]Files, error) {
	all := map[string]Files{}
	find := func(pattern string, of func(folder string) Files) error {
		folders, err := filepath.Glob(filepath.Join(root, "pkg", filepath.FromSlash(pattern), "example.yaml"))
		if err != nil {
			return fmt.Errorf("find the examples of step types: %w", err)
		}
		for _, example := range folders {
			folder := filepath.Dir(example)
			name := filepath.Base(folder)
			if other, twice := all[name]; twice {
				return fmt.Errorf("the step type %s has two examples: %s and %s", name, other.Example, example)
			}
			all[name] = of(folder)
		}
		return nil
	}
	if err := find("step/*", Own); err != nil {
		return nil, err
	}
	for _, owners := range []string{"swimlane", "provisioner"} {
		err := find(owners+"/*/"+cases+"/*", func(folder string) Files {
			return Shared(filepath.Dir(filepath.Dir(folder)), filepath.Base(folder))
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
