//! A run whose cases are run by the workers of a cluster.

use crate::commands::cluster::{host_name, refused};
use crate::settings::Environment;
use agentv_cluster::{ClusterAccess, ClusterLink, Coordinator, CoordinatorOrder};
use agentv_runtime::session::{Refused, Session};
use std::sync::Arc;

pub(super) async fn connect(access: &ClusterAccess) -> Result<ClusterLink, Refused> {
    Box::pin(ClusterLink::connect(access, "run")).await.map_err(|error| refused(&error))
}

/// Announces the run to the cluster.
pub(super) async fn coordinate(
    link: ClusterLink,
    session: &Session,
    (is_resumed, wants_updates): (bool, bool),
    environment: &Environment,
) -> Result<Arc<Coordinator>, Refused> {
    let host = host_name(environment);
    let environment = &environment.session;
    let order = CoordinatorOrder { session, environment, is_resumed, wants_updates, host };
    Box::pin(Coordinator::open(link, order)).await.map_err(|error| refused(&error))
}
