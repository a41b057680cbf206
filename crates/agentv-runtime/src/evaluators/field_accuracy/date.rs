//! Dates by listed formats only: nothing is guessed, and a time zone moves no day.

use jiff::civil::Date;

/// How a date is written: `DD-MMM-YYYY`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DateFormat(Vec<Token>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Year,
    Month,
    MonthName,
    Day,
    Hour,
    Minute,
    /// With a fraction or without.
    Second,
    Zone,
    Literal(char),
}

/// Longer spellings stand before their own beginnings.
const TOKENS: [(&str, Token); 10] = [
    ("YYYY", Token::Year),
    ("MMMM", Token::MonthName),
    ("MMM", Token::MonthName),
    ("MM", Token::Month),
    ("M", Token::Month),
    ("DD", Token::Day),
    ("D", Token::Day),
    ("HH", Token::Hour),
    ("mm", Token::Minute),
    ("ss", Token::Second),
];

/// What is accepted when nothing is listed. American order comes before European: `02/03/2026` is in February.
const DEFAULTS: [&str; 10] = [
    "YYYY-MM-DD",
    "YYYY-MM-DDTHH:mm:ssZ",
    "YYYY-MM-DDTHH:mm:ss",
    "YYYY-MM-DDTHH:mmZ",
    "YYYY-MM-DDTHH:mm",
    "DD-MMM-YYYY",
    "MM/DD/YYYY",
    "DD/MM/YYYY",
    "MM-DD-YYYY",
    "DD-MM-YYYY",
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

impl DateFormat {
    pub(super) fn defaults() -> Vec<Self> {
        DEFAULTS.iter().filter_map(|pattern| Self::parse(pattern).ok()).collect()
    }

    /// The problem, if it is no format.
    pub(super) fn parse(pattern: &str) -> Result<Self, String> {
        let mut tokens = Vec::new();
        let mut rest = pattern.trim();
        while let Some(first) = rest.chars().next() {
            let known = TOKENS
                .iter()
                .find_map(|(spelling, token)| Some((*token, rest.strip_prefix(spelling)?)));
            let (token, after) = match (known, first) {
                (Some(known), _) => known,
                (None, 'Z') => (Token::Zone, &rest[1..]),
                (None, 'T') => (Token::Literal('T'), &rest[1..]),
                (None, letter) if letter.is_alphabetic() => {
                    return Err(format!("`{letter}` has no meaning"));
                }
                (None, other) => (Token::Literal(other), &rest[other.len_utf8()..]),
            };
            tokens.push(token);
            rest = after;
        }
        for (name, of_kind) in [
            ("a year (`YYYY`)", [Token::Year; 2]),
            ("a month (`MM` or `MMM`)", [Token::Month, Token::MonthName]),
            ("a day (`DD`)", [Token::Day; 2]),
        ] {
            if tokens.iter().filter(|token| of_kind.contains(token)).count() != 1 {
                return Err(format!("it must have {name}, once"));
            }
        }
        Ok(Self(tokens))
    }

    /// The day, if the whole text is written in this format and there is such a day.
    pub(super) fn read(&self, text: &str) -> Option<Date> {
        let (mut year, mut month, mut day) = (0, 0, 0);
        let mut rest = text;
        for token in &self.0 {
            rest = match token {
                Token::Year => digits(rest, 4, 4, &mut year)?,
                Token::Month => digits(rest, 1, 2, &mut month)?,
                Token::MonthName => month_name(rest, &mut month)?,
                Token::Day => digits(rest, 1, 2, &mut day)?,
                Token::Hour => clock(rest, 24)?,
                Token::Minute => clock(rest, 59)?,
                Token::Second => without_fraction(clock(rest, 60)?),
                Token::Zone => zone(rest)?,
                Token::Literal(literal) => rest.strip_prefix(*literal)?,
            };
        }
        if !rest.is_empty() {
            return None;
        }
        Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
    }
}

/// Takes a number of this many digits, and says what is left.
fn digits<'t>(text: &'t str, least: usize, most: usize, number: &mut i16) -> Option<&'t str> {
    let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if count < least {
        return None;
    }
    let (taken, rest) = text.split_at(count);
    *number = taken.parse().ok()?;
    Some(rest)
}

/// Takes an English month name, short or long, in any letter case.
fn month_name<'t>(text: &'t str, month: &mut i16) -> Option<&'t str> {
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (taken, rest) = text.split_at(letters);
    let taken = taken.to_ascii_lowercase();
    let (number, _) = (1..).zip(MONTHS).find(|(_, name)| {
        taken == *name || taken == name[..3] || (taken == "sept" && *name == "september")
    })?;
    *month = number;
    Some(rest)
}

/// Takes two digits of a time of day.
fn clock(text: &str, most: i16) -> Option<&str> {
    let mut number = 0;
    let rest = digits(text, 2, 2, &mut number)?;
    (number <= most).then_some(rest)
}

fn without_fraction(text: &str) -> &str {
    let Some(fraction) = text.strip_prefix(['.', ',']) else { return text };
    let rest = fraction.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if rest.len() == fraction.len() { text } else { rest }
}

/// Takes `Z`, `+02`, `+0200` or `+02:00`.
fn zone(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        return Some(rest);
    }
    let rest = clock(text.strip_prefix(['+', '-'])?, 24)?;
    let minutes = clock(rest.strip_prefix(':').unwrap_or(rest), 59);
    Some(minutes.unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let read = DateFormat::defaults().iter().find_map(|format| format.read(text));
        assert_eq!(read.map_or(String::new(), |date| date.to_string()), expected, "{text}");
    }

    #[track_caller]
    fn check_format(format: &str, text: &str, expected: &str) {
        let read = DateFormat::parse(format).unwrap().read(text);
        assert_eq!(read.map_or(String::new(), |date| date.to_string()), expected, "{text}");
    }

    #[test]
    fn every_default_is_a_format() {
        assert_eq!(DateFormat::defaults().len(), DEFAULTS.len());
    }

    #[test]
    fn iso_dates_keep_the_day_they_are_written_with() {
        check("2025-01-15", "2025-01-15");
        check("2025-01-15T23:59:59.123Z", "2025-01-15");
        check("2025-01-15T23:59:59-11:00", "2025-01-15");
        check("2025-01-15T00:00:00+1400", "2025-01-15");
        check("2025-01-15T00:00+02", "2025-01-15");
        check("2025-01-15T00:00:00", "2025-01-15");
        check("2025-01-15T25:00:00", "");
        check("2025-01-15T00:00:00+02:", "");
    }

    #[test]
    fn month_names_are_short_or_long() {
        check("5-jan-2025", "2025-01-05");
        check("05-SEPTEMBER-2025", "2025-09-05");
        check("05-Sept-2025", "2025-09-05");
        check("05-Janu-2025", "");
        check("05-é-2025", "");
    }

    #[test]
    fn a_numeric_date_is_american_unless_it_cannot_be() {
        check("02/03/2026", "2026-02-03");
        check("13/03/2026", "2026-03-13");
        check("3-13-2026", "2026-03-13");
        check("13-3-2026", "2026-03-13");
        check_format("DD/MM/YYYY", "02/03/2026", "2026-03-02");
        check_format("DD/MM/YYYY", "12/31/2026", "");
    }

    #[test]
    fn there_must_be_such_a_day() {
        check("2024-02-29", "2024-02-29");
        check("2025-02-29", "");
        check("00/00/2025", "");
    }

    #[test]
    fn nothing_else_is_guessed() {
        for text in
            ["", "2025", "20250115", "2025-01-15 ", "15. Januar 2025", "Jan 15, 2025", "1736899200"]
        {
            check(text, "");
        }
    }

    #[test]
    fn formats_can_be_made() {
        check_format("MMMM D, YYYY", "March 1, 2025", "2025-03-01");
        check_format("YYYYMMDD", "20250301", "2025-03-01");
        check_format("D.M.YYYY", "1.3.2025", "2025-03-01");
        check_format(
            "YYYY年MM月DD日".replace(['年', '月', '日'], "·").as_str(),
            "2025·03·01·",
            "2025-03-01",
        );
    }

    #[test]
    fn what_is_no_format_is_refused() {
        for (format, problem) in [
            ("", "it must have a year (`YYYY`), once"),
            ("YYYY-MM", "it must have a day (`DD`), once"),
            ("YYYY-DD", "it must have a month (`MM` or `MMM`), once"),
            ("YYYY-MM-MMM-DD", "it must have a month (`MM` or `MMM`), once"),
            ("DD.MM.YY", "`Y` has no meaning"),
            ("yyyy-mm-dd", "`y` has no meaning"),
            ("YYYY年", "`年` has no meaning"),
        ] {
            assert_eq!(DateFormat::parse(format), Err(problem.to_owned()), "{format}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(pattern in "([YMDHmsZT./:é -]|YYYY|MM|DD)*", text in "([0-9TZ:+./-]|jan|é|.)*") {
            let format = DateFormat::parse(&pattern);
            for format in DateFormat::defaults().iter().chain(format.as_ref().ok()) {
                format.read(&text);
            }
        }

        #[test]
        fn a_written_day_is_read_back(year in 1000..9999_i16, month in 1..=12_i8, day in 1..=28_i8) {
            let date = Date::new(year, month, day).unwrap();
            let written = [
                format!("{date}"),
                format!("{date}T12:00:00.5-08:00"),
                format!("{day}-{}-{year}", &MONTHS[usize::try_from(month).unwrap() - 1][..3]),
                format!("{month:02}/{day}/{year}"),
            ];
            for text in written {
                let read = DateFormat::defaults().iter().find_map(|format| format.read(&text));
                prop_assert_eq!(read, Some(date));
            }
        }
    }
}
