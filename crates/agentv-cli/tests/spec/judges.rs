//! Judges: scripts and models that grade.
