-- How a sensor answers a load that comes and goes. Earlier programs did not measure it.
ALTER TABLE sensor_audit ADD COLUMN window_s REAL;
ALTER TABLE sensor_audit ADD COLUMN latency_s REAL;
