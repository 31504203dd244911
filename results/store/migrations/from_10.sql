-- Which strategies there are is no matter of the file's. By way of a copy: to rename a table SQLite looks through the views
-- that analysts added, whose own are gone at this moment.
CREATE TEMP TABLE search_of_schema_10 AS SELECT id, method, regret, confidence, at_most FROM search;
DROP TABLE search;
CREATE TABLE search (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  method     TEXT NOT NULL,         -- which strategy chooses: 'adaptive', 'random', ...
  regret     REAL NOT NULL,         -- a share: a search by a model stops once no other setting can be better by more; 0: it does not;
  confidence REAL NOT NULL,         -- with this probability
  at_most    INTEGER                -- trials of each scenario; NULL: what the full grid would take
) STRICT;
INSERT INTO search (id, method, regret, confidence, at_most) SELECT id, method, regret, confidence, at_most FROM search_of_schema_10;
DROP TABLE search_of_schema_10;
