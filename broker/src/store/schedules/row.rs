//! A schedule as stored, and how a row is read.

use hive_proto::ids::{AgentId, ApprovalId, ScheduleId, UnixMs};
use rusqlite::Row;

use crate::model::schedule::{Cron, Misfire, Overlap, State, Timing};
use crate::store::odd;

/// Whose schedule it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Operator,
    Agent(AgentId),
}

/// What runs: all that an approval of it covers but its targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub body: String,
    pub timing: Timing,
    pub misfire: Misfire,
    pub overlap: Overlap,
}

/// A schedule to be stored.
#[derive(Clone, Debug)]
pub struct NewSchedule<'a> {
    pub owner: Owner,
    pub approval: Option<ApprovalId>,
    pub definition: &'a Definition,
    pub description: &'a str,
    pub next: UnixMs,
    pub targets: &'a [AgentId],
}

/// One schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRow {
    pub id: ScheduleId,
    pub owner: Owner,
    /// The owner's name, or `operator`.
    pub owner_name: String,
    /// Whether the owner is there to speak.
    pub owner_living: bool,
    pub approval: Option<ApprovalId>,
    pub definition: Definition,
    pub description: String,
    pub next: Option<UnixMs>,
    pub state: State,
    pub version: i64,
    pub created_at: UnixMs,
    pub finished_at: Option<UnixMs>,
}

// === impl Owner ===

impl Owner {
    /// As `schedules.owner_id` holds it.
    pub(super) fn id(self) -> Option<i64> {
        match self {
            Self::Operator => None,
            Self::Agent(id) => Some(id.0),
        }
    }
}

// === impl ScheduleRow ===

impl ScheduleRow {
    /// As approvals name it.
    #[must_use]
    pub fn subject(&self) -> String {
        format!("schedule:{}", self.id)
    }
}

/// Columns that [`read`] reads.
pub(super) const SELECT: &str = "SELECT s.id, s.owner_id, COALESCE(o.name, 'operator'),
    o.removed_at IS NULL, s.approval_id, s.body, s.timing, s.first_at, s.interval_secs, s.cron, s.tz,
    s.misfire, s.overlap, s.description, s.next_fire_at, s.state, s.version, s.created_at,
    s.finished_at
    FROM schedules s LEFT JOIN agents o ON o.id = s.owner_id";

/// The columns of a timetable.
pub(super) struct TimingColumns {
    pub(super) word: &'static str,
    pub(super) first: Option<i64>,
    pub(super) interval: Option<i64>,
    pub(super) cron: Option<String>,
    pub(super) zone: Option<String>,
}

// === impl TimingColumns ===

impl From<&Timing> for TimingColumns {
    fn from(timing: &Timing) -> Self {
        let (word, first, interval, cron) = match timing {
            Timing::Once { at } => ("once", Some(at.0), None, None),
            Timing::Every {
                first,
                interval_secs,
            } => {
                let secs = i64::try_from(*interval_secs).unwrap_or(i64::MAX);
                ("every", Some(first.0), Some(secs), None)
            }
            Timing::Cron(cron) => ("cron", None, None, Some(cron)),
        };
        Self {
            word,
            first,
            interval,
            cron: cron.map(|cron| cron.pattern().to_owned()),
            zone: cron.map(|cron| cron.zone().to_owned()),
        }
    }
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<ScheduleRow> {
    let owner: Option<i64> = row.get(1)?;
    let (misfire, overlap, state): (String, String, String) =
        (row.get(11)?, row.get(12)?, row.get(15)?);
    Ok(ScheduleRow {
        id: ScheduleId(row.get(0)?),
        owner: owner.map_or(Owner::Operator, |id| Owner::Agent(AgentId(id))),
        owner_name: row.get(2)?,
        owner_living: row.get(3)?,
        approval: row.get::<_, Option<i64>>(4)?.map(ApprovalId),
        definition: Definition {
            body: row.get(5)?,
            timing: timing(row)?,
            misfire: Misfire::parse(&misfire).ok_or_else(|| odd(11, &misfire))?,
            overlap: Overlap::parse(&overlap).ok_or_else(|| odd(12, &overlap))?,
        },
        description: row.get(13)?,
        next: row.get::<_, Option<i64>>(14)?.map(UnixMs),
        state: State::parse(&state).ok_or_else(|| odd(15, &state))?,
        version: row.get(16)?,
        created_at: UnixMs(row.get(17)?),
        finished_at: row.get::<_, Option<i64>>(18)?.map(UnixMs),
    })
}

fn timing(row: &Row<'_>) -> rusqlite::Result<Timing> {
    let word: String = row.get(6)?;
    match word.as_str() {
        "once" => Ok(Timing::Once {
            at: UnixMs(row.get(7)?),
        }),
        "every" => Ok(Timing::Every {
            first: UnixMs(row.get(7)?),
            interval_secs: u64::try_from(row.get::<_, i64>(8)?).unwrap_or(1),
        }),
        "cron" => Ok(Timing::Cron(Cron::stored(row.get(9)?, row.get(10)?))),
        other => Err(odd(6, other)),
    }
}
