//! The arrays of streaming workloads, made when the first of them asks.

use std::sync::Arc;

use record::Coverage;

use super::array_pool::ArrayPool;
use super::workload::Workload;
use crate::array_setup;
use crate::budget::Depth;
use crate::context::{Context, Halt};

/// Makes the pool when the first workload asks for it: that may take longer than all others do.
#[derive(Debug)]
pub(crate) struct ArraySupply {
    seconds: f64,
    tried: bool,
    pool: Option<Arc<ArrayPool>>,
}

impl ArraySupply {
    /// Seconds that making the arrays may take. In the main job an earlier measurement has made them.
    pub(crate) fn seconds(depth: Depth) -> f64 {
        depth.pick_named(0.0, 0.3, 12.0, 60.0)
    }

    /// Nothing made yet.
    pub(crate) fn new(context: &Context) -> Self {
        Self { seconds: Self::seconds(context.depth), tried: false, pool: None }
    }

    /// Seconds to leave aside while any of these workloads still needs arrays that are not there.
    pub(crate) fn reserved(&self, context: &Context, rest: &[&dyn Workload]) -> f64 {
        let needed = !self.tried && rest.iter().any(|workload| workload.streams());
        if needed && context.kept_arrays.is_none() { self.seconds } else { 0.0 }
    }

    /// The arrays for `workload`, if it streams and they can be had; says why not in the coverage.
    pub(crate) fn arrays_for(
        &mut self,
        context: &mut Context,
        measurement: &str,
        workload: &dyn Workload,
    ) -> Result<Option<Arc<ArrayPool>>, Halt> {
        if !workload.streams() {
            return Ok(None);
        }
        if !self.tried {
            let made = array_setup::prepare(context, measurement, self.seconds)
                .and_then(|two| array_setup::with_third(context, two));
            match made {
                Ok(arrays) => {
                    let cpus: Vec<u32> = context.cpus.iter().collect();
                    self.pool = Some(Arc::new(ArrayPool::new(context.machine, &cpus, &arrays)));
                    context.kept_arrays = Some(arrays);
                }
                Err(Halt::Interrupted) => return Err(Halt::Interrupted),
                Err(Halt::Impossible(why)) => {
                    context.coverage.push(Coverage::degraded(format!("{measurement} arrays"), why));
                }
            }
            self.tried = true;
        }
        Ok(self.pool.clone())
    }
}
