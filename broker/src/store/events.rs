//! The `events` table.
