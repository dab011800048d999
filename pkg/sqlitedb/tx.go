package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// conn is a connection with its prepared statements. It is for one goroutine
// at a time.
type conn struct {
	sql  *sql.Conn
	mu   sync.Mutex
	stmt map[string]*sql.Stmt
}

func newConn(ctx context.Context, pool *sql.DB) (*conn, error) {
	c, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{sql: c, stmt: map[string]*sql.Stmt{}}, nil
}

// close gives the connection back, which ends it once its pool is closed. The
// file stays open for as long as one of its statements is.
func (c *conn) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, s := range c.stmt {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.sql.Close())...)
}

// prepared gives the statement of a query, prepared once for the connection.
// The set of queries is fixed in the code, so the cache doesn't grow.
func (c *conn) prepared(query string) (*sql.Stmt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.stmt[query]; ok {
		return s, nil
	}
	s, err := c.sql.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	c.stmt[query] = s
	return s, nil
}

func (c *conn) exec(query string, args ...any) (sql.Result, error) {
	s, err := c.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), args...)
}

// Tx is what a function of Write or Read works with. It ends with the function.
// Statements can't be cancelled: they are short, and one that stopped halfway
// would undo those of other callers in its group.
type Tx struct {
	conn *conn
	then []func()
}

// Then has fn called once the function's changes are committed, before its
// caller or any later function of Write hears of that; never if they aren't.
func (tx *Tx) Then(fn func()) { tx.then = append(tx.then, fn) }

// Exec runs a statement and counts the rows that it changed.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	r, err := tx.conn.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Row is the first row of a query's answer.
type Row struct {
	row *sql.Row
	err error
}

// Scan reads the row's columns; sql.ErrNoRows if there is none.
func (r Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.row.Scan(dest...)
}

// QueryRow asks for one row.
func (tx *Tx) QueryRow(query string, args ...any) Row {
	s, err := tx.conn.prepared(query)
	if err != nil {
		return Row{err: err}
	}
	return Row{row: s.QueryRowContext(context.Background(), args...)}
}

// Query asks for rows. They must be closed before the next statement.
func (tx *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	s, err := tx.conn.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...)
}
