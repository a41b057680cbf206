//! Eval files, datasets and targets: what is read from where.
