//! The `axe` program.

fn main() {}
