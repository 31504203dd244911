-- Of a meter whose values come late, by how much, as its user declared.
ALTER TABLE channel ADD COLUMN late_by_s REAL;
