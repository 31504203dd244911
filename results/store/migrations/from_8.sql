-- Blocks that confirm what the others named. Earlier programs ran none.
ALTER TABLE trial ADD COLUMN confirms INTEGER NOT NULL DEFAULT 0 CHECK (confirms IN (0, 1));
-- What is still to be run is more than was planned where blocks are added.
ALTER TABLE session ADD COLUMN trials_left INTEGER;
