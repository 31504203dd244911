-- Trials behind which a night stopped by itself; checksums (made of what is there: migrate.cpp).
ALTER TABLE trial ADD COLUMN given_up INTEGER NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1));
ALTER TABLE trial ADD COLUMN digest INTEGER;
ALTER TABLE trial ADD COLUMN readings_digest INTEGER;
CREATE TABLE seal (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  plan   INTEGER NOT NULL,
  looks  INTEGER NOT NULL,
  trials INTEGER NOT NULL
) STRICT;
