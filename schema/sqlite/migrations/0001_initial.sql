-- Version 1 of the store. Meaning of every table and column: ebla-store(5).
-- Page size, auto_vacuum and journal mode belong to the file and are set when it is created.
PRAGMA application_id = 1161972801;

-- AUTOINCREMENT: a number is never given twice. Its sequence numbers contents, decisions and
-- sessions too, so that one page holds every counter of ids.
CREATE TABLE inodes(
  ino INTEGER PRIMARY KEY AUTOINCREMENT,
  kind INTEGER NOT NULL,
  mode INTEGER NOT NULL,
  nlink INTEGER NOT NULL,
  uid INTEGER NOT NULL,
  gid INTEGER NOT NULL,
  rdev INTEGER NOT NULL DEFAULT 0,
  size INTEGER NOT NULL DEFAULT 0,
  content INTEGER NOT NULL DEFAULT 0,
  hash BLOB,
  eviction INTEGER NOT NULL DEFAULT 0,
  session INTEGER NOT NULL DEFAULT 0,
  parent INTEGER NOT NULL DEFAULT 0,
  seq INTEGER NOT NULL DEFAULT 0,
  entries INTEGER NOT NULL DEFAULT 0,
  atime_ns INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL,
  flags INTEGER NOT NULL DEFAULT 0,
  change INTEGER NOT NULL DEFAULT 1,
  target BLOB
) STRICT;

CREATE TABLE dentries(
  parent INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  name BLOB NOT NULL,
  ino INTEGER NOT NULL,
  PRIMARY KEY(parent, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX dentry_names ON dentries(parent, name);

CREATE TABLE orphans(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  ino INTEGER NOT NULL UNIQUE
) STRICT;

CREATE TABLE xattrs(
  ino INTEGER NOT NULL,
  name BLOB NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY(ino, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE contents(
  hash BLOB NOT NULL,
  content INTEGER NOT NULL,
  size INTEGER NOT NULL,
  refs INTEGER NOT NULL,
  tree INTEGER NOT NULL,
  PRIMARY KEY(hash, content)
) STRICT, WITHOUT ROWID;

CREATE TABLE chunks(
  key INTEGER PRIMARY KEY,
  sum INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;

CREATE TABLE staged(content INTEGER PRIMARY KEY, size INTEGER NOT NULL) STRICT;
CREATE TABLE freed(content INTEGER PRIMARY KEY) STRICT;

CREATE TABLE sessions(
  serial INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  key BLOB NOT NULL,
  label BLOB NOT NULL,
  uid INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  tree INTEGER NOT NULL,
  project BLOB NOT NULL,
  model BLOB NOT NULL,
  window INTEGER NOT NULL,
  capabilities BLOB,
  mount_prefix BLOB NOT NULL,
  created_ns INTEGER NOT NULL,
  folder INTEGER NOT NULL,
  history INTEGER NOT NULL,
  messages INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX session_ids ON sessions(id);
CREATE UNIQUE INDEX session_keys ON sessions(uid, key) WHERE key <> x'';
CREATE INDEX session_projects ON sessions(project, id);

CREATE TABLE session_settings(
  session INTEGER NOT NULL,
  name BLOB NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY(session, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE evictions(
  id INTEGER PRIMARY KEY,
  tree INTEGER NOT NULL,
  session INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  call_id BLOB NOT NULL,
  tool BLOB NOT NULL,
  uid INTEGER NOT NULL,
  hash BLOB NOT NULL,
  size INTEGER NOT NULL,
  content INTEGER NOT NULL,
  dir INTEGER NOT NULL,
  name BLOB NOT NULL,
  ino INTEGER NOT NULL,
  replacement BLOB NOT NULL,
  replacement_hash BLOB NOT NULL,
  characters INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  created_ns INTEGER NOT NULL
) STRICT;

-- What evictions are found by. One tree of the file for both kinds of key: a put-away then touches
-- one page of it, mostly.
CREATE TABLE eviction_keys(
  tree INTEGER NOT NULL,
  hash BLOB NOT NULL,
  key INTEGER NOT NULL,
  eviction INTEGER NOT NULL,
  PRIMARY KEY(tree, hash, key, eviction)
) STRICT, WITHOUT ROWID;

CREATE TABLE removed(
  parent INTEGER NOT NULL,
  name BLOB NOT NULL,
  reserved INTEGER NOT NULL,
  path BLOB NOT NULL,
  removed_ns INTEGER NOT NULL,
  uid INTEGER NOT NULL,
  reason BLOB NOT NULL,
  size INTEGER NOT NULL,
  PRIMARY KEY(parent, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE path_aliases(
  prefix BLOB NOT NULL,
  subtree BLOB NOT NULL,
  PRIMARY KEY(prefix, subtree)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage(
  tree INTEGER PRIMARY KEY,
  files INTEGER NOT NULL DEFAULT 0,
  directories INTEGER NOT NULL DEFAULT 0,
  logical_bytes INTEGER NOT NULL DEFAULT 0,
  content_bytes INTEGER NOT NULL DEFAULT 0,
  sessions INTEGER NOT NULL DEFAULT 0,
  evictions INTEGER NOT NULL DEFAULT 0
) STRICT;

PRAGMA user_version = 1;
