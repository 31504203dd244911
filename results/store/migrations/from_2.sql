-- GPUs: what held a board's clocks down, and whether a clock was delivered as requested.
ALTER TABLE trial ADD COLUMN power_cap_share REAL;
ALTER TABLE trial ADD COLUMN thermal_share REAL;
ALTER TABLE trial ADD COLUMN power_limit_w REAL;
ALTER TABLE trial_setting ADD COLUMN as_requested INTEGER CHECK (as_requested IN (0, 1));
