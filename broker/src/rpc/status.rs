//! From a service's error to the status that carries its reason.

use tonic::Status;

use crate::refusals::Refuse;

/// The status of a refusal or failure.
pub(super) fn status(error: impl Refuse) -> Status {
    error.refusal().into()
}
