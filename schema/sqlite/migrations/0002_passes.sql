-- Version 2: what the context engine remembers. Meaning of every table and column: ebla-store(5).
ALTER TABLE sessions ADD COLUMN closed_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE evictions ADD COLUMN tokens_after INTEGER NOT NULL DEFAULT 0;

-- The long text is the last column: what is before it is read without it.
CREATE TABLE passes(
  id INTEGER PRIMARY KEY,
  tree INTEGER NOT NULL,
  session INTEGER NOT NULL,
  prefix BLOB NOT NULL,
  messages INTEGER NOT NULL,
  message_identity BLOB NOT NULL,
  source INTEGER NOT NULL,
  tokens_before INTEGER NOT NULL,
  tokens_after INTEGER NOT NULL,
  created_ns INTEGER NOT NULL,
  pinned BLOB NOT NULL,
  message BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX pass_prefixes ON passes(tree, prefix);

CREATE TABLE sections(
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  hash BLOB NOT NULL,
  content INTEGER NOT NULL,
  start INTEGER NOT NULL,
  sections INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  created_ns INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX section_places ON sections(session, at);

CREATE TABLE section_keys(
  session INTEGER NOT NULL,
  key BLOB NOT NULL,
  PRIMARY KEY(session, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_events(
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  closed INTEGER NOT NULL,
  at_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE facts(
  name BLOB NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY(name)
) STRICT, WITHOUT ROWID;
