//! Benchmark rates that instances reported: what machines prove, measured.

use std::collections::HashMap;

use dwell_fleet::{MachineId, Timestamp};

use crate::{History, HistoryError, time};

/// A benchmark rate.
#[derive(Debug, Clone, PartialEq)]
pub struct RateRecord {
    /// Physical machine, where vast.ai told it.
    pub machine: Option<MachineId>,
    /// e.g. `RTX 4090`.
    pub gpu_name: String,
    /// Cards rented.
    pub num_gpus: u64,
    /// Proofs per hour.
    pub proofs_per_h: f64,
    /// Host memory, MiB.
    pub cpu_ram_mib: Option<f64>,
    /// When its benchmark was reported, else when it was last listed.
    pub at: Timestamp,
}

/// What became of the rentals on one machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachinePast {
    /// Rentals.
    pub rented: usize,
    /// Of these: proved.
    pub got_running: usize,
    /// Of these: flagged as stalled, invisible or contradicted.
    pub flagged: usize,
}

impl History {
    /// Rates that were reported, newest first; of real fleets, or of simulated ones.
    pub fn bench_rates(&self, simulated: bool, limit: usize) -> Result<Vec<RateRecord>, HistoryError> {
        let records = self
            .connection
            .prepare_cached(
                "SELECT machine_id, gpu_name, num_gpus, bench_rate, cpu_ram_mib,
                        coalesce((SELECT max(at_ms) FROM transition WHERE instance = i.id AND to_state = 'bench_done'), last_listed_ms) AS at
                 FROM instance i JOIN fleet ON fleet.id = i.fleet
                 WHERE bench_rate > 0 AND gpu_name IS NOT NULL AND merged_into IS NULL AND (simulated <> '') = ?1
                 ORDER BY at DESC LIMIT ?2",
            )?
            .query_map((simulated, limit as i64), |row| {
                Ok(RateRecord {
                    machine: row.get::<_, Option<i64>>(0)?.and_then(|id| u64::try_from(id).ok()).map(MachineId),
                    gpu_name: row.get(1)?,
                    num_gpus: row.get::<_, Option<i64>>(2)?.map_or(1, i64::unsigned_abs),
                    proofs_per_h: row.get(3)?,
                    cpu_ram_mib: row.get(4)?,
                    at: time(row.get(5)?),
                })
            })?
            .collect::<Result<_, _>>()?;
        Ok(records)
    }

    /// What became of the rentals on each machine, of all fleets, real ones or simulated ones.
    pub fn machines(&self, simulated: bool) -> Result<HashMap<MachineId, MachinePast>, HistoryError> {
        let machines = self
            .connection
            .prepare_cached(
                "SELECT i.machine_id, count(*),
                        sum(EXISTS (SELECT 1 FROM transition t WHERE t.instance = i.id AND t.to_state = 'running')),
                        sum(EXISTS (SELECT 1 FROM flag f WHERE f.instance = i.id AND f.kind IN ('stalled', 'invisible', 'contradicted')))
                 FROM instance i JOIN fleet ON fleet.id = i.fleet
                 WHERE i.machine_id IS NOT NULL AND i.merged_into IS NULL AND (simulated <> '') = ?1 GROUP BY i.machine_id",
            )?
            .query_map([simulated], |row| {
                let count = |index: usize| row.get::<_, i64>(index).map(|count| usize::try_from(count).unwrap_or(0));
                let past = MachinePast { rented: count(1)?, got_running: count(2)?, flagged: count(3)? };
                Ok((MachineId(row.get::<_, i64>(0)?.unsigned_abs()), past))
            })?
            .collect::<Result<_, _>>()?;
        Ok(machines)
    }
}
