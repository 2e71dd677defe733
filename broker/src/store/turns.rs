//! The `turns` table.
