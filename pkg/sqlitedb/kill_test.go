package sqlitedb_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// writerEnv makes the test binary a process that writes to the database that
// it names, until it is killed.
const writerEnv = "SQLITEDB_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		if err := writeOn(context.Background(), path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// writeOn writes rows from eight goroutines and says each number once its
// write has returned.
func writeOn(ctx context.Context, path string) error {
	db, err := sqlitedb.Open(ctx, path)
	if err != nil {
		return err
	}
	if err := db.Migrate(ctx, "kill", []string{`CREATE TABLE row (n TEXT PRIMARY KEY)`}); err != nil {
		return err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := 0; ; i++ {
				n := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
				err := db.Write(ctx, func(tx *sqlitedb.Tx) error {
					_, err := tx.Exec(`INSERT INTO row VALUES (?)`, n)
					return err
				})
				mu.Lock()
				if err == nil {
					_, err = fmt.Println(n)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return nil
}

// Killed at a random moment, again and again, the database has every row whose
// write had returned, and is sound.
func TestAKilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var told []string
	for range 10 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), writerEnv+"="+path)
		cmd.Stderr = t.Output()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(100+random.IntN(200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			told = append(told, lines.Text())
		}
		_ = cmd.Wait() // killed
	}
	if len(told) > 0 && strings.Count(told[len(told)-1], "-") < 2 {
		told = told[:len(told)-1] // cut off by the kill
	}
	db, err := sqlitedb.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	missing, sound, rows := 0, "", 0
	err = db.Read(t.Context(), func(tx *sqlitedb.Tx) error {
		if err := tx.QueryRow(`PRAGMA integrity_check`).Scan(&sound); err != nil {
			return err
		}
		if err := tx.QueryRow(`SELECT count(*) FROM row`).Scan(&rows); err != nil {
			return err
		}
		for _, n := range told {
			var found int
			if err := tx.QueryRow(`SELECT count(*) FROM row WHERE n = ?`, n).Scan(&found); err != nil {
				return err
			}
			missing += 1 - found
		}
		return nil
	})
	if err != nil || missing > 0 || sound != "ok" || len(told) < 100 {
		t.Errorf("seed %d: %v; of %s rows that were told %d are missing; the database is %s", seed, err, strconv.Itoa(len(told)), missing, sound)
	}
	t.Logf("seed %d: %d rows, %d told", seed, rows, len(told))
}
