//! What is known of the cost of a target's calls before they are made.

/// What the answers of a target will tell of their cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Billing {
    pub cost: Tells,
    pub tokens: Tells,
    /// Where there is a price before the call.
    pub price: Option<UnitPrice>,
}

/// Whether something is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tells {
    /// It makes no calls, so there is nothing to tell.
    Nothing,
    /// Each answer does, unless something is wrong with it.
    Always,
    /// Some do: that is for the program to say, and is seen only afterwards.
    #[default]
    Perhaps,
    /// None does.
    Never,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitPrice {
    pub input: f64,
    pub output: f64,
}

impl Billing {
    /// Of a target that makes no calls.
    pub const FREE: Self = Self { cost: Tells::Nothing, tokens: Tells::Nothing, price: None };

    /// Of a program that says itself what it used.
    pub const fn told(cost: Tells, tokens: Tells) -> Self {
        Self { cost, tokens, price: None }
    }

    /// Of a model, whose tokens are always counted. Its cost is known if there is a price for them.
    pub fn by_token(price: Option<UnitPrice>) -> Self {
        let cost = if price.is_some() { Tells::Always } else { Tells::Never };
        Self { cost, tokens: Tells::Always, price }
    }

    pub fn is_free(&self) -> bool {
        self.cost == Tells::Nothing && self.tokens == Tells::Nothing
    }
}
