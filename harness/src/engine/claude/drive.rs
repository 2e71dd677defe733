//! Runs one turn on a process: waits for lines, clocks and cancellation, and does what the state
//! machine of `turn.rs` says.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;

use super::process::{Output, Process};
use super::turn::{Step, Turn};

/// What woke the driver.
enum Woken {
    Output(Output),
    Clock,
    Cancelled,
}

/// Runs `turn` to its end. The process has ended when `turn.facts.death` is set afterwards.
pub(super) async fn drive(turn: &mut Turn<'_>, process: &mut Process, cancel: &CancellationToken) {
    let mut cancelled = false;
    loop {
        for line in turn.take_outbox() {
            process.send(&line);
        }
        let deadline = tokio::time::Instant::from_std(turn.deadline());
        let woken = tokio::select! {
            biased;
            () = cancel.cancelled(), if !cancelled => Woken::Cancelled,
            output = process.next() => Woken::Output(output),
            () = tokio::time::sleep_until(deadline) => Woken::Clock,
        };
        let now = Instant::now();
        let step = match woken {
            Woken::Cancelled => {
                cancelled = true;
                turn.on_cancel(now)
            }
            Woken::Clock => turn.on_clock(now),
            Woken::Output(Output::Line(line)) => turn.on_line(&line, now, unix_ms()),
            Woken::Output(Output::Ended(death)) => turn.on_death(death),
        };
        match step {
            Step::Wait => {}
            Step::Done => return,
            Step::Kill => {
                let death = process.kill().await;
                let _ = turn.on_death(death);
                return;
            }
        }
    }
}

/// Unix milliseconds.
pub(super) fn unix_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
