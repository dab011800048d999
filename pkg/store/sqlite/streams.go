package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// streams is store.Streams.
type streams struct{ db *sqlitedb.DB }

// Stream reads that of a destination.
func (s streams) Stream(ctx context.Context, account, destination string) (store.Stream, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.Stream, error) { return streamOf(tx, account, destination) })
}

func streamOf(tx *sqlitedb.Tx, account, destination string) (store.Stream, error) {
	found, err := scanDoc[store.Stream](tx.QueryRow(`SELECT doc FROM audit_stream WHERE account = ? AND destination = ?`, account, destination))
	if errors.Is(err, sql.ErrNoRows) {
		return store.Stream{Account: account, Destination: destination}, nil
	}
	return found, err
}

// SaveStream writes one of the version that was read.
func (s streams) SaveStream(ctx context.Context, st store.Stream) (store.Stream, error) {
	return write(ctx, s.db, func(tx *sqlitedb.Tx) (store.Stream, error) {
		have, err := streamOf(tx, st.Account, st.Destination)
		if err != nil {
			return store.Stream{}, err
		}
		if have.Version != st.Version {
			return store.Stream{}, store.Stale(fmt.Sprintf("the stream to %s", st.Destination), st.Version)
		}
		st.Version++
		doc, err := encodeDoc(st)
		if err != nil {
			return store.Stream{}, err
		}
		return st, exec(tx, `INSERT OR REPLACE INTO audit_stream (account, destination, version, doc) VALUES (?, ?, ?, ?)`, st.Account, st.Destination, st.Version, doc)
	})
}
