package testcluster

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// pins is the list of what is downloaded; see the file.
//
//go:embed published.txt
var pins string

// Published is a program as its publisher offers it: the file itself, or an archive (.tar.gz) with the program in it.
type Published struct {
	Platform string // such as linux/amd64
	Program  string // its name, also in the archive
	Address  string
	SHA256   string // of what is at the address, in hexadecimal
}

// published is the list of pins.
func published() ([]Published, error) {
	var list []Published
	for line := range strings.Lines(pins) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if len(words) != 4 {
			return nil, fmt.Errorf("published.txt: found %q, want a checksum, a platform, a program and an address", line)
		}
		list = append(list, Published{SHA256: words[0], Platform: words[1], Program: words[2], Address: words[3]})
	}
	return list, nil
}

// The bounds of a download. The largest program has some 100 MB. A publisher that can't be reached costs less than a
// build; one that is slow may take as long as a build takes.
const (
	maxDownload  = 256 << 20
	connectLimit = 10 * time.Second // to reach the publisher, and again for its answer
	stallLimit   = 20 * time.Second // without a single byte
	wholeLimit   = 5 * time.Minute
)

// downloader fetches what publishers offer. Nothing of it is opened before its checksum has been compared.
type downloader struct {
	client *http.Client
	stall  time.Duration
	most   int64 // bytes
}

// newDownloader goes through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name.
func newDownloader() downloader {
	return downloader{
		client: &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: connectLimit}).DialContext,
			TLSHandshakeTimeout:   connectLimit,
			ResponseHeaderTimeout: connectLimit,
			ForceAttemptHTTP2:     true,
		}},
		stall: stallLimit,
		most:  maxDownload,
	}
}

// program puts what p is into the folder dir, under the program's name, and says how many bytes came. There is
// no such file unless all of it came and was the right one.
func (d downloader) program(ctx context.Context, p Published, dir string) (size int64, err error) {
	temp, err := os.CreateTemp(dir, p.Program+".*.partial")
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = temp.Close()
		_ = os.Remove(temp.Name()) // it isn't there any more if all went well
	}()
	size, sum, err := d.fetch(ctx, p.Address, temp)
	if err != nil {
		return 0, err
	}
	if sum != p.SHA256 {
		return 0, fmt.Errorf("wrong checksum: %s (%d bytes) has the SHA-256 %s; want %s. It was thrown away", path.Base(p.Address), size, sum, p.SHA256)
	}
	whole := temp
	if strings.HasSuffix(p.Address, ".tar.gz") {
		if whole, err = d.unpack(temp, p.Program, dir); err != nil {
			return 0, fmt.Errorf("unpack %s: %w", path.Base(p.Address), err)
		}
		defer func() { _ = os.Remove(whole.Name()) }()
	}
	if err := errors.Join(whole.Chmod(0o755), whole.Close()); err != nil {
		return 0, err
	}
	return size, os.Rename(whole.Name(), filepath.Join(dir, p.Program))
}

// fetch writes what is at an address to w, and gives its size and its checksum.
func (d downloader) fetch(ctx context.Context, address string, w io.Writer) (size int64, sum string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return 0, "", reason(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return 0, "", fmt.Errorf("the answer was %s", resp.Status)
	}
	stalled := time.AfterFunc(d.stall, func() { cancel(fmt.Errorf("nothing came for %s", d.stall)) })
	defer stalled.Stop()
	hash := sha256.New()
	read := func(b []byte) (int, error) {
		n, err := resp.Body.Read(b)
		if n > 0 {
			stalled.Reset(d.stall)
		}
		return n, err
	}
	size, err = io.Copy(io.MultiWriter(w, hash), io.LimitReader(reader(read), d.most+1))
	switch {
	case err != nil:
		return 0, "", reason(ctx, err)
	case size > d.most:
		return 0, "", fmt.Errorf("it has more than %d bytes", d.most)
	}
	return size, hex.EncodeToString(hash.Sum(nil)), nil
}

// unpack takes the program out of an archive into a file of dir that has no name of its own yet.
func (d downloader) unpack(archive *os.File, program, dir string) (_ *os.File, err error) {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("no file %s is in it", program)
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg || path.Base(header.Name) != program {
			continue
		}
		if header.Size > d.most {
			return nil, fmt.Errorf("%s in it has %d bytes, more than %d", program, header.Size, d.most)
		}
		out, err := os.CreateTemp(dir, program+".*.partial")
		if err != nil {
			return nil, err
		}
		if _, err := io.CopyN(out, files, header.Size); err != nil {
			return nil, errors.Join(err, out.Close(), os.Remove(out.Name()))
		}
		return out, nil
	}
}

// reason is why a request failed: what ended its context, if that was it, and without the address, which the
// caller tells.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// reader is a function that reads.
type reader func([]byte) (int, error)

// Read calls it.
func (r reader) Read(b []byte) (int, error) { return r(b) }
