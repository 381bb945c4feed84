-- What charts group by and predictions are measured against, as last told.
ALTER TABLE instance ADD COLUMN bench_rate REAL;   -- proofs per hour
ALTER TABLE instance ADD COLUMN min_rate REAL;     -- proofs per hour
ALTER TABLE instance ADD COLUMN image TEXT;
ALTER TABLE instance ADD COLUMN cpu_ram_mib REAL;
ALTER TABLE instance ADD COLUMN kill_reason TEXT;
