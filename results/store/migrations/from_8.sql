-- Blocks that confirm what the others named. Earlier programs ran none.
ALTER TABLE trial ADD COLUMN confirms INTEGER NOT NULL DEFAULT 0 CHECK (confirms IN (0, 1));
