-- What energies are judged by besides the readings. Of earlier files it is known for NVIDIA's channels only.
ALTER TABLE channel ADD COLUMN under_load_only INTEGER NOT NULL DEFAULT 0;
ALTER TABLE channel ADD COLUMN averages_over_s REAL;
ALTER TABLE channel ADD COLUMN lags_up_to_s REAL NOT NULL DEFAULT 0;
ALTER TABLE channel ADD COLUMN told_when_new INTEGER NOT NULL DEFAULT 0;
UPDATE channel SET averages_over_s = 1 WHERE probe = 'nvidia' AND name LIKE '%/power_average';
UPDATE channel SET lags_up_to_s = 0.02 WHERE probe = 'nvidia' AND unit = 'J';
UPDATE channel SET under_load_only = 1 WHERE probe = 'nvidia' AND unit = 'Hz';
-- Which part of a half-width does not shrink with more trials. NULL: the program of then did not tell.
ALTER TABLE trial ADD COLUMN energy_systematic_j REAL;
ALTER TABLE channel_energy ADD COLUMN systematic_j REAL;
