-- What delivered clocks and boards' limits are judged by. Of earlier trials it is not known, and they are not judged again.
ALTER TABLE trial_setting ADD COLUMN clock_tolerance_hz REAL;
ALTER TABLE trial_setting ADD COLUMN clock_or_higher INTEGER CHECK (clock_or_higher IN (0, 1));
ALTER TABLE trial_setting ADD COLUMN clock_quantity TEXT;
ALTER TABLE trial_setting ADD COLUMN clock_only_proof INTEGER CHECK (clock_only_proof IN (0, 1));
ALTER TABLE trial_setting ADD COLUMN busiest_share REAL;
ALTER TABLE trial_setting ADD COLUMN kernel_counted_s REAL;
ALTER TABLE trial_setting ADD COLUMN kernel_elsewhere_s REAL;
CREATE TABLE trial_power_limit (
  trial_id INTEGER NOT NULL REFERENCES trial,
  domain   TEXT NOT NULL,
  watts    REAL NOT NULL,
  PRIMARY KEY (trial_id, domain)
) STRICT, WITHOUT ROWID;
