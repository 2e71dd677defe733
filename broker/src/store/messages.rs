//! The `messages` table.
