//! The `sessions` table.
