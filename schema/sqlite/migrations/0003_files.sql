-- Version 3: files of clients. Meaning of every table and column: ebla-store(5).
ALTER TABLE inodes ADD COLUMN raw INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inodes ADD COLUMN layer INTEGER NOT NULL DEFAULT 0;

-- Only what has several names is here: finding all names of a node costs other files nothing.
CREATE TABLE links(
  ino INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY(ino, parent, seq)
) STRICT, WITHOUT ROWID;
