//! How one agent is shown, since when, and which changes no event tells of yet.

use std::collections::VecDeque;

use hive_proto::ids::UnixMs;

use crate::model::shown::Shown;

/// The states of an agent since this broker began.
#[derive(Debug, Default)]
pub(super) struct Story {
    now: Option<(Shown, UnixMs)>,
    /// Oldest first. What cannot be written waits here, each change of it, however it went on.
    untold: VecDeque<Shown>,
}

/// Changes that wait for a disk that is full, for days, of an agent that fails over and over. Beyond
/// them the oldest go: `hived` must not fill the memory, too.
const MOST: usize = 10_000;

// === impl Story ===

impl Story {
    /// The last one.
    pub(super) fn shown(&self) -> Option<&Shown> {
        self.now.as_ref().map(|(shown, _)| shown)
    }

    /// Since when it is shown so; a new detail of the same state does not begin it anew.
    pub(super) fn since(&self, shown: &Shown, now: UnixMs) -> UnixMs {
        let same_word = self
            .now
            .as_ref()
            .filter(|(old, _)| old.state == shown.state);
        same_word.map_or(now, |(_, since)| *since)
    }

    /// Goes on with this one; the same again is no change.
    pub(super) fn go_on(&mut self, shown: &Shown, now: UnixMs) {
        if self.shown() == Some(shown) {
            return;
        }
        self.now = Some((shown.clone(), self.since(shown, now)));
        if self.untold.len() == MOST {
            self.untold.pop_front();
        }
        self.untold.push_back(shown.clone());
    }

    /// What is still to be written.
    pub(super) fn untold(&self) -> Vec<Shown> {
        self.untold.iter().cloned().collect()
    }

    /// So many of what was to be written are on disk.
    pub(super) fn told(&mut self, count: usize) {
        self.untold.drain(..count.min(self.untold.len()));
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::{MOST, Story};
    use crate::model::shown::{Shown, State};

    fn shown(state: State, detail: &str) -> Shown {
        Shown {
            state,
            until: None,
            detail: detail.into(),
        }
    }

    #[test]
    fn every_change_waits_until_it_is_written_also_one_that_was_undone() {
        let mut story = Story::default();
        let (idle, starting) = (shown(State::Idle, ""), shown(State::Starting, "it died"));
        story.go_on(&idle, UnixMs(1));
        story.told(1);
        assert_eq!(story.untold(), []);
        // Nothing of this can be written: it comes and goes, and is told all the same.
        for at in [&starting, &starting, &idle] {
            story.go_on(at, UnixMs(2));
            assert!(!story.untold().is_empty());
        }
        assert_eq!(story.untold(), [starting.clone(), idle.clone()]);
        // What came while the write was under way stays.
        story.go_on(&starting, UnixMs(3));
        story.told(2);
        assert_eq!(story.untold(), [starting]);
    }

    #[test]
    fn a_new_detail_is_a_change_but_not_a_new_beginning() {
        let mut story = Story::default();
        let (one, other) = (shown(State::Starting, "a"), shown(State::Starting, "b"));
        story.go_on(&one, UnixMs(1));
        story.go_on(&other, UnixMs(2));
        assert_eq!(story.untold(), [one, other.clone()]);
        assert_eq!(story.since(&other, UnixMs(9)), UnixMs(1));
        let idle = shown(State::Idle, "");
        assert_eq!(story.since(&idle, UnixMs(9)), UnixMs(9));
    }

    #[test]
    fn what_waits_has_an_end() {
        let mut story = Story::default();
        for n in 0..=MOST {
            story.go_on(&shown(State::Starting, &n.to_string()), UnixMs(1));
        }
        let untold = story.untold();
        assert_eq!((untold.len(), untold[0].detail.as_str()), (MOST, "1"));
    }
}
