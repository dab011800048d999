package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// files is store.Files.
type files struct{ db *sqlitedb.DB }

const fileColumns = `scope, path, version, size, hash, updated_by, created_at, updated_at`

func scanFile(row scanner) (store.File, error) { return scanFileWith(row) }

// scanFileWith scans a row that goes on with more columns.
func scanFileWith(row scanner, more ...any) (store.File, error) {
	var f store.File
	var scope string
	var created, updated int64
	into := []any{&scope, &f.Key.Path, &f.Version, &f.Size, &f.Hash, &f.UpdatedBy, &created, &updated}
	if err := row.Scan(append(into, more...)...); err != nil {
		return store.File{}, err
	}
	f.CreatedAt, f.UpdatedAt = fromMillis(created), fromMillis(updated)
	var err error
	f.Key.Scope, err = parseScope(scope)
	return f, err
}

// SaveFile writes f over the version that it was read as.
func (s files) SaveFile(ctx context.Context, f store.File, content []byte, a audit.Record) (store.File, error) {
	return write(ctx, s.db, func(tx *sqlitedb.Tx) (store.File, error) {
		scope := scopeKey(f.Key.Scope)
		var row sqlitedb.Row
		if f.Version == 0 {
			row = tx.QueryRow(`INSERT INTO file (`+fileColumns+`, content) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)
				ON CONFLICT DO NOTHING RETURNING `+fileColumns,
				scope, f.Key.Path, f.Size, f.Hash, f.UpdatedBy, millis(f.CreatedAt), millis(f.UpdatedAt), nonNil(content))
		} else {
			if err := keepFile(tx, f.Key, f.UpdatedAt); err != nil {
				return store.File{}, err
			}
			row = tx.QueryRow(`UPDATE file SET version = version + 1, size = ?, hash = ?, updated_by = ?, updated_at = ?, content = ?
				WHERE scope = ? AND path = ? AND version = ? RETURNING `+fileColumns,
				f.Size, f.Hash, f.UpdatedBy, millis(f.UpdatedAt), nonNil(content), scope, f.Key.Path, f.Version)
		}
		saved, err := scanFile(row)
		if errors.Is(err, sql.ErrNoRows) {
			return store.File{}, store.Stale("file "+f.Key.String(), f.Version)
		}
		if err != nil {
			return store.File{}, err
		}
		_, err = appendAudit(tx, a)
		return saved, err
	})
}

// File reads what is known of one.
func (s files) File(ctx context.Context, key ref.File) (store.File, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.File, error) {
		f, err := scanFile(tx.QueryRow(`SELECT `+fileColumns+` FROM file WHERE scope = ? AND path = ?`, scopeKey(key.Scope), key.Path))
		return f, missing(err, "file %s", key)
	})
}

// FileContent reads one with its content.
func (s files) FileContent(ctx context.Context, key ref.File) (store.File, []byte, error) {
	var content []byte
	f, err := read(ctx, s.db, func(tx *sqlitedb.Tx) (store.File, error) {
		row := tx.QueryRow(`SELECT `+fileColumns+`, content FROM file WHERE scope = ? AND path = ?`, scopeKey(key.Scope), key.Path)
		f, err := scanFileWith(row, &content)
		return f, missing(err, "file %s", key)
	})
	if err != nil {
		return store.File{}, nil, err
	}
	return f, content, nil
}

// ListFiles lists the files below a folder by path.
func (s files) ListFiles(ctx context.Context, folder ref.File, page store.Page) ([]store.File, string, error) {
	after, err := decodeToken(page.Token)
	if err != nil {
		return nil, "", err
	}
	from, to := filesWithin(folder)
	limit := bounded(page.Limit)
	list, err := read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.File, error) {
		return rows(tx, scanFile, `SELECT `+fileColumns+` FROM file
			WHERE scope = ? AND path > ? AND path < ? ORDER BY path LIMIT ?`, scopeKey(folder.Scope), max(from, after), to, limit+1)
	})
	if err != nil {
		return nil, "", err
	}
	list, next := paged(list, limit, func(f store.File) string { return f.Key.Path })
	return list, next, nil
}

// filesWithin is the range of the paths in a folder: from < path < to.
func filesWithin(folder ref.File) (from, to string) {
	from = folder.Folder()
	return from, from[:len(from)-1] + string('/'+1)
}

// DeleteFile deletes the given version unless entities name the file.
func (s files) DeleteFile(ctx context.Context, key ref.File, version int64, forced bool, a audit.Record) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		var have int64
		err := tx.QueryRow(`SELECT version FROM file WHERE scope = ? AND path = ?`, scopeKey(key.Scope), key.Path).Scan(&have)
		if err != nil {
			return missing(err, "file %s", key)
		}
		if have != version {
			return store.Stale("file "+key.String(), version)
		}
		if !forced {
			if err := unreferenced(tx, "file "+key.String(), store.FileTargets(key)...); err != nil {
				return err
			}
		}
		if err := keepFile(tx, key, a.Time); err != nil {
			return err
		}
		if err := exec(tx, `DELETE FROM file WHERE scope = ? AND path = ?`, scopeKey(key.Scope), key.Path); err != nil {
			return err
		}
		_, err = appendAudit(tx, a)
		return err
	})
}

// keepFile keeps a file that is about to change or to go as a past version,
// and forgets those that nobody needs any more.
func keepFile(tx *sqlitedb.Tx, key ref.File, until time.Time) error {
	err := exec(tx, `INSERT OR REPLACE INTO file_past (`+fileColumns+`, content, until)
		SELECT `+fileColumns+`, content, ? FROM file WHERE scope = ? AND path = ?`, millis(until), scopeKey(key.Scope), key.Path)
	if err != nil {
		return err
	}
	return exec(tx, `DELETE FROM file_past WHERE until < ?`, millis(until.Add(-store.PastFilesKept)))
}

// PastFiles lists past versions that were there at a moment.
func (s files) PastFiles(ctx context.Context, of ref.File, at time.Time) ([]store.File, error) {
	from, to := filesWithin(of)
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.File, error) {
		return rows(tx, func(row scanner) (store.File, error) {
			var until int64
			f, err := scanFileWith(row, &until)
			f.Until = fromMillis(until)
			return f, err
		}, `SELECT `+fileColumns+`, until FROM file_past
			WHERE scope = ? AND (path = ? OR path > ? AND path < ?) AND updated_at <= ? AND until > ? ORDER BY path`,
			scopeKey(of.Scope), of.Path, from, to, millis(at), millis(at))
	})
}

// PastContent reads the content of a past version.
func (s files) PastContent(ctx context.Context, f store.File) ([]byte, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]byte, error) {
		var content []byte
		err := tx.QueryRow(`SELECT content FROM file_past WHERE scope = ? AND path = ? AND until = ? AND version = ?`,
			scopeKey(f.Key.Scope), f.Key.Path, millis(f.Until), f.Version).Scan(&content)
		return content, missing(err, "version %d of file %s", f.Version, f.Key)
	})
}
