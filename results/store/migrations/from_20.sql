-- What sensors add to the energy of the time in which all that ran at once were running. Views: of the power at rest, what may be the same in all
-- windows. What was concluded is concluded anew: of a gauge that tells in coarse steps, half-widths above idle were too narrow.
ALTER TABLE trial ADD COLUMN all_running_half_width_j REAL;
DELETE FROM conclusion;
