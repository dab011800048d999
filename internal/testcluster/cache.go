package testcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CacheDir is where built tools and the shared cluster live: $SLIPWAY_CACHE, or the user's cache folder with
// "slipway" under it, so that every checkout on a machine uses what one of them has built.
func CacheDir() (string, error) {
	if dir := os.Getenv("SLIPWAY_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache folder (SLIPWAY_CACHE names one): %w", err)
	}
	return filepath.Join(dir, "slipway"), nil
}

// Root finds the checkout that holds dir: the nearest folder upwards with the control plane's module in it.
func Root(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, kubernetesModule, "go.mod"))
		switch {
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case at == filepath.Dir(at):
			return "", fmt.Errorf("no %s/go.mod in %s or above it: run this inside a checkout", kubernetesModule, dir)
		}
	}
}
