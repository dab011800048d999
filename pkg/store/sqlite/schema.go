package sqlite

// Records as a trigger sees them, for change; changes.go reads them. They are
// part of the schema, so they may not be changed.
const (
	executionImage = `json_object('id', new.id, 'scope', new.scope, 'pipeline', new.pipeline, 'sequence', new.sequence,
			'status', new.status, 'version', new.version, 'started', new.started_at, 'doc', json(new.doc))`
	nodeImage = `json_object('execution', new.execution, 'id', new.id, 'version', new.version, 'state', json(new.state))`
	fireImage = `json_object('source', new.source, 'at', new.at, 'id', new.id, 'doc', json(new.doc))`
)

// schema is every statement that has ever changed the tables, in order. It
// may only be appended to: databases remember how many they have run.
//
// Times are milliseconds since 1970, 0 for none. "doc" is JSON of what no
// query asks for. Tables whose rows are small and found by one key have no
// rowid, so that a lookup walks one tree and an insert writes one.
func schema() []string {
	return []string{
		`CREATE TABLE entity (
			key TEXT PRIMARY KEY, name TEXT NOT NULL, version INTEGER NOT NULL, yaml BLOB NOT NULL, refs TEXT NOT NULL,
			updated_by TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
		`CREATE TABLE entity_ref (target TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (target, source)) WITHOUT ROWID`,
		`CREATE INDEX entity_ref_source ON entity_ref (source)`,

		`CREATE TABLE execution (
			id TEXT PRIMARY KEY, scope TEXT NOT NULL, pipeline TEXT NOT NULL, sequence INTEGER NOT NULL, status TEXT NOT NULL,
			version INTEGER NOT NULL, started_at INTEGER NOT NULL, doc TEXT NOT NULL)`,
		`CREATE INDEX execution_scope ON execution (scope, started_at, id)`,
		`CREATE INDEX execution_pipeline ON execution (scope, pipeline, started_at, id)`,
		`CREATE TABLE pipeline_sequence (pipeline TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID`,
		`CREATE TABLE plan (hash TEXT PRIMARY KEY, doc BLOB NOT NULL)`,
		`CREATE TABLE node (
			execution TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL,
			PRIMARY KEY (execution, id)) WITHOUT ROWID`,

		`CREATE TABLE task (
			id TEXT PRIMARY KEY, account TEXT NOT NULL, status TEXT NOT NULL, delegate TEXT NOT NULL, fence INTEGER NOT NULL,
			lease_until INTEGER NOT NULL, token TEXT NOT NULL, created_at INTEGER NOT NULL, doc TEXT NOT NULL,
			payload BLOB NOT NULL, result TEXT)`,
		`CREATE INDEX task_open ON task (account, created_at, id) WHERE status = 'Open'`,
		`CREATE INDEX task_held ON task (delegate, id) WHERE status = 'Claimed'`,
		`CREATE TABLE delegate (
			account TEXT NOT NULL, id TEXT NOT NULL, last_seen INTEGER NOT NULL, doc TEXT NOT NULL,
			PRIMARY KEY (account, id)) WITHOUT ROWID`,

		`CREATE TABLE secret (key TEXT PRIMARY KEY, ciphertext BLOB NOT NULL, updated_at INTEGER NOT NULL)`,
		`CREATE TABLE log_chunk (stream TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (stream, number))`,
		`CREATE TABLE audit (
			account TEXT NOT NULL, sequence INTEGER NOT NULL, hash TEXT NOT NULL, doc TEXT NOT NULL,
			PRIMARY KEY (account, sequence))`,
		`CREATE TABLE token (
			id TEXT PRIMARY KEY, account TEXT NOT NULL, kind TEXT NOT NULL, doc TEXT NOT NULL) WITHOUT ROWID`,
		`CREATE INDEX token_account ON token (account, kind, id)`,
		`CREATE TABLE answer (
			key TEXT PRIMARY KEY, request_hash BLOB NOT NULL, status INTEGER NOT NULL, body BLOB NOT NULL, expires INTEGER NOT NULL)`,
		`CREATE INDEX answer_expires ON answer (expires)`,

		`CREATE TABLE turn (
			key TEXT NOT NULL, place INTEGER NOT NULL, execution TEXT NOT NULL, node TEXT NOT NULL,
			PRIMARY KEY (key, place), UNIQUE (key, execution, node)) WITHOUT ROWID`,
		`CREATE INDEX execution_running ON execution (started_at, id) WHERE status = 'Running'`,

		// What happened, for subscribers: written by triggers, so that no change of
		// a status can go without. An audit record never changes, so it is named.
		`CREATE TABLE change (
			position INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
			before TEXT NOT NULL DEFAULT '', execution TEXT, node TEXT, account TEXT, sequence INTEGER)`,
		`CREATE TABLE change_cursor (subscriber TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID`,
		`CREATE TRIGGER execution_created AFTER INSERT ON execution BEGIN
			INSERT INTO change (execution) VALUES (` + executionImage + `); END`,
		`CREATE TRIGGER execution_changed AFTER UPDATE ON execution WHEN old.status <> new.status BEGIN
			INSERT INTO change (before, execution) VALUES (old.status, ` + executionImage + `); END`,
		`CREATE TRIGGER node_created AFTER INSERT ON node BEGIN
			INSERT INTO change (node) VALUES (` + nodeImage + `); END`,
		`CREATE TRIGGER node_changed AFTER UPDATE ON node
			WHEN json_extract(old.state, '$.status') <> json_extract(new.state, '$.status') BEGIN
			INSERT INTO change (before, node) VALUES (json_extract(old.state, '$.status'), ` + nodeImage + `); END`,
		`CREATE TRIGGER audit_appended AFTER INSERT ON audit BEGIN
			INSERT INTO change (account, sequence) VALUES (new.account, new.sequence); END`,

		`CREATE TABLE fire (source TEXT NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (source, at, id)) WITHOUT ROWID`,

		// What runs where. The place is the key without its scope and service.
		`CREATE TABLE placement (
			scope TEXT NOT NULL, service TEXT NOT NULL, place TEXT NOT NULL, version INTEGER NOT NULL, account TEXT NOT NULL,
			environment TEXT NOT NULL, watcher TEXT NOT NULL, fence INTEGER NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (scope, service, place))`,
		`CREATE INDEX placement_account ON placement (account, scope, service, place, watcher, fence)`,
		`CREATE TABLE placement_moment (
			scope TEXT NOT NULL, service TEXT NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL, doc TEXT NOT NULL,
			PRIMARY KEY (scope, service, at, id)) WITHOUT ROWID`,

		// The content is the last column, so that lists don't read it.
		`CREATE TABLE file (
			scope TEXT NOT NULL, path TEXT NOT NULL, version INTEGER NOT NULL, size INTEGER NOT NULL, hash TEXT NOT NULL,
			updated_by TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (scope, path))`,

		// A trigger's event that started nothing, once however often it comes.
		`ALTER TABLE change ADD COLUMN fire TEXT`,
		`CREATE TRIGGER fire_failed BEFORE INSERT ON fire WHEN json_extract(new.doc, '$.outcome') = 'Failed'
			AND NOT EXISTS (SELECT 1 FROM fire f WHERE f.source = new.source AND f.at = new.at AND f.id = new.id) BEGIN
			INSERT INTO change (fire) VALUES (` + fireImage + `); END`,

		// Versions of files that others took the place of, for a while.
		`CREATE TABLE file_past (
			scope TEXT NOT NULL, path TEXT NOT NULL, until INTEGER NOT NULL, version INTEGER NOT NULL, size INTEGER NOT NULL, hash TEXT NOT NULL,
			updated_by TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, content BLOB NOT NULL,
			PRIMARY KEY (scope, path, until, version))`,
		`CREATE INDEX file_past_until ON file_past (until)`,

		// An execution is under way, too, while it is queued.
		`DROP INDEX execution_running`,
		`CREATE INDEX execution_under_way ON execution (started_at, id) WHERE status IN ('Running', 'QueuedExecutionConcurrencyReached')`,

		// Which of its holder's claims got a task.
		`ALTER TABLE task ADD COLUMN claim INTEGER NOT NULL DEFAULT 0`,

		// How many nodes loops have brought, of executions that have such loops.
		`CREATE TABLE opened (execution TEXT PRIMARY KEY, nodes INTEGER NOT NULL) WITHOUT ROWID`,

		// How many bytes a log has. What it had before there was this table doesn't count.
		`CREATE TABLE log_size (stream TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID`,

		// How many bytes of large outputs an execution keeps, of those that have any.
		`CREATE TABLE kept (execution TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID`,

		// What was there before a stage changed it.
		`CREATE TABLE checkpoint (
			execution TEXT NOT NULL, stage TEXT NOT NULL, key TEXT NOT NULL, step TEXT NOT NULL, task TEXT NOT NULL, at INTEGER NOT NULL,
			size INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (execution, stage, key))`,

		// What was made by provisioners.
		`CREATE TABLE provision (
			scope TEXT NOT NULL, kind TEXT NOT NULL, identifier TEXT NOT NULL, workspace TEXT NOT NULL, execution TEXT NOT NULL,
			version INTEGER NOT NULL, step TEXT NOT NULL, task TEXT NOT NULL, status TEXT NOT NULL, at INTEGER NOT NULL,
			place BLOB NOT NULL, before BLOB NOT NULL, inputs BLOB NOT NULL, PRIMARY KEY (scope, kind, identifier, workspace, execution))`,

		// How far triggers have come with asking for new versions.
		`CREATE TABLE poll (source TEXT PRIMARY KEY, version INTEGER NOT NULL, doc TEXT NOT NULL) WITHOUT ROWID`,

		// What GitOps agents report, and what they are asked. The agent is its scope
		// and its identifier.
		`CREATE TABLE gitops_link (agent TEXT PRIMARY KEY, version INTEGER NOT NULL, doc TEXT NOT NULL) WITHOUT ROWID`,
		`CREATE TABLE gitops_app (agent TEXT NOT NULL, app TEXT NOT NULL, fence INTEGER NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (agent, app)) WITHOUT ROWID`,
		`CREATE TABLE gitops_history (
			agent TEXT NOT NULL, app TEXT NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (agent, app, at, id)) WITHOUT ROWID`,
		`CREATE TABLE gitops_request (
			agent TEXT NOT NULL, id TEXT NOT NULL, doc TEXT NOT NULL, result TEXT, until INTEGER, PRIMARY KEY (agent, id)) WITHOUT ROWID`,
		`CREATE INDEX gitops_request_open ON gitops_request (agent, id) WHERE result IS NULL`,
		`CREATE INDEX gitops_request_until ON gitops_request (until) WHERE until IS NOT NULL`,

		// How often it was changed who may do what.
		`ALTER TABLE entity ADD COLUMN saved_as TEXT NOT NULL DEFAULT ''`,
		`CREATE TABLE access_version (account TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID`,

		// What was removed from the beginnings of audit trails, and how far they have
		// come to their destinations.
		`CREATE TABLE audit_removed (account TEXT PRIMARY KEY, sequence INTEGER NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID`,
		`CREATE TABLE audit_stream (account TEXT NOT NULL, destination TEXT NOT NULL, version INTEGER NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (account, destination)) WITHOUT ROWID`,
		// What policies came to.
		`CREATE TABLE evaluation (
			account TEXT NOT NULL, id TEXT NOT NULL, scope TEXT NOT NULL, execution TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL,
			doc TEXT NOT NULL, input BLOB NOT NULL, PRIMARY KEY (account, id))`,
		`CREATE INDEX evaluation_scope ON evaluation (scope, at, id)`,
		`CREATE INDEX evaluation_execution ON evaluation (execution, at, id) WHERE execution <> ''`,
		`CREATE INDEX evaluation_until ON evaluation (until)`,

		// The day on which a token opened something last.
		`ALTER TABLE token ADD COLUMN used INTEGER NOT NULL DEFAULT 0`,

		// How many nodes of an execution wait for people.
		`ALTER TABLE execution ADD COLUMN approvals INTEGER NOT NULL DEFAULT 0`,
		`ALTER TABLE execution ADD COLUMN inputs INTEGER NOT NULL DEFAULT 0`,
		`ALTER TABLE execution ADD COLUMN interventions INTEGER NOT NULL DEFAULT 0`,
		// How many wait for their turn, or until a paused execution goes on.
		`ALTER TABLE execution ADD COLUMN turns INTEGER NOT NULL DEFAULT 0`,
		`ALTER TABLE execution ADD COLUMN held INTEGER NOT NULL DEFAULT 0`,
	}
}
