-- A checksum over what is written as nights go on.
ALTER TABLE seal ADD COLUMN later INTEGER NOT NULL DEFAULT 0;
