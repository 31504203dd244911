-- Which question a recheck was of, and an answer is of. Views: a time of a block is by what its trials did together where they did
-- unequal work.
ALTER TABLE recheck ADD COLUMN question TEXT;
ALTER TABLE region ADD COLUMN energy_half_width_j REAL;
ALTER TABLE answer ADD COLUMN question TEXT;
