-- Trials behind which a night stopped by itself.
ALTER TABLE trial ADD COLUMN given_up INTEGER NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1));
