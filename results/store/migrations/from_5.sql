-- Which process marked a region.
ALTER TABLE region ADD COLUMN process TEXT;
