//! Every method of every service, read from the descriptors that the .proto files compile to. Tests
//! walk it, so that a new method cannot be forgotten.

use prost::Message as _;
use prost_types::FileDescriptorSet;

/// The descriptors of hive.v1, without comments.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hive.v1.bin"));

/// One method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Method {
    /// With its package, e.g. `hive.v1.AgentService`.
    pub service: String,
    pub name: String,
}

// === impl Method ===

impl Method {
    /// The path of its calls.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/{}/{}", self.service, self.name)
    }
}

/// All of them, in the order of the files.
///
/// # Errors
/// Never for a build that passed its tests: when the embedded descriptors cannot be read.
pub fn all() -> Result<Vec<Method>, prost::DecodeError> {
    let set = FileDescriptorSet::decode(DESCRIPTORS)?;
    let services = set.file.iter().flat_map(|file| {
        let package = file.package();
        let named = move |service: &str| format!("{package}.{service}");
        file.service.iter().flat_map(move |service| {
            let full = named(service.name());
            service.method.iter().map(move |method| Method {
                service: full.clone(),
                name: method.name().to_owned(),
            })
        })
    });
    Ok(services.collect())
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn every_service_is_there() {
        let methods = all().unwrap();
        for path in [
            "/hive.v1.AgentService/OpenSession",
            "/hive.v1.ManagerService/ListAgents",
            "/hive.v1.OperatorService/Backup",
        ] {
            assert!(methods.iter().any(|method| method.path() == path), "{path}");
        }
    }
}
