//! What did not pass, by cause: ten cases with the same error are one group.

use agentv_wire::{FailureCause, RecordSummary};

/// How many causes are kept.
const CAUSES: usize = 100;
/// How many cases of each are named.
const NAMED: usize = 5;

/// Records that share an outcome, grouped by why they have it.
#[derive(Debug, Default)]
pub struct CauseGroups {
    groups: Vec<CauseGroup>,
    /// All of them, also those whose causes are not kept.
    pub records: usize,
}

/// Records with the same cause.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseGroup {
    /// Absent where there was no answer to grade.
    pub evaluator: Option<String>,
    /// The error, or what was missed; empty if nothing says why.
    pub text: String,
    pub records: usize,
    /// The scores that fell short, where an answer was graded.
    pub shortfall: Option<Shortfall>,
    /// The first cases of the run among them.
    pub cases: Vec<NamedCase>,
    /// What else is known of the first of these.
    pub example: Example,
}

/// Scores that fell short of what was needed, from the lowest to the highest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shortfall {
    /// Those of the evaluator.
    pub scores: (f64, f64),
    /// Those of the cases, where it is these that fell short.
    pub case_scores: Option<(f64, f64)>,
    pub needed: f64,
}

/// A record by the name of its case.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedCase {
    pub position: usize,
    pub trial: Option<u32>,
    pub target: String,
    pub eval_id: String,
    pub score: f64,
}

/// The texts of one record. They are cut by whoever made its summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Example {
    pub misses: Vec<String>,
    pub reasoning: Option<String>,
    pub answer: String,
}

/// What makes two causes the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct CauseKey<'a> {
    pub evaluator: Option<&'a str>,
    pub text: &'a str,
    pub cause: Option<&'a FailureCause>,
}

impl CauseGroups {
    /// The groups, the largest first; of equal ones that with the lowest score, then that of the earliest case.
    pub fn sorted(&self) -> Vec<&CauseGroup> {
        let mut sorted: Vec<&CauseGroup> = self.groups.iter().collect();
        let lowest = |group: &CauseGroup| group.shortfall.map_or(0.0, |short| short.scores.0);
        let first = |group: &CauseGroup| group.cases.first().map(|case| case.position);
        sorted.sort_by(|one, other| {
            let by_size = other.records.cmp(&one.records);
            by_size.then(lowest(one).total_cmp(&lowest(other))).then(first(one).cmp(&first(other)))
        });
        sorted
    }

    pub(super) fn add<T: AsRef<str>>(
        &mut self,
        key: CauseKey<'_>,
        position: usize,
        record: &RecordSummary<T>,
    ) {
        self.records += 1;
        let at = self.groups.iter().position(|group| group.is_of(key)).or_else(|| {
            let has_room = self.groups.len() < CAUSES;
            has_room.then(|| self.groups.push(CauseGroup::new(key)))?;
            self.groups.len().checked_sub(1)
        });
        if let Some(group) = at.and_then(|at| self.groups.get_mut(at)) {
            group.add(key, NamedCase::of(position, record), record);
        }
    }
}

impl CauseGroup {
    fn new(key: CauseKey<'_>) -> Self {
        Self {
            evaluator: key.evaluator.map(str::to_owned),
            text: key.text.to_owned(),
            records: 0,
            shortfall: key.cause.map(|cause| Shortfall {
                scores: (cause.score, cause.score),
                case_scores: cause.case_score.map(|score| (score, score)),
                needed: cause.needed,
            }),
            cases: Vec::new(),
            example: Example::default(),
        }
    }

    fn is_of(&self, key: CauseKey<'_>) -> bool {
        let needed = |cause: &FailureCause| (cause.needed.to_bits(), cause.case_score.is_some());
        let own = |short: Shortfall| (short.needed.to_bits(), short.case_scores.is_some());
        self.text == key.text
            && self.evaluator.as_deref() == key.evaluator
            && self.shortfall.map(own) == key.cause.map(needed)
    }

    fn add<T: AsRef<str>>(
        &mut self,
        key: CauseKey<'_>,
        case: NamedCase,
        record: &RecordSummary<T>,
    ) {
        self.records += 1;
        if let (Some(short), Some(cause)) = (&mut self.shortfall, key.cause) {
            widen(&mut short.scores, cause.score);
            if let (Some(range), Some(score)) = (&mut short.case_scores, cause.case_score) {
                widen(range, score);
            }
        }
        let before = |known: &NamedCase| {
            (known.position, &known.target, known.trial) < (case.position, &case.target, case.trial)
        };
        let at = self.cases.partition_point(before);
        if at == 0 {
            self.example = Example::of(record);
        }
        if at < NAMED {
            self.cases.insert(at, case);
            self.cases.truncate(NAMED);
        }
    }
}

impl NamedCase {
    pub(super) fn of<T>(position: usize, record: &RecordSummary<T>) -> Self {
        Self {
            position,
            trial: record.trial,
            target: record.target.clone(),
            eval_id: record.eval_id.clone(),
            score: record.score,
        }
    }
}

impl Example {
    fn of<T: AsRef<str>>(record: &RecordSummary<T>) -> Self {
        let owned = |text: &T| text.as_ref().to_owned();
        Self {
            misses: record.misses.iter().map(owned).collect(),
            reasoning: record.reasoning.as_ref().map(owned),
            answer: owned(&record.candidate_answer),
        }
    }
}

fn widen((low, high): &mut (f64, f64), score: f64) {
    *low = low.min(score);
    *high = high.max(score);
}
