//! What is served on the listen address: health, and until the dashboard exists a page that says so.

mod headers;
mod routes;
mod server;

pub use routes::router;
pub use server::serve;
