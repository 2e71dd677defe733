//! The `agents` table.
