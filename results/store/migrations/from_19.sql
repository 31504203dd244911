-- What of a mean's half-width the sensors may add. Views: no idle power of another machine's beside a trial that is left out; a block's time by
-- totals only where the objective is per a metric. What was concluded is concluded anew: half-widths of trials of which some have no
-- sensors' part were too narrow.
ALTER TABLE point_quantity ADD COLUMN sensor_half_width REAL;
DELETE FROM conclusion;
