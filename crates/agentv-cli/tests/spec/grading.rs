//! Evaluators, weights and the score of a case.
