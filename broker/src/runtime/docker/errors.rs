//! From the engine's errors to the seam's: above all, "does not answer" is never "is not there".

use bollard::errors::Error;

use crate::runtime::RuntimeError;

pub(super) const NAME: &str = "docker";

/// What an error means for the call that it ended.
pub(super) fn map(error: &Error, what: &str) -> RuntimeError {
    match code(error) {
        Some(404) => RuntimeError::NotFound(what.to_owned()),
        // 503 is what an engine that is starting or stopping answers.
        Some(503) | None => unavailable(error),
        Some(_) => RuntimeError::Failed(message(error)),
    }
}

pub(super) fn unavailable(error: &Error) -> RuntimeError {
    RuntimeError::Unavailable {
        runtime: NAME,
        why: message(error),
    }
}

/// The HTTP status that the engine answered with; none when it did not answer.
pub(super) fn code(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// One line for people, with what lies beneath it.
fn message(error: &Error) -> String {
    if let Error::DockerResponseServerError { message, .. } = error {
        return message.trim().replace('\n', " ");
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
